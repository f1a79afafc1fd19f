import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Event, Run } from "../api/types";
import { emptyRun, fold } from "./fold";
import { type Golden, goldens } from "./golden";
import { RunStore } from "./run-store";

/** What a stream may do, however bad the connection is: tell some facts, tell some again, or begin anew. */
type Move = { kind: "events"; facts: number } | { kind: "again"; back: number } | { kind: "snapshot" };

const moves = fc.array(
  fc.oneof(
    fc.record({ kind: fc.constant("events" as const), facts: fc.integer({ min: 0, max: 12 }) }),
    fc.record({ kind: fc.constant("again" as const), back: fc.integer({ min: 1, max: 8 }) }),
    fc.constant({ kind: "snapshot" as const }),
  ),
  { maxLength: 30 },
);

function snapshotAt(golden: Golden, seq: number): Run {
  return fold(emptyRun(golden.runId), golden.events.slice(0, seq).flat());
}

function play(golden: Golden, start: number, steps: readonly Move[]): { store: RunStore; seq: number } {
  const store = new RunStore(golden.runId);
  const last = golden.events.length;
  let seq = Math.min(start, last);
  const runId = golden.runId;
  const whole = () => store.onMessage({ type: "snapshot", runId, seq, run: snapshotAt(golden, seq), streaming: [] });
  const tell = (from: number, to: number) =>
    store.onMessage({ type: "events", runId, seq: to, events: golden.events.slice(from, to).flat() });
  whole();
  for (const step of steps) {
    if (step.kind === "snapshot") {
      store.onMessage({ type: "resync", runId, reason: "slow" });
      whole();
    } else if (step.kind === "again") {
      tell(Math.max(0, seq - step.back), seq);
    } else {
      const next = Math.min(last, seq + step.facts);
      tell(seq, next);
      seq = next;
    }
  }
  return { store, seq };
}

describe.each(goldens().map((golden) => [golden.name, golden] as const))("%s", (_, golden) => {
  it("is what the server says, whatever was cut, repeated or begun anew", () => {
    fc.assert(
      fc.property(fc.nat({ max: golden.events.length }), moves, (start, steps) => {
        const { store, seq } = play(golden, start, steps);
        expect(store.get().run).toEqual(snapshotAt(golden, seq));
        expect(store.get().run?.seq).toBe(seq);
      }),
      { numRuns: 60 },
    );
  });
});

const delta = (messageId: string, offset: number, text: string): Event => ({
  id: `d${offset}`,
  runId: "r",
  ts: "2026-01-01T00:00:00.000Z",
  type: "message.assistant.delta",
  nodeId: "n",
  messageId,
  delta: text,
  offset,
  visit: 1,
  attempt: 1,
  item: null,
});

describe("what is being said", () => {
  const begun = () => {
    const store = new RunStore("r");
    store.onMessage({ type: "snapshot", runId: "r", seq: 0, run: emptyRun("r"), streaming: [] });
    return store;
  };
  const text = (store: RunStore) => store.get().said.get("m")?.text;

  it("grows by deltas and begins anew at offset 0", () => {
    const store = begun();
    store.onMessage({ type: "events", events: [delta("m", 0, "Bees "), delta("m", 5, "buzz")] });
    expect(text(store)).toBe("Bees buzz");
    store.onMessage({ type: "events", events: [delta("m", 0, "Again")] });
    expect(text(store)).toBe("Again");
  });

  it("takes a part that was told before only once", () => {
    const store = begun();
    store.onMessage({ type: "events", events: [delta("m", 0, "Bees "), delta("m", 5, "buzz"), delta("m", 5, "buzz")] });
    expect(text(store)).toBe("Bees buzz");
  });

  it("tells its followers once a message, and not at all when nothing changed", () => {
    const store = begun();
    let told = 0;
    store.subscribe(() => (told += 1));
    store.onMessage({ type: "events", events: [delta("m", 0, "a"), delta("m", 1, "b")] });
    store.onMessage({ type: "events", events: [] });
    store.onMessage({ type: "ping", serverTime: "" });
    expect(told).toBe(1);
  });
});
