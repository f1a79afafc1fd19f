/** How a drawn node is doing: itself, and for a sub-workflow all of its parts together. */
import type { Node, Run } from "../../api/types";
import { nodeWord, type Word } from "../words";

export interface Standing {
  word: Word;
  startedAt: string | null;
  endedAt: string | null;
  attempts: number;
  costUsd: number;
  tokens: number;
  /** Of a foreach its items, of a sub-workflow its parts. */
  done: number;
  total: number;
}

export function standingOf(nodes: Run["nodes"], node: Node, members: readonly string[]): Standing {
  if (members.length === 0) return alone(node);
  const parts = members.flatMap((id) => nodes[id] ?? []);
  const all = [...parts, node];
  const worst =
    worstOf(all) ?? (node.outcome === null && parts.some((part) => part.visits > 0) ? BETWEEN : nodeWord(node));
  const ended = node.endedAt ?? (worst.tone === "bad" ? latest(all.map((one) => one.endedAt)) : null);
  return {
    word: worst,
    startedAt: earliest(all.map((one) => one.startedAt)),
    endedAt: ended,
    attempts: Math.max(...all.map((one) => one.attempts)),
    costUsd: all.reduce((sum, one) => sum + one.usage.costUsd, 0),
    tokens: all.reduce((sum, one) => sum + one.usage.totalTokens, 0),
    done: parts.filter((part) => part.outcome !== null).length,
    total: parts.length,
  };
}

export function sameStanding(a: Standing, b: Standing): boolean {
  return (
    a.word.text === b.word.text &&
    a.startedAt === b.startedAt &&
    a.endedAt === b.endedAt &&
    a.attempts === b.attempts &&
    a.costUsd === b.costUsd &&
    a.tokens === b.tokens &&
    a.done === b.done &&
    a.total === b.total
  );
}

const BETWEEN: Word = { text: "Running", tone: "busy" };

function alone(node: Node): Standing {
  return {
    word: nodeWord(node),
    startedAt: node.startedAt,
    endedAt: node.endedAt,
    attempts: node.attempts,
    costUsd: node.usage.costUsd,
    tokens: node.usage.totalTokens,
    done: node.items?.done ?? 0,
    total: node.items?.total ?? 0,
  };
}

/** What is said of all of them: a failure first, then a question, then work. */
function worstOf(nodes: readonly Node[]): Word | null {
  const words = nodes.map(nodeWord);
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
