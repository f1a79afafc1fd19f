/** The files that a node has made. */
import { useCallback } from "react";
import type { Artifact, Node } from "../../api/types";
import { useRunPart } from "../../live/hooks";
import { sameParts } from "../../live/use-store";
import type { RunState } from "../../model/run-store";

/** Oldest first. */
export function useArtifacts(id: string, node: Node): Artifact[] {
  const select = useCallback(
    ({ run }: RunState) => Object.values(run?.artifacts ?? {}).filter((one) => one.nodeId === node.id),
    [node.id],
  );
  return useRunPart(id, select, sameParts);
}

/** Those of one attempt are told apart by its name. */
export function attemptOf(artifact: Artifact): string {
  const { visit, attempt, item } = artifact;
  return `${visit}.${attempt}.${item ?? ""}`;
}
