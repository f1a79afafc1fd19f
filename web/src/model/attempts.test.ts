import { expect, test } from "vitest";
import type { Fact } from "../api/types";
import { attemptName, attemptsOf, attemptLabel, verdictsOf } from "./attempts";

let seq = 0;
function fact(type: string, data: object): Fact {
  seq += 1;
  const ts = `2026-01-01T00:00:0${seq}.000Z`;
  return { id: String(seq), runId: "r", seq, ts, type, prev: "", hash: "", data } as unknown as Fact;
}

test("attempts are told with how they ended, what gates said, and what followed", () => {
  seq = 0;
  const at = { node: "a", visit: 1 };
  const receipt = { metrics: { tokens_in: 3, tokens_out: 4, wall_ms: 1 } };
  const found = attemptsOf([
    fact("attempt.started", { ...at, attempt: 1 }),
    fact("attempt.failed", {
      ...at,
      attempt: 1,
      next: "repair",
      error: { code: "ANSWER_INVALID", message: "no JSON" },
      detail: { answer: "x" },
      verdicts: [{ gate: "long", type: "word_count", passed: false, reason: "short", took_ms: 2 }],
      spent: { costNanousd: 2_000_000_000 },
      receipt,
    }),
    fact("artifact.created", { ...at, attempt: 2 }),
    fact("attempt.started", { ...at, attempt: 2 }),
    fact("attempt.started", { ...at, visit: 2, attempt: 1, item: 4 }),
    fact("attempt.interrupted", { ...at, attempt: 2, reason: "crash", uncertain: true, receipt }),
  ]);
  expect(found.map((one) => [attemptName(one), one.status, one.next, one.error?.code, one.costUsd])).toEqual([
    ["Attempt 1", "failed", "asked to correct its answer", "ANSWER_INVALID", 2],
    ["Attempt 2", "interrupted", "", "INTERRUPTED", 0],
    ["Visit 2 · Item 4 · Attempt 1", "running", "", undefined, 0],
  ]);
  expect(found[0]?.verdicts).toEqual([{ gate: "long", type: "word_count", passed: false, reason: "short", tookMs: 2 }]);
  expect(found[0]?.detail).toEqual({ answer: "x" });
  expect(found[1]?.uncertain).toBe(true);
  expect(attemptLabel({ status: "succeeded", cached: true }).text).toBe("From the cache");
});

test("facts whose data was pruned are no attempts that anybody could name", () => {
  seq = 0;
  expect(attemptsOf([{ ...fact("run.created", {}), data: null }])).toEqual([]);
});

test("a gate that nobody could ask has neither passed nor failed", () => {
  const said = (passed: boolean | null) => ({ gate: "kind", type: "llm_review", passed, reason: "" });
  expect(verdictsOf([said(true), said(false), said(null)]).map((one) => one.passed)).toEqual([true, false, null]);
});
