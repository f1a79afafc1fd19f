/** The list of runs: pages by REST, kept current by the stream. */
import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import { listRuns } from "../api/client";
import { problemOf } from "../api/errors";
import type { Problem, RunSummary } from "../api/types";
import type { AllState } from "../model/all-store";
import { asked, type Filter, type Pages, rowsOf } from "../model/listing";
import { all } from "./streams";
import { useStore } from "./use-store";

export interface RunsList {
  rows: readonly RunSummary[];
  /** The first page has not come yet. */
  loading: boolean;
  problem: Problem | null;
  again: () => void;
  /** Reads the next page; null when there is none. */
  more: (() => void) | null;
  loadingMore: boolean;
}

const PAGE = 50;
/** A filter that the server does not know may leave little of a page: then the next one is read at once. */
const ENOUGH = 25;
const MOST_PAGES_AT_ONCE = 20;
const liveOf = (state: AllState) => state.runs;
/** The first snapshot comes right after the first list; later ones mean that events were missed. */
const generationOf = (state: AllState) => Math.max(1, state.generation);

export function useRuns(filter: Filter): RunsList {
  const live = useStore(all, liveOf);
  const generation = useStore(all, generationOf);
  const [pages, setPages] = useState<Pages | null>(null);
  const [problem, setProblem] = useState<Problem | null>(null);
  const [round, setRound] = useState(0);
  const [loadingMore, setLoadingMore] = useState(false);
  const controller = useRef<AbortController | null>(null);

  const read = useCallback(
    async (before: Pages) => {
      controller.current?.abort();
      const own = (controller.current = new AbortController());
      try {
        const found = await readOn(before, filter, own.signal);
        if (!own.signal.aborted) setPages(found);
        setProblem(null);
      } catch (error) {
        if (!own.signal.aborted) setProblem(problemOf(error));
      }
    },
    [filter],
  );

  useEffect(() => {
    void read(NOTHING);
    return () => controller.current?.abort();
  }, [read, generation, round]);

  const more = useCallback(() => {
    if (pages === null) return;
    setLoadingMore(true);
    void read(pages).finally(() => setLoadingMore(false));
  }, [pages, read]);
  const again = useCallback(() => setRound((count) => count + 1), []);
  const rows = useMemo(() => (pages === null ? [] : rowsOf(pages, live, filter)), [pages, live, filter]);
  const hasMore = pages !== null && pages.nextCursor !== null;
  return { rows, loading: pages === null, problem, again, more: hasMore ? more : null, loadingMore };
}

const NOTHING: Pages = { rows: [], nextCursor: null };

async function readOn(before: Pages, filter: Filter, signal: AbortSignal): Promise<Pages> {
  let pages = before;
  const shown = () => rowsOf(pages, new Map(), filter).length;
  const wanted = shown() + ENOUGH;
  for (let count = 0; count < MOST_PAGES_AT_ONCE; count += 1) {
    const page = await listRuns({ limit: PAGE, cursor: pages.nextCursor, ...asked(filter) }, signal);
    pages = { rows: [...pages.rows, ...page.runs], nextCursor: page.nextCursor };
    if (pages.nextCursor === null || shown() >= wanted) break;
  }
  return pages;
}
