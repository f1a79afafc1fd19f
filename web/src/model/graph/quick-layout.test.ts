import fc from "fast-check";
import { expect, test } from "vitest";
import type { Box, Direction } from "./elk";
import { isHeavy, quickLayout } from "./quick-layout";
import type { Shape, ShapeEdge, ShapeNode } from "./shape";

const card = (id: string, parent: string | null = null, look: ShapeNode["look"] = "card"): ShapeNode => ({
  id,
  key: id,
  label: id,
  mode: "deterministic",
  look,
  parent,
  members: [],
  modes: ["deterministic"],
  cells: 0,
});
const line = ([from, to]: readonly [string, string], kind: ShapeEdge["kind"] = "data"): ShapeEdge => ({
  id: `${from}>${to}`,
  from,
  to,
  kind,
  label: "",
  ids: [],
});
const numbered = (count: number) => Array.from({ length: count }, (_, at) => `n${at}`);
const shapeOf = (count: number, before: (at: number) => number): Shape => ({
  nodes: numbered(count).map((id) => card(id)),
  edges: numbered(count)
    .slice(1)
    .map((id, at) => line([`n${before(at + 1)}`, id])),
});

const overlap = (a: Box, b: Box) =>
  a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height;

function expectSound(shape: Shape, direction: Direction): void {
  const { boxes, ways } = quickLayout(shape, direction);
  expect([...boxes.keys()].sort()).toEqual(shape.nodes.map((node) => node.id).sort());
  for (const one of shape.nodes) {
    const box = boxes.get(one.id) as Box;
    const around = one.parent === null ? undefined : boxes.get(one.parent);
    if (around !== undefined) {
      expect(box.x >= around.x && box.x + box.width <= around.x + around.width).toBe(true);
      expect(box.y >= around.y && box.y + box.height <= around.y + around.height).toBe(true);
    }
    for (const other of shape.nodes)
      if (other.id > one.id && other.parent === one.parent)
        expect(overlap(box, boxes.get(other.id) as Box), `${one.id} is over ${other.id}`).toBe(false);
  }
  for (const edge of shape.edges) {
    const way = ways.get(edge.id) ?? [];
    const [from, to] = [boxes.get(edge.from) as Box, boxes.get(edge.to) as Box];
    const along = direction === "RIGHT" ? "x" : "y";
    expect(way[0]?.[along]).toBe(from[along] + (along === "x" ? from.width : from.height));
    expect(way.at(-1)?.[along]).toBe(to[along]);
  }
}

const anyShape = fc
  .record({
    parents: fc.array(fc.integer({ min: -1, max: 2 }), { minLength: 1, maxLength: 40 }),
    lines: fc.uniqueArray(fc.tuple(fc.nat(39), fc.nat(39)), { maxLength: 60, selector: ([a, b]) => `${a} ${b}` }),
    jumps: fc.nat(5),
  })
  .map(({ parents, lines, jumps }): Shape => {
    const groups = ["g0", "g1", "g2"].map((id, at) => card(id, at === 2 ? "g1" : null, "group"));
    const nodes = parents.map((parent, at) => card(`n${at}`, parent === -1 ? null : `g${parent}`));
    const known = lines.filter(([a, b]) => a < nodes.length && b < nodes.length);
    return {
      nodes: [...groups, ...nodes],
      edges: known.map(([a, b], at) => line([`n${a}`, `n${b}`], at < jumps ? "jump" : "data")),
    };
  });

test("whatever the graph, nothing lies on anything else, parts are in their groups, and lines meet their ends", () => {
  fc.assert(
    fc.property(anyShape, fc.constantFrom<Direction>("RIGHT", "DOWN"), (shape, direction) =>
      expectSound(shape, direction),
    ),
  );
});

test("what comes from a node is after it", () => {
  const { boxes } = quickLayout(
    shapeOf(13, (at) => Math.floor((at - 1) / 3)),
    "RIGHT",
  );
  const at = (id: string) => boxes.get(id)?.x ?? NaN;
  expect(at("n0")).toBeLessThan(at("n1"));
  expect(at("n1")).toBe(at("n3"));
  expect(at("n3")).toBeLessThan(at("n4"));
});

test.each<[string, (at: number) => number]>([
  ["a chain", (at) => at - 1],
  ["a fan", () => 0],
  ["a tree", (at) => Math.floor((at - 1) / 12)],
])("%s of 5,000 nodes is laid out at once, and about as wide as a screen", (_, before) => {
  const shape = shapeOf(5_000, before);
  expect(isHeavy(shape)).toBe(true);
  const began = performance.now();
  const { boxes } = quickLayout(shape, "RIGHT");
  expect(performance.now() - began).toBeLessThan(2_000);
  const all = [...boxes.values()];
  const width = Math.max(...all.map((box) => box.x + box.width)) - Math.min(...all.map((box) => box.x));
  const height = Math.max(...all.map((box) => box.y + box.height)) - Math.min(...all.map((box) => box.y));
  expect(width / height).toBeGreaterThan(0.8);
  expect(width / height).toBeLessThan(4);
});

test("the engine lays out what it can in time", () => {
  expect(isHeavy(shapeOf(500, (at) => at - 1))).toBe(false);
  expect(isHeavy(shapeOf(501, (at) => at - 1))).toBe(true);
  expect(isHeavy(shapeOf(201, () => 0))).toBe(false);
  expect(isHeavy(shapeOf(300, () => 0))).toBe(true);
});
