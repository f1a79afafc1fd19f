import { describe, expect, it } from "vitest";
import type { Event, RunSummary } from "../api/types";
import { foldSummaries } from "./all-store";
import { asked, type Filter, matches, rowsOf } from "./listing";

const NO_FILTER: Filter = { text: "", status: null, ending: null, workflow: null };

function run(id: string, more: Partial<RunSummary> = {}): RunSummary {
  const at = `2026-01-01T00:00:0${id}.000Z`;
  const fixed = { contractVersion: "1", workflowHash: "h", createdAt: at, updatedAt: at, parent: null } as const;
  return { id, runId: id, name: "review", status: "running", ending: null, ...fixed, ...more };
}

const map = (...runs: RunSummary[]) => new Map(runs.map((one) => [one.id, one]));
const ids = (runs: readonly RunSummary[]) => runs.map((one) => one.id);

describe("rowsOf", () => {
  it("is newest first, with what the stream says of each", () => {
    const done = run("1", { status: "completed", ending: "ok", updatedAt: "2026-01-01T00:01:00.000Z" });
    const rows = rowsOf({ rows: [run("2"), run("1")], nextCursor: null }, map(done, run("3")), NO_FILTER);
    expect(ids(rows)).toEqual(["3", "2", "1"]);
    expect(rows[2]).toBe(done);
  });

  it("adds nothing that is older than the pages reach", () => {
    const pages = { rows: [run("5"), run("4")], nextCursor: "4" };
    expect(ids(rowsOf(pages, map(run("1"), run("6")), NO_FILTER))).toEqual(["6", "5", "4"]);
  });

  it("leaves out what does not match any more", () => {
    const ended = run("1", { status: "failed", ending: "denied", updatedAt: "2026-01-01T00:01:00.000Z" });
    const pages = { rows: [run("1")], nextCursor: null };
    expect(rowsOf(pages, map(ended), { ...NO_FILTER, status: "running" })).toEqual([]);
    expect(ids(rowsOf(pages, map(ended), { ...NO_FILTER, ending: "denied" }))).toEqual(["1"]);
  });

  it("keeps a row that is newer than what the stream said first", () => {
    const newer = run("1", { status: "paused", updatedAt: "2026-01-01T00:02:00.000Z" });
    expect(rowsOf({ rows: [newer], nextCursor: null }, map(run("1")), NO_FILTER)).toEqual([newer]);
  });
});

it("matches names by any part, in any case, and ids", () => {
  expect(matches(run("1", { name: "Weekly Digest" }), { ...NO_FILTER, text: "dig" })).toBe(true);
  expect(matches(run("1"), { ...NO_FILTER, text: "1" })).toBe(true);
  expect(matches(run("1"), { ...NO_FILTER, workflow: "rev" })).toBe(false);
});

it("asks the server for as little as it can", () => {
  expect(asked({ text: "a", status: null, ending: "denied", workflow: null })).toEqual({ status: "failed", q: "a" });
  expect(asked({ text: "a", status: "paused", ending: null, workflow: "w" })).toEqual({ status: "paused", q: "w" });
});

describe("foldSummaries", () => {
  const patch = (runId: string, fields: Record<string, string | null>): Event => ({
    id: "e",
    runId,
    ts: "2026-01-01T00:09:00.000Z",
    type: "run.patch",
    seq: 1,
    index: 0,
    patch: fields,
  });

  it("takes in a run that begins, and what becomes of it", () => {
    const { createdAt } = run("7");
    const whole = { name: "n", status: "queued", ending: null, workflowHash: "h", createdAt };
    const begun = foldSummaries(map(), [patch("7", whole)]);
    expect(begun.get("7")).toMatchObject({ id: "7", name: "n", status: "queued", createdAt });
    const ended = foldSummaries(begun, [patch("7", { status: "completed", ending: "ok" })]);
    expect(ended.get("7")).toMatchObject({ name: "n", status: "completed", ending: "ok" });
    expect(begun.get("7")?.status).toBe("queued");
  });

  it("is the very same when no summary changes, or when a run is not known", () => {
    const known = map(run("1"));
    expect(foldSummaries(known, [patch("1", { status: "running" }), patch("2", { status: "failed" })])).toBe(known);
  });
});
