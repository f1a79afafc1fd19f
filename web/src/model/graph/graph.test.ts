import { describe, expect, test } from "vitest";
import type { Edge, Node, Run } from "../../api/types";
import { elkGraph, labelAt, layoutOf, pathOf } from "./elk";
import { failedPath } from "./failed-path";
import { groupsOf, modeCounts, sameGraph, shapeOf } from "./shape";
import { lineState, nodeStatusOf, tookMs } from "./node-status";

const NONE = new Set<string>();

function node(key: string, more: Partial<Node> = {}): Node {
  const usage = { promptTokens: 0, completionTokens: 0, totalTokens: 0, costUsd: 0, workMs: 0 };
  const still = { status: "idle", outcome: null, visits: 0, attempts: 0, items: null, startedAt: null, endedAt: null };
  const place = { id: key, key, label: key, mode: "deterministic", kind: "handler", parent: null };
  return { ...place, ...still, usage, ...more } as unknown as Node;
}

function graph(nodes: readonly Node[], edges: readonly (readonly [string, string, string?, Edge["kind"]?])[]) {
  return {
    nodes: Object.fromEntries(nodes.map((one) => [one.id, one])),
    edges: Object.fromEntries(
      edges.map(([from, to, label = "a>b", kind = "data"]) => {
        const id = `${from}-${to}-${label}`;
        return [id, { id, from, to, label, kind, bidirectional: false, type: "handoff" }];
      }),
    ),
  } satisfies Pick<Run, "nodes" | "edges">;
}

/** a, then the sub-workflow s of s/inputs, s/x and the sub-workflow s/t of s/t/y, then z. */
const NESTED = graph(
  [
    node("a"),
    node("s", { mode: "dag" }),
    node("s/inputs", { mode: "dag", parent: "s" }),
    node("s/x", { parent: "s" }),
    node("s/t", { mode: "dag", parent: "s" }),
    node("s/t/y", { parent: "s/t" }),
    node("z"),
  ],
  [
    ["a", "s/inputs", "p>p"],
    ["a", "s/inputs", "q>q"],
    ["s/inputs", "s/x"],
    ["s/x", "s/t/y"],
    ["s/t/y", "s/t"],
    ["s/t", "s"],
    ["s", "z"],
  ],
);

describe("the shape", () => {
  test("the numbers of the modes add up: the frame of a sub-workflow and its ports do no work", () => {
    expect(modeCounts(NESTED.nodes)).toEqual({ all: 4, ai: 0, deterministic: 4, approval: 0 });
  });

  test("a closed sub-workflow has the modes of its parts", () => {
    const shape = shapeOf(NESTED, new Set(["s"]), NONE);
    expect(shape.nodes.map((one) => [one.id, one.modes])).toEqual([
      ["a", ["deterministic"]],
      ["s", ["dag", "deterministic"]],
      ["z", ["deterministic"]],
    ]);
  });

  test("open sub-workflows are groups around their parts, and edges into the group itself are not drawn", () => {
    const shape = shapeOf(NESTED, NONE, NONE);
    const looks = shape.nodes.map((one) => [one.id, one.look, one.parent, one.label]);
    expect(looks).toEqual([
      ["a", "card", null, "a"],
      ["s", "group", null, "s"],
      ["s/inputs", "port", "s", "inputs"],
      ["s/x", "card", "s", "x"],
      ["s/t", "group", "s", "t"],
      ["s/t/y", "card", "s/t", "y"],
      ["z", "card", null, "z"],
    ]);
    expect(shape.edges.map((one) => [one.from, one.to, one.label, one.ids.length])).toEqual([
      ["a", "s/inputs", "p>p, q>q", 2],
      ["s/inputs", "s/x", "a>b", 1],
      ["s/x", "s/t/y", "a>b", 1],
      ["s", "z", "a>b", 1],
    ]);
  });

  test("a closed sub-workflow is one card that everything leads to", () => {
    const shape = shapeOf(NESTED, new Set(["s"]), NONE);
    expect(shape.nodes.map((one) => [one.id, one.look, one.members])).toEqual([
      ["a", "card", []],
      ["s", "card", ["s/inputs", "s/x", "s/t", "s/t/y"]],
      ["z", "card", []],
    ]);
    expect(shape.edges.map((one) => [one.from, one.to])).toEqual([
      ["a", "s"],
      ["s", "z"],
    ]);
    expect(groupsOf(NESTED.nodes)).toEqual(["s", "s/t"]);
  });

  test("jumps of a plan stay apart by their labels, and one that goes back to itself is drawn", () => {
    const plan = graph(
      [node("a"), node("b")],
      [
        ["a", "b", "then", "jump"],
        ["a", "b", "else", "jump"],
        ["b", "b", "tries", "jump"],
      ],
    );
    expect(shapeOf(plan, NONE, NONE).edges.map((one) => [one.from, one.to, one.label])).toEqual([
      ["a", "b", "then"],
      ["a", "b", "else"],
      ["b", "b", "tries"],
    ]);
  });

  test("an open foreach shows its items, as many as there is room for", () => {
    const each = graph([node("a", { items: { total: 500, done: 1, running: 0 } })], []);
    expect(shapeOf(each, NONE, NONE).nodes[0]?.cells).toBe(0);
    expect(shapeOf(each, NONE, new Set(["a"])).nodes[0]?.cells).toBe(96);
  });

  test("a graph is the same while only what happens in it changes", () => {
    const moved = { ...NESTED, nodes: { ...NESTED.nodes, a: node("a", { status: "running", visits: 1 }) } };
    expect(sameGraph(NESTED, moved)).toBe(true);
    expect(sameGraph(NESTED, { ...NESTED, nodes: { ...NESTED.nodes, a: node("a", { label: "A" }) } })).toBe(false);
    expect(sameGraph(NESTED, { ...NESTED, nodes: { ...NESTED.nodes, b: node("b") } })).toBe(false);
    expect(sameGraph(NESTED, { ...NESTED, edges: {} })).toBe(false);
    expect(sameGraph(null, NESTED)).toBe(false);
  });
});

describe("the layout", () => {
  test("asks for groups with their parts inside, and reads places and ways", () => {
    const asked = elkGraph(shapeOf(NESTED, NONE, NONE), "RIGHT");
    expect(asked.children?.map((one) => one.id)).toEqual(["a", "s", "z"]);
    expect(asked.children?.[1]?.children?.map((one) => one.id)).toEqual(["s/inputs", "s/x", "s/t"]);
    const section = { id: "e", startPoint: { x: 0, y: 0 }, endPoint: { x: 20, y: 20 }, bendPoints: [{ x: 20, y: 0 }] };
    const answer = {
      id: "run",
      children: [
        { id: "s", x: 1, y: 2, width: 3, height: 4, children: [{ id: "x", x: 5, y: 6, width: 7, height: 8 }] },
      ],
      edges: [
        {
          id: "e",
          sources: ["s"],
          targets: ["x"],
          sections: [section],
        },
      ],
    };
    const layout = layoutOf(answer);
    expect([...layout.boxes]).toEqual([
      ["s", { x: 1, y: 2, width: 3, height: 4 }],
      ["x", { x: 5, y: 6, width: 7, height: 8 }],
    ]);
    expect(labelAt(layout.ways.get("e") ?? [])).toEqual({ x: 10, y: 0 });
    expect(labelAt([])).toBe(null);
    expect(pathOf(layout.ways.get("e") ?? [])).toBe("M0 0L12 0Q20 0 20 8L20 20");
    expect(pathOf([])).toBe("");
  });
});

describe("how things are doing", () => {
  test("a sub-workflow is as bad as its worst part, and takes what its parts take", () => {
    const s = node("s", { mode: "dag" });
    const usage = { promptTokens: 1, completionTokens: 1, totalTokens: 2, costUsd: 0.5, workMs: 70 };
    const x = node("x", { status: "running", visits: 1, attempts: 2, startedAt: "2026-01-01T00:00:02Z", usage });
    const y = node("y", { outcome: "succeeded", visits: 1, startedAt: "2026-01-01T00:00:01Z", usage });
    const standing = nodeStatusOf({ nodes: { s, x, y }, ending: null }, s, ["x", "y"]);
    expect(standing).toEqual({
      word: { text: "Running", tone: "busy" },
      summary: "",
      startedAt: "2026-01-01T00:00:01Z",
      endedAt: null,
      tookMs: null,
      attempts: 2,
      costUsd: 1,
      tokens: 4,
      done: 1,
      total: 2,
    });
    const between = nodeStatusOf({ nodes: { s, y }, ending: null }, s, ["y"]);
    expect(between.word).toEqual({ text: "Running", tone: "busy" });
  });

  test("a node took as long as it worked, not as long as it waited for a worker or its next attempt", () => {
    const times = { startedAt: "2026-01-01T00:00:00.000Z", endedAt: "2026-01-01T00:00:01.300Z" };
    const usage = { promptTokens: 0, completionTokens: 0, totalTokens: 0, costUsd: 0, workMs: 120 };
    const failed = { ...times, usage, outcome: "failed" } as const;
    expect(tookMs(node("a", failed))).toBe(120);
    expect(tookMs(node("each", { ...failed, items: { total: 9, done: 9, running: 0 } }))).toBe(1_300);
    expect(tookMs(node("ask", { ...failed, mode: "approval", kind: "approval" }))).toBe(1_300);
    expect(tookMs(node("b", { ...failed, endedAt: null }))).toBe(null);
  });

  test("a node that its run never reached does not wait", () => {
    const last = node("last", { summary: "waiting" });
    const standing = (ending: Run["ending"]) => {
      const { word, summary } = nodeStatusOf({ nodes: { last }, ending }, last, []);
      return [word.text, summary];
    };
    expect(standing(null)).toEqual(["Not started", ""]);
    expect(standing("failed")).toEqual(["Not reached", ""]);
  });

  test("something flows along a line from what is done to what is at work", () => {
    const done = node("a", { outcome: "succeeded", visits: 1 });
    expect(lineState(node("a"), node("b"))).toBe("ahead");
    expect(lineState(done, node("b", { status: "running", visits: 1 }))).toBe("flowing");
    expect(lineState(done, node("b", { outcome: "failed", visits: 1 }))).toBe("gone");
    expect(lineState(undefined, done)).toBe("ahead");
  });
});

describe("the failed path", () => {
  const visited = { visits: 1, outcome: "succeeded" } as const;
  const nodes = [
    node("a", visited),
    node("beside", visited),
    node("b", visited),
    node("c", { visits: 1, outcome: "failed", endedAt: "2026-01-01T00:00:02Z" }),
    node("d"),
  ];
  const found = graph(nodes, [
    ["a", "b"],
    ["a", "beside"],
    ["b", "c"],
    ["c", "d"],
  ]);

  test("leads from the beginning to the node that the error names, and not beside it", () => {
    const path = failedPath({ ...found, error: { code: "X", message: "", node: "c" } as never });
    expect(path?.cause).toBe("c");
    expect([...(path?.nodes ?? [])].sort()).toEqual(["a", "b", "c"]);
  });

  test("begins at the first that failed where no error names one, and is none where nothing failed", () => {
    expect(failedPath(found)?.cause).toBe("c");
    expect(failedPath(graph([node("a", visited)], []))).toBe(null);
  });

  test("has the sub-workflows around it, and does not go round for ever", () => {
    const inner = graph(
      [
        node("s", { mode: "dag" }),
        node("s/x", { parent: "s", visits: 2, outcome: "failed" }),
        node("s/y", { parent: "s", visits: 1 }),
      ],
      [
        ["s/y", "s/x"],
        ["s/x", "s/y"],
      ],
    );
    expect([...(failedPath(inner)?.nodes ?? [])].sort()).toEqual(["s", "s/x", "s/y"]);
  });
});
