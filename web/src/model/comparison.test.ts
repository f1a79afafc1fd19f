import { expect, test } from "vitest";
import type { Node, Receipt, Run } from "../api/types";
import { compare } from "./comparison";

const node = (key: string, outcome: Node["outcome"] = "succeeded") => ({ key, outcome }) as Node;
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
    run: run("2", [node("a"), node("b"), node("c"), node("d", null)], "1"),
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
