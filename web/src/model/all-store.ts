/** All runs, from the stream of all runs: a summary of each run seen so far, and every event as it arrives. */
import type { StreamMessage } from "../api/messages";
import type { Follower, StreamState } from "../api/stream";
import type { Event, RunSummary } from "../api/types";
import type { EventListener } from "./run-store";
import { Cell, type Observable } from "./observable";

export interface AllState {
  readonly runs: ReadonlyMap<string, RunSummary>;
  readonly stream: StreamState;
  /** Counts snapshots: after each one, what was asked by REST before may be out of date. */
  readonly generation: number;
}

const FIELDS = ["name", "status", "ending", "workflowHash", "createdAt"] as const;

export class AllStore implements Observable<AllState>, Follower {
  private readonly cell = new Cell<AllState>({ runs: new Map(), stream: "connecting", generation: 0 });
  private readonly eventListeners = new Set<EventListener>();
  readonly get = this.cell.get;
  readonly subscribe = this.cell.subscribe;

  readonly subscribeEvents = (listener: EventListener): (() => void) => {
    this.eventListeners.add(listener);
    return () => this.eventListeners.delete(listener);
  };

  onState(stream: StreamState): void {
    const state = this.cell.get();
    if (state.stream !== stream) this.cell.set({ ...state, stream });
  }

  onMessage(message: StreamMessage): void {
    const state = this.cell.get();
    if (message.type === "snapshot" && "runs" in message) {
      const runs = new Map(message.runs.map((run) => [run.id, run]));
      this.cell.set({ ...state, runs, generation: state.generation + 1 });
      this.tell(null);
    } else if (message.type === "events") {
      const runs = foldSummaries(state.runs, message.events);
      if (runs !== state.runs) this.cell.set({ ...state, runs });
      this.tell(message.events);
    }
  }

  private tell(events: readonly Event[] | null): void {
    for (const listener of [...this.eventListeners]) listener(events);
  }
}

/** Summaries after these events: a run that begins is told whole by its first patch. */
export function foldSummaries(
  runs: ReadonlyMap<string, RunSummary>,
  events: readonly Event[],
): ReadonlyMap<string, RunSummary> {
  let found: Map<string, RunSummary> | null = null;
  for (const event of events) {
    if (event.type !== "run.patch") continue;
    const before = (found ?? runs).get(event.runId);
    const after = summaryAfter(before, event);
    if (after !== before && after !== undefined) (found ??= new Map(runs)).set(event.runId, after);
  }
  return found ?? runs;
}

type RunPatched = Extract<Event, { type: "run.patch" }>;

function summaryAfter(before: RunSummary | undefined, event: RunPatched): RunSummary | undefined {
  const { patch } = event;
  if (before === undefined && !("name" in patch && "createdAt" in patch)) return undefined;
  const changed = FIELDS.filter((name) => name in patch && patch[name] !== before?.[name]);
  if (before !== undefined && changed.length === 0) return before;
  const parent = patch["parent"] as { runId?: string } | null | undefined;
  const ids = { id: event.runId, runId: event.runId, contractVersion: "1", parent: parent?.runId ?? null };
  return {
    ...(before ?? ids),
    ...Object.fromEntries(changed.map((name) => [name, patch[name]])),
    updatedAt: event.ts,
  } as RunSummary;
}
