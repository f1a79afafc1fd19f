/** The log of a run, whole and growing: loaded page by page when it is first asked for, then kept up by the stream. */
import { useEffect } from "react";
import { listFacts } from "../api/client";
import { problemOf } from "../api/errors";
import type { Fact, Problem } from "../api/types";
import { Cell, type Observable } from "../model/observable";
import { storeOf } from "./streams";
import { useRunEvents } from "./hooks";
import { useStore } from "./use-store";

export interface FactsState {
  readonly facts: readonly Fact[];
  /** Whether all that the run had when it was last asked is here. */
  readonly complete: boolean;
  readonly problem: Problem | null;
}

const FIRST_PAGE = 300;
const PAGE = 2_000;
/** Facts come in bursts: one request fetches a burst. */
const BURST_MS = 150;
/** The logs looked at last are kept, so that changing the view costs nothing. */
const KEPT = 3;

class FactLog implements Observable<FactsState> {
  private readonly cell = new Cell<FactsState>({ facts: [], complete: false, problem: null });
  readonly get = this.cell.get;
  readonly subscribe = this.cell.subscribe;
  private busy = false;
  private again = false;
  private timer: ReturnType<typeof setTimeout> | undefined;

  constructor(private readonly runId: string) {}

  get last(): number {
    return this.cell.get().facts.at(-1)?.seq ?? 0;
  }

  readonly soon = (): void => {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => void this.load(), BURST_MS);
  };

  async load(): Promise<void> {
    if (this.busy) {
      this.again = true;
      return;
    }
    this.busy = true;
    try {
      do {
        this.again = false;
        await this.pages();
      } while (this.again);
    } catch (error) {
      this.cell.set({ ...this.cell.get(), problem: problemOf(error) });
    } finally {
      this.busy = false;
    }
  }

  private async pages(): Promise<void> {
    for (let more = true; more;) {
      const page = await listFacts(this.runId, this.last, this.last === 0 ? FIRST_PAGE : PAGE);
      more = page.nextSeq !== null;
      const facts = page.facts.length === 0 ? this.cell.get().facts : [...this.cell.get().facts, ...page.facts];
      this.cell.set({ facts, complete: !more, problem: null });
    }
  }
}

const logs = new Map<string, FactLog>();

function logOf(runId: string): FactLog {
  const found = logs.get(runId) ?? new FactLog(runId);
  logs.delete(runId);
  logs.set(runId, found);
  for (const oldest of logs.keys()) {
    if (logs.size <= KEPT) break;
    logs.delete(oldest);
  }
  return found;
}

/** Begin to load the log of a run before anything shows it. */
export function askForFacts(runId: string): void {
  const log = logOf(runId);
  if (log.last === 0) void log.load();
}

const itself = (state: FactsState) => state;

export function useFacts(runId: string): FactsState & { again: () => void } {
  const log = logOf(runId);
  useEffect(() => {
    const known = storeOf(runId).get().run?.seq ?? null;
    if (known === null || known > log.last) void log.load();
  }, [log, runId]);
  useRunEvents(runId, log.soon);
  const state = useStore(log, itself);
  return { ...state, again: log.soon };
}
