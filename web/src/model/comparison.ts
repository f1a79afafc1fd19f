/** Two runs node by node: which did the same, which gave something else, and what it took. */
import type { Node, Receipt, Run } from "../api/types";

export type Verdict =
  "same" | "kept" | "kept-second" | "kept-elsewhere" | "different" | "only-first" | "only-second" | "unfinished";

export interface Pair {
  key: string;
  first: Node | null;
  second: Node | null;
  verdict: Verdict;
}

export interface Side {
  run: Run;
  receipts: readonly Receipt[];
}

export const VERDICT_NAMES: Record<Verdict, string> = {
  same: "Same output",
  kept: "Kept from the first",
  "kept-second": "Kept from the second",
  "kept-elsewhere": "Kept from another run",
  different: "Different output",
  "only-first": "Only in the first",
  "only-second": "Only in the second",
  unfinished: "Not finished in both",
};

/** Whether a pair is known to have given the same; of what came from a third run nobody has said so. */
export function isSame(pair: Pair): boolean {
  return pair.verdict === "same" || pair.verdict === "kept" || pair.verdict === "kept-second";
}

export function compare(first: Side, second: Side): Pair[] {
  const nodes = [byKey(first.run), byKey(second.run)] as const;
  const outputs = [outputsOf(first.receipts), outputsOf(second.receipts)] as const;
  const keys = [...new Set([...nodes[0].keys(), ...nodes[1].keys()])];
  return keys.map((key) => {
    const one = nodes[0].get(key) ?? null;
    const other = nodes[1].get(key) ?? null;
    return {
      key,
      first: one,
      second: other,
      verdict: kept(first.run, one, second.run, other) ?? verdict(one, other, outputs[0].get(key), outputs[1].get(key)),
    };
  });
}

function verdict(
  first: Node | null,
  second: Node | null,
  before: string | undefined,
  after: string | undefined,
): Verdict {
  if (first === null) return "only-second";
  if (second === null) return "only-first";
  if (first.outcome === null || second.outcome === null) return "unfinished";
  return first.outcome === second.outcome && before === after ? "same" : "different";
}

/** From where a fork has taken the result of a node over, which has no receipt of it; null where neither run has. */
function kept(first: Run, one: Node | null, second: Run, other: Node | null): Verdict | null {
  const taken = [isKept(first, one), isKept(second, other)];
  if (one === null || other === null || one.outcome !== other.outcome || !taken.includes(true)) return null;
  if (taken[0] && taken[1]) return first.parent?.runId === second.parent?.runId ? "same" : "kept-elsewhere";
  if (taken[1] && second.parent?.runId === first.id) return "kept";
  return taken[0] && first.parent?.runId === second.id ? "kept-second" : "kept-elsewhere";
}

function isKept(run: Run, node: Node | null): boolean {
  return run.parent !== null && node !== null && node.visits === 0 && node.outcome === "succeeded";
}

function byKey(run: Run): Map<string, Node> {
  return new Map(Object.values(run.nodes).map((node) => [node.key, node]));
}

/** The hash of what each node gave last, item by item; nodes without a receipt that succeeded or failed have none. */
function outputsOf(receipts: readonly Receipt[]): Map<string, string> {
  const items = new Map<string, Map<number, string>>();
  for (const receipt of receipts) {
    if (receipt.status !== "succeeded" && receipt.status !== "failed") continue;
    const known = items.get(receipt.step_id) ?? new Map<number, string>();
    known.set(receipt.item ?? -1, receipt.output_hash);
    items.set(receipt.step_id, known);
  }
  const joined = (found: Map<number, string>) =>
    [...found]
      .sort((a, b) => a[0] - b[0])
      .map(([, hash]) => hash)
      .join(" ");
  return new Map([...items].map(([key, found]) => [key, joined(found)]));
}
