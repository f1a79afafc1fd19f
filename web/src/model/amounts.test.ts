import { expect, test } from "vitest";
import { countdown, duration, money, relative } from "./amounts";

test("durations have the two units that matter", () => {
  expect([0, 850, 3_210, 60_000, 245_000, 7_800_000, 273_600_000].map(duration)).toEqual([
    "0 ms",
    "850 ms",
    "3.2 s",
    "1 min",
    "4 min 5 s",
    "2 h 10 min",
    "3 d 4 h",
  ]);
});

test("durations are rounded, never cut, and never reach the next unit by rounding", () => {
  const exact = [999.6, 9_949, 9_960, 10_600, 19_500, 59_499, 59_999, 119_600, 3_599_700, 5_430_000, 86_399_000];
  expect(exact.map(duration)).toEqual([
    "1.0 s",
    "9.9 s",
    "10 s",
    "11 s",
    "20 s",
    "59 s",
    "1 min",
    "2 min",
    "1 h",
    "1 h 31 min",
    "1 d",
  ]);
});

test("small sums are seen", () => {
  expect([0, 0.000_01, 0.0123, 12.3].map(money)).toEqual(["$0", "< $0.0001", "$0.0123", "$12.30"]);
});

test("times are told from now, and counted down", () => {
  const now = Date.parse("2026-01-01T12:00:00Z");
  expect(relative("2026-01-01T11:55:00Z", now)).toBe("5 min ago");
  expect(relative("2026-01-01T14:00:01Z", now)).toBe("in 2 h");
  expect(countdown("2026-01-01T12:00:09.200Z", now)).toBe("10 s");
  expect(countdown("2026-01-01T11:59:59Z", now)).toBe("");
});
