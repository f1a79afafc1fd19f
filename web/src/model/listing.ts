/** The runs that a list shows: the loaded pages, kept up to date by the stream and filtered. */
import type { Ending, RunStatus, RunSummary } from "../api/types";

export interface Filter {
  /** A text in the name or the id. */
  text: string;
  status: RunStatus | null;
  ending: Ending | null;
  /** The exact name of a workflow. */
  workflow: string | null;
}

export function isNarrowed(filter: Filter): boolean {
  return filter.text !== "" || filter.status !== null || filter.ending !== null || filter.workflow !== null;
}

export function matches(run: RunSummary, filter: Filter): boolean {
  const text = filter.text.toLowerCase();
  return (
    (filter.status === null || run.status === filter.status) &&
    (filter.ending === null || run.ending === filter.ending) &&
    (filter.workflow === null || run.name === filter.workflow) &&
    (text === "" || run.name.toLowerCase().includes(text) || run.id.includes(text))
  );
}

/** What the server can narrow by itself; the rest is done here. An ending implies its status. */
export function asked(filter: Filter): { status: RunStatus | null; q: string } {
  const status = filter.ending === null ? filter.status : filter.ending === "ok" ? "completed" : "failed";
  return { status, q: filter.workflow ?? filter.text };
}

export interface Pages {
  readonly rows: readonly RunSummary[];
  /** Null when the last page was read. */
  readonly nextCursor: string | null;
}

/**
 * The rows to show, newest first. Runs that the stream told of are added only where the pages already reach, so that
 * the list has no holes: what is older comes with its page.
 */
export function rowsOf(pages: Pages, live: ReadonlyMap<string, RunSummary>, filter: Filter): RunSummary[] {
  const found = new Map(pages.rows.map((row) => [row.id, row]));
  const oldest = pages.nextCursor === null ? "" : (pages.rows.at(-1)?.createdAt ?? "");
  for (const run of live.values()) {
    const row = found.get(run.id);
    if (row === undefined ? run.createdAt >= oldest : run.updatedAt >= row.updatedAt) found.set(run.id, run);
  }
  return [...found.values()].filter((run) => matches(run, filter)).sort(newestFirst);
}

function newestFirst(a: RunSummary, b: RunSummary): number {
  if (a.createdAt !== b.createdAt) return a.createdAt < b.createdAt ? 1 : -1;
  return a.id < b.id ? 1 : -1;
}
