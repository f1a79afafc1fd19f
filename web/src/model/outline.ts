/** Where the blocks of a workflow stand in its outline, and which lines lead from one to another. */
import type { Explanation, OutlineBlock } from "../api/explanation";

export const BOX = { width: 144, height: 44, gapX: 36, gapY: 14 } as const;
const EDGE = 2;

export interface Placed {
  block: OutlineBlock;
  x: number;
  y: number;
}

export interface Line {
  from: string;
  to: string;
  /** What a line of a plan is called; "" where its being there says everything. */
  label: string;
  /** It leads to something earlier: a retry or a loop. */
  back: boolean;
  path: string;
}

export interface Drawing {
  boxes: Placed[];
  lines: Line[];
  width: number;
  height: number;
}

export function draw(explanation: Pick<Explanation, "blocks" | "edges" | "layers">): Drawing {
  const tallest = Math.max(1, ...explanation.layers.map((layer) => layer.length));
  const height = tallest * (BOX.height + BOX.gapY) - BOX.gapY + 2 * EDGE;
  const blocks = new Map(explanation.blocks.map((block) => [block.id, block]));
  const placed = new Map<string, Placed>();
  explanation.layers.forEach((layer, column) => {
    const used = layer.length * (BOX.height + BOX.gapY) - BOX.gapY;
    layer.forEach((key, row) => {
      const block = blocks.get(key);
      const y = (height - used) / 2 + row * (BOX.height + BOX.gapY);
      if (block !== undefined) placed.set(key, { block, x: EDGE + column * (BOX.width + BOX.gapX), y });
    });
  });
  const lines = ways(explanation).flatMap((way) => line(placed, way));
  const lowest = lines.some((one) => one.back) ? height + BOX.gapX : height;
  const width = Math.max(1, explanation.layers.length) * (BOX.width + BOX.gapX) - BOX.gapX + 2 * EDGE;
  return { boxes: [...placed.values()], lines, width, height: lowest };
}

type Way = Pick<Line, "from" | "to" | "label">;

/** One line between two blocks, however many values go along it. */
function ways({ blocks, edges }: Pick<Explanation, "blocks" | "edges">): Way[] {
  const found = new Map<string, Way>();
  const add = (from: string, to: string, label: string) => {
    const key = `${from}\n${to}\n${label}`;
    if (from !== "inputs") found.set(key, { from, to, label });
  };
  for (const edge of edges) add(edge.from, edge.to, "");
  for (const block of blocks) {
    for (const source of block.after) if (!found.has(`${source}\n${block.id}\n`)) add(source, block.id, "");
    for (const jump of block.jumps) add(block.id, jump.to, jump.label === "next" ? "" : jump.label);
    for (const bounce of block.bounces) add(block.id, bounce.to, `back, at most ${bounce.max}`);
  }
  return [...found.values()];
}

function line(placed: ReadonlyMap<string, Placed>, way: Way): Line[] {
  const from = placed.get(way.from);
  const to = placed.get(way.to);
  if (from === undefined || to === undefined) return [];
  const back = to.x <= from.x;
  return [{ ...way, back, path: back ? backward(from, to) : forward(from, to) }];
}

function forward(from: Placed, to: Placed): string {
  const [x1, y1] = [from.x + BOX.width, from.y + BOX.height / 2];
  const [x2, y2] = [to.x, to.y + BOX.height / 2];
  const bend = Math.min(BOX.gapX, (x2 - x1) / 2);
  return `M${x1} ${y1}C${x1 + bend} ${y1} ${x2 - bend} ${y2} ${x2} ${y2}`;
}

/** Below the boxes and up again. */
function backward(from: Placed, to: Placed): string {
  const [x1, x2] = [from.x + BOX.width * 0.6, to.x + BOX.width * 0.4];
  const [y1, y2] = [from.y + BOX.height, to.y + BOX.height];
  const deep = Math.max(y1, y2) + BOX.gapX * 0.8;
  return `M${x1} ${y1}C${x1} ${deep} ${x2} ${deep} ${x2} ${y2}`;
}
