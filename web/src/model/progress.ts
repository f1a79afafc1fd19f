/** How far a run has come: its nodes, counted by what became of them. Skipped ones need nothing more, and count as done. */
import type { Node } from "../api/types";

export interface Progress {
  readonly total: number;
  readonly done: number;
  readonly failed: number;
  readonly running: number;
  readonly blocked: number;
}

export function progressOf(nodes: Record<string, Pick<Node, "outcome" | "status" | "parent">>): Progress {
  const found = { total: 0, done: 0, failed: 0, running: 0, blocked: 0 };
  for (const node of Object.values(nodes)) {
    found.total += 1;
    if (node.outcome === "failed" || node.outcome === "cancelled") found.failed += 1;
    else if (node.outcome !== null) found.done += 1;
    else if (node.status === "running") found.running += 1;
    else if (node.status === "blocked") found.blocked += 1;
  }
  return found;
}
