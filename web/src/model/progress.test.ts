import { expect, it } from "vitest";
import { progressOf } from "./progress";

it("counts nodes by what became of them", () => {
  const node = (
    outcome: "succeeded" | "failed" | "skipped" | null,
    status: "idle" | "running" | "blocked" = "idle",
  ) => ({
    outcome,
    status,
    parent: null,
  });
  const nodes = {
    a: node("succeeded"),
    b: node("skipped"),
    c: node("failed"),
    d: node(null, "running"),
    e: node(null, "blocked"),
    f: node(null),
  };
  expect(progressOf(nodes)).toEqual({ total: 6, done: 2, failed: 1, running: 1, blocked: 1 });
});
