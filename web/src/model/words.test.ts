import { expect, test } from "vitest";
import type { Approval, Fact } from "../api/types";
import { factTone } from "./facts";
import { isUnderWay, nodeWord, runWord, standingWord } from "./words";

test("a run that waits for an answer is not called paused, unless somebody paused it", () => {
  expect(runWord({ status: "paused", ending: null }, true).text).toBe("Waiting");
  expect(runWord({ status: "paused", ending: null }).text).toBe("Paused");
  expect(runWord({ status: "running", ending: null }, true).text).toBe("Running");
  expect(runWord({ status: "failed", ending: "denied" }, true).text).toBe("Denied");
});

test("a run that somebody has paused is pausing while work is under way", () => {
  const run = { status: "running", ending: null, pauseReason: "operator", approvals: {} } as const;
  const asked = { approvals: { a: {} as Approval } };
  expect(standingWord(run).text).toBe("Pausing");
  expect(standingWord({ ...run, status: "paused", ...asked }).text).toBe("Paused");
  expect(standingWord({ ...run, status: "paused", pauseReason: null, ...asked }).text).toBe("Waiting");
  expect(standingWord({ ...run, pauseReason: null }).text).toBe("Running");
  expect(standingWord({ ...run, status: "failed", ending: "cancelled" }).text).toBe("Cancelled");
});

test("a node that waits for its next attempt is waiting, and still under way", () => {
  const node = { status: "idle", outcome: null, visits: 1 } as const;
  expect([nodeWord(node).text, isUnderWay(node)]).toEqual(["Waiting", true]);
  const begun = { ...node, status: "running" } as const;
  expect([nodeWord(begun).text, isUnderWay(begun)]).toEqual(["Running", true]);
  const fresh = { ...node, visits: 0 };
  expect([nodeWord(fresh).text, isUnderWay(fresh)]).toEqual(["Not started", false]);
  expect(isUnderWay({ ...node, outcome: "succeeded" })).toBe(false);
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
