/** How far a run has come, for lists; drawn again only when a number changes. */
import { useEffect } from "react";
import { type Progress, progressOf } from "../model/progress";
import type { RunState } from "../model/run-store";
import { sameParts, useStore } from "./use-store";
import { watch, watchedStore } from "./watched-runs";

const NONE: Progress = { total: 0, done: 0, failed: 0, running: 0, blocked: 0 };
const select = (state: RunState) => (state.run === null ? NONE : progressOf(state.run.nodes));

export function useProgress(runId: string): Progress {
  useEffect(() => watch(runId), [runId]);
  return useStore(watchedStore(runId), select, sameParts);
}
