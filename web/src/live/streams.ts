/** The open streams: one of all runs while the page is open, and one for each run on screen. */
import { listApprovals } from "../api/client";
import { checkSession } from "../api/request";
import { Stream, type StreamState } from "../api/stream";
import type { Approval, Event } from "../api/types";
import { AllStore } from "../model/all-store";
import { ApprovalsStore } from "../model/approvals-store";
import { Cell } from "../model/observable";
import { RunStore } from "../model/run-store";

/** How long a run is still followed after its page was closed: people go back. */
const LINGER_MS = 5_000;

const REFUSED_MS = 2_000;

interface Followed {
  store: RunStore;
  stream: Stream;
  users: number;
  timer: ReturnType<typeof setTimeout> | undefined;
}

export const all = new AllStore();
export const approvals = new ApprovalsStore();
/** The worst of what the open streams are doing, for the banner. */
export const connection = new Cell<StreamState>("connecting");

const runs = new Map<string, Followed>();
let everything: Stream | null = null;
/** How often in a row the stream of all runs did not come about. */
let failures = 0;

/** Begin to follow all runs; the app does so once. */
export function begin(): void {
  if (everything !== null) return;
  all.subscribe(() => watch(all.get().stream));
  all.subscribeEvents((events) => (events === null ? void loadApprovals() : approvals.take(events)));
  everything = new Stream(null, all);
  everything.start();
}

/** Follows a run until the returned function is called. A store without followers keeps its last state. */
export function follow(runId: string): { store: RunStore; release: () => void } {
  const found = runs.get(runId) ?? opened(runId);
  clearTimeout(found.timer);
  found.users += 1;
  return { store: found.store, release: () => release(runId, found) };
}

/** The store of a run, followed or about to be. */
export function storeOf(runId: string): RunStore {
  return (runs.get(runId) ?? opened(runId)).store;
}

/** Try to come back at once. */
export function comeBack(): void {
  everything?.comeBack();
  for (const { stream } of runs.values()) stream.comeBack();
}

function opened(runId: string): Followed {
  const store = new RunStore(runId);
  const found: Followed = { store, stream: new Stream(runId, store), users: 0, timer: undefined };
  runs.set(runId, found);
  found.stream.start();
  linger(runId, found);
  return found;
}

function release(runId: string, found: Followed): void {
  found.users -= 1;
  if (found.users === 0) linger(runId, found);
}

function linger(runId: string, found: Followed): void {
  found.timer = setTimeout(() => {
    found.stream.stop();
    runs.delete(runId);
  }, LINGER_MS);
}

function watch(state: StreamState): void {
  connection.set(state);
  if (state === "live") failures = 0;
  else if (state === "waiting") failures += 1;
  if (state === "refused") setTimeout(() => void readmit(), REFUSED_MS);
  else if (state === "waiting" && failures > 1) void readmit();
}

/**
 * The stream does not come about: who is not logged in any more is led to the login page, everybody else tries again.
 * A browser does not say why a socket was refused, so the session is asked for.
 */
async function readmit(): Promise<void> {
  try {
    await checkSession();
    if (connection.get() === "refused") comeBack();
  } catch (error) {
    console.info("the session cannot be asked for; the stream goes on trying", error);
  }
}

/** All pages of open approvals; those that are asked while the pages come are not lost. */
async function loadApprovals(): Promise<void> {
  const asked: Approval[] = [];
  const stop = all.subscribeEvents((events) => asked.push(...requested(events ?? [])));
  try {
    const listed: Approval[] = [];
    let cursor: string | null = null;
    do {
      const page = await listApprovals({ limit: 200, cursor });
      listed.push(...page.approvals);
      cursor = page.nextCursor;
    } while (cursor !== null);
    approvals.replace(listed, asked);
  } catch (error) {
    console.info("the open approvals could not be listed; they are again when the stream is back", error);
  } finally {
    stop();
  }
}

function requested(events: readonly Event[]): Approval[] {
  return events.flatMap((event) => (event.type === "approval.requested" ? [event.approval] : []));
}
