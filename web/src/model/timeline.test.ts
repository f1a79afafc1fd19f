import { expect, test } from "vitest";
import type { Fact, Node } from "../api/types";
import { seen, timelineOf, totals } from "./timeline";

const START = Date.parse("2026-01-01T00:00:00Z");
let seq = 0;
const fact = (at: number, type: string, data: Fact["data"] = {}): Fact => ({
  id: "",
  runId: "",
  seq: (seq += 1),
  ts: new Date(START + at).toISOString(),
  type,
  data,
  prev: "",
  hash: "",
});
const node = (key: string, mode: string, kind: string) => ({ key, label: key, mode, kind }) as Node;
const NODES = [
  node("write", "ai", "model"),
  node("ask", "approval", "approval"),
  node("save", "deterministic", "handler"),
];
const SOURCES = new Map([
  ["ask", ["write"]],
  ["save", ["ask"]],
]);

const FACTS = [
  fact(0, "run.created"),
  fact(10, "attempt.started", { node: "write", visit: 1, attempt: 1 }),
  fact(110, "attempt.failed", { node: "write", visit: 1, attempt: 1 }),
  fact(210, "attempt.started", { node: "write", visit: 1, attempt: 2 }),
  fact(310, "attempt.succeeded", { node: "write", visit: 1, attempt: 2 }),
  fact(310, "approval.requested", { node: "ask", visit: 1, approvalId: "a" }),
  fact(1310, "approval.resolved", { node: "ask", visit: 1, approvalId: "a", resolution: { status: "modified" } }),
  fact(1315, "attempt.started", { node: "save", visit: 1, attempt: 1 }),
];

test("model, human and tool time are apart, and so are waits", () => {
  const found = timelineOf(FACTS, NODES, SOURCES);
  const bars = found.rows.map((row) => [row.key, row.bars.map((bar) => [bar.kind, bar.from - START, bar.end])]);
  expect(bars).toEqual([
    [
      "write",
      [
        ["waiting", 0, ""],
        ["model", 10, "failed"],
        ["waiting", 110, ""],
        ["model", 210, "succeeded"],
      ],
    ],
    ["ask", [["human", 310, "modified"]]],
    [
      "save",
      [
        ["waiting", 1310, ""],
        ["tool", 1315, ""],
      ],
    ],
  ]);
  expect(totals(found.rows, START + 1415)).toEqual({ waiting: 115, model: 200, tool: 100, human: 1000 });
});

test("a thousand short attempts are drawn as a few", () => {
  const many = Array.from({ length: 1000 }, (_, at) => ({
    kind: "tool" as const,
    from: at,
    to: at + 1,
    end: "succeeded",
    label: "",
    seq: at,
  }));
  const drawn = seen(many, 100);
  expect(drawn).toHaveLength(1);
  expect(drawn.reduce((sum, bar) => sum + bar.count, 0)).toBe(1000);
});

test("what was done at the same time is drawn and counted once, what came after it is not", () => {
  const bar = (from: number, to: number) => ({
    kind: "tool" as const,
    from,
    to,
    end: "succeeded",
    label: "",
    seq: from,
  });
  const bars = [bar(0, 500), bar(100, 600), bar(600, 900)];
  expect(seen(bars, 10).map((one) => [one.from, one.to, one.count])).toEqual([
    [0, 600, 2],
    [600, 900, 1],
  ]);
  const row = { key: "a", name: "a", mode: "deterministic" as const, bars };
  expect(totals([row], 900).tool).toBe(900);
});

test("an attempt that waits for a worker or a model works only as long as its receipt says", () => {
  const metrics = (wall_ms: number) => ({ receipt: { metrics: { wall_ms } } });
  const nodes = ["a", "b", "c"].map((key) => node(key, "ai", "model"));
  const facts = [
    fact(0, "run.created"),
    ...nodes.map(({ key }) => fact(0, "attempt.started", { node: key, visit: 1, attempt: 1 })),
    fact(100, "attempt.succeeded", { node: "a", visit: 1, attempt: 1, ...metrics(100) }),
    fact(200, "attempt.succeeded", { node: "b", visit: 1, attempt: 1, ...metrics(100) }),
    fact(300, "attempt.failed", { node: "c", visit: 1, attempt: 1, ...metrics(100) }),
  ];
  const { rows } = timelineOf(facts, nodes, new Map());
  const models = rows.map((row) => row.bars.filter((bar) => bar.kind === "model").map((bar) => bar.from - START));
  expect(models).toEqual([[0], [100], [200]]);
  expect(totals(rows, START + 300)).toEqual({ waiting: 200, model: 300, tool: 0, human: 0 });
});

test("what nodes did at the same time is no longer than the run", () => {
  const nodes = ["a", "b"].map((key) => node(key, "deterministic", "handler"));
  const facts = [
    ...nodes.map(({ key }) => fact(0, "attempt.started", { node: key, visit: 1, attempt: 1 })),
    ...nodes.map(({ key }) => fact(488, "attempt.succeeded", { node: key, visit: 1, attempt: 1 })),
  ];
  expect(totals(timelineOf(facts, nodes, new Map()).rows, START + 488).tool).toBe(488);
});
