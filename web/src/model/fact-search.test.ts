import { expect, test } from "vitest";
import type { Fact } from "../api/types";
import { search, typesOf } from "./fact-search";

const FACTS = Array.from({ length: 10_000 }, (_, at): Fact => {
  const type = at % 2 === 0 ? "attempt.started" : "attempt.succeeded";
  const data = { node: `step-${at % 50}`, visit: 1, attempt: 1, note: "Some Text about bees" };
  return { id: "", runId: "", seq: at + 1, ts: "2026-01-01T00:00:00Z", type, data, prev: "", hash: "" };
});

test("all words must be there, in any order, whatever their case", () => {
  expect(search(FACTS, "BEES step-49", null)).toHaveLength(200);
  expect(search(FACTS, "wasps", null)).toHaveLength(0);
  expect(search(FACTS, "step-49", "attempt.started")).toHaveLength(0);
});

test("an empty search gives the very same list", () => {
  expect(search(FACTS, " ", null)).toBe(FACTS);
});

test("types are counted", () => {
  expect(typesOf(FACTS)).toEqual([
    ["attempt.started", 5_000],
    ["attempt.succeeded", 5_000],
  ]);
});
