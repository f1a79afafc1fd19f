/** Runs that a list shows live: each loaded once, then kept up to date by the stream of all runs. */
import { getRun } from "../api/client";
import type { Event } from "../api/types";
import { RunStore } from "../model/run-store";
import { all } from "./streams";

interface Watched {
  store: RunStore;
  users: number;
  /** What came before the answer did. */
  early: Event[];
  stop: () => void;
}

const watched = new Map<string, Watched>();

export function watchedStore(runId: string): RunStore {
  return (watched.get(runId) ?? begun(runId)).store;
}

/** Keep it until the answer is called. */
export function watch(runId: string): () => void {
  const found = watched.get(runId) ?? begun(runId);
  found.users += 1;
  return () => {
    found.users -= 1;
    if (found.users > 0) return;
    found.stop();
    watched.delete(runId);
  };
}

function begun(runId: string): Watched {
  const found: Watched = { store: new RunStore(runId), users: 0, early: [], stop: () => undefined };
  watched.set(runId, found);
  found.stop = all.subscribeEvents((events) => {
    if (events === null) void ask(found);
    else take(found, events);
  });
  void ask(found);
  return found;
}

function take(found: Watched, events: readonly Event[]): void {
  const own = events.filter((event) => event.runId === found.store.runId);
  if (own.length === 0) return;
  if (found.store.get().run === null) found.early.push(...own);
  else found.store.onMessage({ type: "events", events: own });
}

async function ask(found: Watched): Promise<void> {
  try {
    found.store.offer(await getRun(found.store.runId));
    found.store.onMessage({ type: "events", events: found.early.splice(0) });
  } catch (error) {
    console.info("a run of the list could not be asked for; it is again when the stream is back", error);
  }
}
