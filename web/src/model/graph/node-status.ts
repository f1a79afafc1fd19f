/** The status of a drawn node; for a sub-workflow, of all its nodes together. */
import type { Node, Run } from "../../api/types";
import { modeOf, nodeLabel, type Label } from "../labels";

export interface NodeStatus {
  word: Label;
  /** What it does or did, in a few words; "" before it has begun. */
  summary: string;
  startedAt: string | null;
  endedAt: string | null;
  /** How long it took; null until it has ended. */
  tookMs: number | null;
  attempts: number;
  costUsd: number;
  tokens: number;
  /** Of a foreach its items, of a sub-workflow its parts. */
  done: number;
  total: number;
}

export function nodeStatusOf(run: Pick<Run, "nodes" | "ending">, node: Node, members: readonly string[]): NodeStatus {
  const { nodes } = run;
  const runEnded = run.ending !== null;
  if (members.length === 0) return alone(node, runEnded);
  const parts = members.flatMap((id) => nodes[id] ?? []);
  const all = [...parts, node];
  const isBetween = node.outcome === null && !runEnded && parts.some((part) => part.visits > 0);
  const worst = worstOf(all) ?? (isBetween ? BETWEEN : nodeLabel(node, runEnded));
  const startedAt = earliest(all.map((one) => one.startedAt));
  const endedAt = node.endedAt ?? (worst.tone === "bad" ? latest(all.map((one) => one.endedAt)) : null);
  return {
    word: worst,
    summary: "",
    startedAt,
    endedAt,
    tookMs: elapsedMs(startedAt, endedAt),
    attempts: Math.max(...all.map((one) => one.attempts)),
    costUsd: all.reduce((sum, one) => sum + one.usage.costUsd, 0),
    tokens: all.reduce((sum, one) => sum + one.usage.totalTokens, 0),
    done: parts.filter((part) => part.outcome !== null).length,
    total: parts.length,
  };
}

export function sameNodeStatus(a: NodeStatus, b: NodeStatus): boolean {
  return (
    a.word.text === b.word.text &&
    a.summary === b.summary &&
    a.startedAt === b.startedAt &&
    a.endedAt === b.endedAt &&
    a.tookMs === b.tookMs &&
    a.attempts === b.attempts &&
    a.costUsd === b.costUsd &&
    a.tokens === b.tokens &&
    a.done === b.done &&
    a.total === b.total
  );
}

const BETWEEN: Label = { text: "Running", tone: "busy" };

/**
 * How long a node took: the time that its attempts worked, as in the terminal and in the costs. Waits for a worker, a
 * model or the next attempt are not work. Of a foreach, whose items work side by side, and of an approval, the time from
 * its start to its end. Null until it has ended.
 */
export function tookMs(node: Node): number | null {
  const elapsed = elapsedMs(node.startedAt, node.endedAt);
  const mode = modeOf(node);
  const worksAlone = node.items === null && mode !== "approval" && mode !== "dag";
  return elapsed === null || !worksAlone ? elapsed : node.usage.workMs;
}

/** From the start of a node's first attempt to its end; null until it has ended. */
export function elapsedMs(startedAt: string | null, endedAt: string | null): number | null {
  return startedAt === null || endedAt === null ? null : Math.max(0, Date.parse(endedAt) - Date.parse(startedAt));
}

function alone(node: Node, runEnded: boolean): NodeStatus {
  return {
    word: nodeLabel(node, runEnded),
    summary: summaryOf(node, runEnded),
    startedAt: node.startedAt,
    endedAt: node.endedAt,
    tookMs: tookMs(node),
    attempts: node.attempts,
    costUsd: node.usage.costUsd,
    tokens: node.usage.totalTokens,
    done: node.items?.done ?? 0,
    total: node.items?.total ?? 0,
  };
}

/** What a node does or did, in a few words; "" for one that waits, or that its run has not reached by its end. */
export function summaryOf(node: Pick<Node, "summary" | "visits" | "outcome">, runEnded: boolean): string {
  return node.outcome === null && (runEnded || node.visits === 0) ? "" : node.summary;
}

/** What is said of all of them: a failure first, then a question, then work. */
function worstOf(nodes: readonly Node[]): Label | null {
  const words = nodes.map((node) => nodeLabel(node));
  for (const tone of ["bad", "warn", "busy"] as const) {
    const found = words.find((word) => word.tone === tone);
    if (found !== undefined) return found;
  }
  return null;
}

function earliest(times: readonly (string | null)[]): string | null {
  return times.reduce((a, b) => (a === null || (b !== null && b < a) ? b : a), null);
}

function latest(times: readonly (string | null)[]): string | null {
  return times.reduce((a, b) => (a === null || (b !== null && b > a) ? b : a), null);
}

/** How a line is doing: nothing went along it yet, something is on its way, or it has been gone along. */
export type LineState = "ahead" | "flowing" | "gone";

export function lineState(from: Node | undefined, to: Node | undefined): LineState {
  if (from === undefined || to === undefined || from.outcome === null || from.outcome === "skipped") return "ahead";
  if (to.outcome === null && to.status !== "idle") return "flowing";
  return to.visits > 0 && to.outcome !== null && to.outcome !== "skipped" ? "gone" : "ahead";
}
