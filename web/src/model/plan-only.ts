/** What a run that only plans comes to: it stops before the first block that changes anything outside. */
import type { OutlineBlock } from "../api/explanation";

export interface Plan {
  /** The blocks that such a run refuses. */
  stops: readonly Pick<OutlineBlock, "id" | "name">[];
  /** How many blocks may run: those that change nothing outside, and come after no block that does. */
  runs: number;
}

type Block = Pick<OutlineBlock, "id" | "name" | "effect" | "layer">;

export function planOf(blocks: readonly Block[]): Plan {
  const stops = blocks.filter((block) => block.effect !== "pure");
  const first = Math.min(...stops.map((block) => block.layer));
  const runs = blocks.filter((block) => block.effect === "pure" && block.layer <= first).length;
  return { stops: stops.map(({ id, name }) => ({ id, name })), runs: stops.length === 0 ? blocks.length : runs };
}
