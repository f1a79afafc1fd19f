import { expect, test } from "vitest";
import type { ComparedNode, ComparedSide, Comparison } from "../api/types";
import { tally, verdictWord } from "./verdicts";

const side = (keptFrom: string | null = null, keptItems = 0) => ({ keptFrom, keptItems }) as ComparedSide;
const node = (verdict: ComparedNode["verdict"], more: Partial<ComparedNode> = {}) =>
  ({ node: "n", verdict, same: verdict === "same", differs: [], a: side(), b: side(), ...more }) as ComparedNode;
const compared = (...nodes: ComparedNode[]) => ({ a: { runId: "1" }, b: { runId: "2" }, nodes }) as Comparison;

test.each<[string, ComparedNode]>([
  ["Only in the first", node("only_a", { b: null })],
  ["Only in the second", node("only_b", { a: null })],
  ["Not finished", node("unfinished", { differs: ["outcome"] })],
  ["Different output", node("different", { differs: ["outputs"] })],
  ["Different outcome, definition", node("different", { differs: ["definition", "outcome", "error", "outputs"] })],
  ["Different error", node("different", { differs: ["error"] })],
  ["Different output, inputs", node("different", { differs: ["inputs", "outputs"], b: side("1") })],
  ["Same output", node("same")],
  ["Kept from the first", node("same", { b: side("1") })],
  ["Items kept from the first", node("same", { b: side("1", 2) })],
  ["Kept from the second", node("same", { a: side("2") })],
  ["Same output", node("same", { a: side("0"), b: side("0") })],
  ["Kept from another run", node("same", { a: side("0") })],
  ["Kept from another run", node("same", { a: side("0"), b: side("1") })],
])("a verdict is said in words: %s", (word, found) => {
  expect(verdictWord(found, compared(found))).toBe(word);
});

test.each<[string, ComparedNode["verdict"][]]>([
  ["All nodes have the same results", ["same", "same"]],
  ["2 of 3 nodes differ", ["same", "different", "only_b"]],
  ["1 of 3 nodes differ, 1 not finished", ["same", "different", "unfinished"]],
  ["No node differs so far, 1 not finished", ["same", "unfinished"]],
  ["No node is finished", ["unfinished", "unfinished"]],
])("what may still become the same is not counted as different: %s", (words, verdicts) => {
  expect(tally(compared(...verdicts.map((verdict) => node(verdict))))).toBe(words);
});
