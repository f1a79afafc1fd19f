import { describe, expect, it } from "vitest";
import { emptyRun, fold } from "./fold";
import { between, type Golden, goldens } from "./golden";

function pairs(golden: Golden): [number, number][] {
  const seqs = [...golden.snapshots.keys()].sort((a, b) => a - b);
  return seqs.flatMap((early) => seqs.filter((late) => late >= early).map((late): [number, number] => [early, late]));
}

describe.each(goldens().map((golden) => [golden.name, golden] as const))("%s", (_, golden) => {
  it("folds every snapshot and the events after it to every later snapshot", () => {
    expect(golden.snapshots.get(0)).toEqual(emptyRun(golden.runId));
    for (const [early, late] of pairs(golden)) {
      const run = golden.snapshots.get(early)!;
      const before = JSON.stringify(run);
      expect(fold(run, between(golden, early, late))).toEqual(golden.snapshots.get(late));
      expect(JSON.stringify(run), "a snapshot is never changed").toBe(before);
    }
  });

  it("shares what no event touched", () => {
    let run = emptyRun(golden.runId);
    for (const events of golden.events) {
      const after = fold(run, events);
      const touched = new Set(events.flatMap((event) => (event.type === "node.patch" ? [event.nodeId] : [])));
      for (const [id, node] of Object.entries(run.nodes)) if (!touched.has(id)) expect(after.nodes[id]).toBe(node);
      run = after;
    }
  });
});

it("gives the very same run when nothing changes it", () => {
  const run = emptyRun("r");
  expect(fold(run, [])).toBe(run);
});
