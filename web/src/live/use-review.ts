/** The comments that the person of this tab has written on what a node has changed. */
import { useCallback } from "react";
import { type Comment, reviewKey, ReviewStore } from "../model/review";
import { useStore } from "./use-store";

export const review = new ReviewStore(sessionStorage);

const NONE: readonly Comment[] = [];

export function useComments(runId: string, nodeId: string): readonly Comment[] {
  const select = useCallback(
    (all: ReturnType<typeof review.get>) => all.get(reviewKey(runId, nodeId)) ?? NONE,
    [runId, nodeId],
  );
  return useStore(review, select);
}
