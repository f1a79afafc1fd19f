/** One run, as it is known here: its snapshot and everything its stream has told since. */
import type { StreamMessage } from "../api/messages";
import type { Follower, StreamState } from "../api/stream";
import type { Event, Run } from "../api/types";
import { fold } from "./fold";
import { Cell, type Readable } from "./readable";
import { foldSaid, type Said, saidAtFirst } from "./said";

export interface RunState {
  /** Null until the first snapshot, and when there is no such run. */
  readonly run: Run | null;
  readonly said: Said;
  readonly stream: StreamState;
}

/** Told each batch of events right after it was taken in, the live overlay included; null when a snapshot came instead. */
export type EventListener = (events: readonly Event[] | null) => void;

export class RunStore implements Readable<RunState>, Follower {
  private readonly cell = new Cell<RunState>({ run: null, said: new Map(), stream: "connecting" });
  private readonly eventListeners = new Set<EventListener>();
  readonly get = this.cell.get;
  readonly subscribe = this.cell.subscribe;

  constructor(readonly runId: string) {}

  readonly subscribeEvents = (listener: EventListener): (() => void) => {
    this.eventListeners.add(listener);
    return () => this.eventListeners.delete(listener);
  };

  onState(stream: StreamState): void {
    const state = this.cell.get();
    if (state.stream !== stream) this.cell.set({ ...state, stream });
  }

  onMessage(message: StreamMessage): void {
    if (message.type === "snapshot" && "run" in message) {
      this.cell.set({ ...this.cell.get(), run: message.run, said: saidAtFirst(message.streaming) });
      this.tell(null);
    } else if (message.type === "events") {
      this.takeIn(message.events);
      this.tell(message.events);
    }
  }

  /** What a request answered with is taken in only if it is not older than what is known already. */
  offer(run: Run): void {
    const state = this.cell.get();
    if (state.run === null || run.seq > state.run.seq) this.cell.set({ ...state, run });
  }

  private takeIn(events: readonly Event[]): void {
    const state = this.cell.get();
    if (state.run === null) return;
    const after = state.run.seq;
    const fresh = events.filter((event) => !("seq" in event) || event.seq > after);
    const run = fold(state.run, fresh);
    const said = foldSaid(state.said, events);
    if (run !== state.run || said !== state.said) this.cell.set({ ...state, run, said });
  }

  private tell(events: readonly Event[] | null): void {
    for (const listener of [...this.eventListeners]) listener(events);
  }
}
