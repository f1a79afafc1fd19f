/** What people call the verdicts of a comparison, which the server has made. */
import type { ComparedNode, Comparison } from "../api/types";

type Aspect = ComparedNode["differs"][number];

const ASPECTS: Record<Aspect, string> = {
  outcome: "outcome",
  error: "error",
  outputs: "output",
  inputs: "inputs",
  visits: "visits",
  definition: "definition",
};
/** Where a node has ended in another way, that it gave something else goes without saying. */
const FOLLOWING: readonly Aspect[] = ["error", "outputs", "visits"];

export function verdictWord(node: ComparedNode, { a, b }: Comparison): string {
  switch (node.verdict) {
    case "only_a":
      return "Only in the first";
    case "only_b":
      return "Only in the second";
    case "unfinished":
      return "Not finished";
    case "different":
      return `Different ${aspects(node).join(", ")}`;
    case "same": {
      const from = kept(node.a?.keptFrom ?? null, node.b?.keptFrom ?? null, a.runId, b.runId);
      const some = (node.a?.keptItems ?? 0) + (node.b?.keptItems ?? 0) > 0;
      return from === null ? "Same output" : `${some ? "Items kept" : "Kept"} from ${from}`;
    }
  }
}

function aspects({ differs }: ComparedNode): string[] {
  const said = differs.includes("outcome") ? differs.filter((one) => !FOLLOWING.includes(one)) : differs;
  return (Object.keys(ASPECTS) as Aspect[]).filter((one) => said.includes(one)).map((one) => ASPECTS[one]);
}

/** From where a fork has taken the result over; null where neither has, or both have from the same run. */
function kept(inFirst: string | null, inSecond: string | null, first: string, second: string): string | null {
  if (inFirst === inSecond) return null;
  if (inFirst === null && inSecond === first) return "the first";
  if (inSecond === null && inFirst === second) return "the second";
  return "another run";
}

/** How many nodes differ, in words; those that may still come to another result are counted for themselves. */
export function tally({ nodes }: Comparison): string {
  const open = nodes.filter((node) => node.verdict === "unfinished").length;
  const parted = nodes.filter((node) => !node.same).length - open;
  const waiting = open === 0 ? "" : `${open} not finished`;
  if (parted > 0) return [`${parted} of ${nodes.length} nodes differ`, waiting].filter(Boolean).join(", ");
  if (open === 0) return "All nodes have the same results";
  return open === nodes.length ? "No node is finished" : `No node differs so far, ${waiting}`;
}
