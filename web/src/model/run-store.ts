/** One run: its snapshot, kept up to date by the events of its stream. */
import type { StreamMessage } from "../api/messages";
import type { Follower, StreamState } from "../api/stream";
import type { Event, Run } from "../api/types";
import { fold } from "./fold";
import { Cell, type Observable } from "./observable";
import { foldPartialText, type PartialTexts, initialPartialText } from "./partial-text";

export interface RunState {
  /** Null until the first snapshot, and when there is no such run. */
  readonly run: Run | null;
  /** The texts that models are generating now. */
  readonly said: PartialTexts;
  readonly stream: StreamState;
}

/** Called with each batch of events after the store has applied it, the live overlay included; with null after a snapshot. */
export type EventListener = (events: readonly Event[] | null) => void;

export class RunStore implements Observable<RunState>, Follower {
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
      this.cell.set({ ...this.cell.get(), run: message.run, said: initialPartialText(message.streaming) });
      this.notify(null);
    } else if (message.type === "events") {
      this.applyEvents(message.events);
      this.notify(message.events);
    }
  }

  /** Replace the run by the answer of a request, unless the store has a newer one already. */
  offer(run: Run): void {
    const state = this.cell.get();
    if (state.run === null || run.seq > state.run.seq) this.cell.set({ ...state, run });
  }

  private applyEvents(events: readonly Event[]): void {
    const state = this.cell.get();
    if (state.run === null) return;
    const after = state.run.seq;
    const fresh = events.filter((event) => !("seq" in event) || event.seq > after);
    const run = fold(state.run, fresh);
    const said = foldPartialText(state.said, events);
    if (run !== state.run || said !== state.said) this.cell.set({ ...state, run, said });
  }

  private notify(events: readonly Event[] | null): void {
    for (const listener of [...this.eventListeners]) listener(events);
  }
}
