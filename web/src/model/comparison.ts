/** Two runs node by node: which did the same, which gave something else, and what it took. */
import type { Node, Receipt, Run } from "../api/types";

export type Verdict = "same" | "kept" | "different" | "only-first" | "only-second" | "unfinished";

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
  different: "Different output",
  "only-first": "Only in the first",
  "only-second": "Only in the second",
  unfinished: "Not finished in both",
};

export function compare(first: Side, second: Side): Pair[] {
  const nodes = [byKey(first.run), byKey(second.run)] as const;
  const outputs = [outputsOf(first.receipts), outputsOf(second.receipts)] as const;
  const isFork = second.run.parent?.runId === first.run.id;
  const keys = [...new Set([...nodes[0].keys(), ...nodes[1].keys()])];
  return keys.map((key) => {
    const one = nodes[0].get(key) ?? null;
    const other = nodes[1].get(key) ?? null;
    return {
      key,
      first: one,
      second: other,
      verdict: verdict(one, other, outputs[0].get(key), outputs[1].get(key), isFork),
    };
  });
}

function verdict(
  first: Node | null,
  second: Node | null,
  before: string | undefined,
  after: string | undefined,
  isFork: boolean,
): Verdict {
  if (first === null) return "only-second";
  if (second === null) return "only-first";
  if (first.outcome === null || second.outcome === null) return "unfinished";
  if (isFork && after === undefined && second.outcome === first.outcome) return "kept";
  return first.outcome === second.outcome && before === after ? "same" : "different";
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
