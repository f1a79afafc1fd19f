import { expect, test } from "vitest";
import type { Approval, Fact } from "../api/types";
import { factTone } from "./facts";
import { isRunning, nodeLabel, runLabel, runStatusLabel } from "./labels";

test("a run that waits for an answer is not called paused, unless somebody paused it", () => {
  expect(runLabel({ status: "paused", ending: null }, true).text).toBe("Waiting");
  expect(runLabel({ status: "paused", ending: null }).text).toBe("Paused");
  expect(runLabel({ status: "running", ending: null }, true).text).toBe("Running");
  expect(runLabel({ status: "failed", ending: "denied" }, true).text).toBe("Denied");
});

test("a run that somebody has paused is pausing while work is under way", () => {
  const run = { status: "running", ending: null, pauseReason: "operator", approvals: {}, error: null } as const;
  const asked = { approvals: { a: {} as Approval } };
  expect(runStatusLabel(run).text).toBe("Pausing");
  expect(runStatusLabel({ ...run, status: "paused", ...asked }).text).toBe("Paused");
  expect(runStatusLabel({ ...run, status: "paused", pauseReason: null, ...asked }).text).toBe("Waiting");
  expect(runStatusLabel({ ...run, pauseReason: null }).text).toBe("Running");
  expect(runStatusLabel({ ...run, status: "failed", ending: "cancelled" }).text).toBe("Cancelled");
});

test("a run that was only to plan has not been denied by a person", () => {
  const run = { status: "failed", ending: "denied", pauseReason: null, approvals: {} } as const;
  const error = { code: "PLANNING_MODE", message: "publish has effects (once), and the run is in PLANNING mode" };
  expect(runStatusLabel({ ...run, error })).toEqual({ text: "Only planned", tone: "still" });
  expect(runStatusLabel({ ...run, error: { ...error, code: "APPROVAL_DENIED" } }).text).toBe("Denied");
});

test("a node that waits for its next attempt is waiting, and still under way", () => {
  const node = { status: "idle", outcome: null, visits: 1 } as const;
  expect([nodeLabel(node).text, isRunning(node)]).toEqual(["Waiting", true]);
  const begun = { ...node, status: "running" } as const;
  expect([nodeLabel(begun).text, isRunning(begun)]).toEqual(["Running", true]);
  const fresh = { ...node, visits: 0 };
  expect([nodeLabel(fresh).text, isRunning(fresh)]).toEqual(["Not started", false]);
  expect(isRunning({ ...node, outcome: "succeeded" })).toBe(false);
});

test("an end sounds as its ending does", () => {
  const tone = (type: string, data?: object) => factTone({ type, data } as Fact);
  expect(tone("run.ended", { ending: "ok" })).toBe("ok");
  expect(tone("run.ended", { ending: "failed" })).toBe("bad");
  expect(tone("run.ending", { ending: "budget_exceeded" })).toBe("bad");
  expect(tone("run.ended", { ending: "cancelled" })).toBe("plain");
  expect(tone("run.ended")).toBe("ok"); // pruned
  expect(tone("attempt.failed", {})).toBe("bad");
  expect(tone("approval.requested", {})).toBe("human");
});
