import { expect, test } from "vitest";
import type { Node, Receipt, Run } from "../api/types";
import { compare, isSame } from "./comparison";

const node = (key: string, outcome: Node["outcome"] = "succeeded", visits = 1) => ({ key, outcome, visits }) as Node;
const taken = (key: string) => node(key, "succeeded", 0);
const run = (id: string, nodes: Node[], parent: string | null = null) =>
  ({
    id,
    nodes: Object.fromEntries(nodes.map((one) => [one.key, one])),
    parent: parent === null ? null : { runId: parent, node: "b" },
  }) as unknown as Run;
const receipt = (step_id: string, output_hash: string, item?: number) =>
  ({ step_id, output_hash, status: "succeeded", item }) as Receipt;

test("a fork is compared with its parent node by node", () => {
  const first = {
    run: run("1", [node("a"), node("b"), node("c"), node("old")]),
    receipts: [receipt("a", "x"), receipt("b", "y"), receipt("c", "z", 1), receipt("c", "w", 0), receipt("old", "o")],
  };
  const second = {
    run: run("2", [taken("a"), node("b"), node("c"), node("d", null)], "1"),
    receipts: [receipt("b", "Y"), receipt("c", "w", 0), receipt("c", "z", 1)],
  };
  expect(compare(first, second).map((pair) => [pair.key, pair.verdict])).toEqual([
    ["a", "kept"],
    ["b", "different"],
    ["c", "same"],
    ["old", "only-first"],
    ["d", "only-second"],
  ]);
});

test("what is not finished is not called the same", () => {
  const first = { run: run("1", [node("a", null)]), receipts: [] };
  expect(compare(first, { ...first, run: run("2", [node("a")]) })[0]?.verdict).toBe("unfinished");
});

const parent = { run: run("1", [node("a"), node("b")]), receipts: [receipt("a", "x"), receipt("b", "y")] };
const fork = { run: run("2", [taken("a"), node("b")], "1"), receipts: [receipt("b", "y")] };
const sibling = { run: run("3", [taken("a"), node("b")], "1"), receipts: [receipt("b", "y")] };
const grandchild = { run: run("4", [taken("a"), taken("b")], "2"), receipts: [] };

test.each([
  ["a fork and its parent", fork, parent, ["kept-second", "same"], true],
  ["two forks of one run", fork, sibling, ["same", "same"], true],
  ["a fork and a fork of it", fork, grandchild, ["kept-elsewhere", "kept"], false],
  ["a run and a fork of its fork", parent, grandchild, ["kept-elsewhere", "kept-elsewhere"], false],
])("what a fork has kept is not called different: %s", (_, first, second, verdicts, same) => {
  const pairs = compare(first, second);
  expect(pairs.map((pair) => pair.verdict)).toEqual(verdicts);
  expect(pairs.every(isSame)).toBe(same);
});

test("what both have left out is the same", () => {
  const first = { run: run("1", [node("a", "skipped", 0)]), receipts: [] };
  expect(compare(first, { run: run("2", [node("a", "skipped", 0)], "1"), receipts: [] })[0]?.verdict).toBe("same");
});
