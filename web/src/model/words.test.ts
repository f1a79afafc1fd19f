import { expect, test } from "vitest";
import type { Fact } from "../api/types";
import { factTone } from "./facts";
import { runWord } from "./words";

test("a run that waits for an answer is not called paused, unless somebody paused it", () => {
  expect(runWord({ status: "paused", ending: null }, true).text).toBe("Waiting");
  expect(runWord({ status: "paused", ending: null }).text).toBe("Paused");
  expect(runWord({ status: "running", ending: null }, true).text).toBe("Running");
  expect(runWord({ status: "failed", ending: "denied" }, true).text).toBe("Denied");
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
