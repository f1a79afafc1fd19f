import { expect, it } from "vitest";
import type { OutlineBlock } from "../api/explanation";
import { BOX, draw } from "./outline";

function block(id: string, more: Partial<OutlineBlock> = {}): OutlineBlock {
  const nothing = { handler: null, op: null, when: null, foreach: null, timeoutMs: null };
  const lists = { experts: [], inputs: [], outputs: [], gates: [], after: [], jumps: [], bounces: [] };
  return {
    id,
    name: id,
    description: "",
    mode: "ai",
    badge: "AI",
    layer: 0,
    effect: "pure",
    maxAttempts: 1,
    ...nothing,
    ...lists,
    ...more,
  };
}

it("puts layers side by side and the blocks of a layer one under the other, in the middle", () => {
  const drawing = draw({
    blocks: [block("a"), block("b"), block("c")],
    layers: [["a"], ["b", "c"]],
    edges: [
      { from: "inputs", output: "x", to: "a", input: "x" },
      { from: "a", output: "x", to: "b", input: "x" },
      { from: "a", output: "y", to: "b", input: "y" },
    ],
  });
  const at = Object.fromEntries(drawing.boxes.map((box) => [box.block.id, [box.x, box.y]]));
  expect(at["b"]![0]! - at["a"]![0]!).toBe(BOX.width + BOX.gapX);
  expect(at["c"]![1]! - at["b"]![1]!).toBe(BOX.height + BOX.gapY);
  expect(at["a"]![1]).toBe((at["b"]![1]! + at["c"]![1]!) / 2);
  expect(drawing.lines.map((line) => [line.from, line.to, line.back])).toEqual([["a", "b", false]]);
});

it("draws order, jumps and bounces, those that lead back below", () => {
  const drawing = draw({
    blocks: [
      block("a", { jumps: [{ to: "b", label: "next" }] }),
      block("b", { after: ["a"], bounces: [{ gate: "g", to: "a", max: 2 }] }),
    ],
    layers: [["a"], ["b"]],
    edges: [],
  });
  expect(drawing.lines.map(({ from, to, label, back }) => ({ from, to, label, back }))).toEqual([
    { from: "a", to: "b", label: "", back: false },
    { from: "b", to: "a", label: "back, at most 2", back: true },
  ]);
  expect(drawing.height).toBeGreaterThan(BOX.height + BOX.gapX);
});
