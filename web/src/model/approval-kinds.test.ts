import { expect, test } from "vitest";
import type { Approval } from "../api/types";
import {
  answerLabel,
  answerOf,
  choices,
  editable,
  excerpt,
  headline,
  inOrder,
  isDiff,
  remainder,
  ruleWords,
  stallEvidence,
} from "./approval-kinds";

const approval = (more: Partial<Approval>) =>
  ({ id: "a", kind: "approval", form: {}, tool: { id: "t", name: "approval", args: {} }, ...more }) as Approval;

test("a form begins with the parts of the question that it has", () => {
  const tool = { id: "t", name: "approval", args: { text: "hello", secretly: 1 } };
  expect(editable(approval({ tool, form: { properties: { text: {} } } }))).toEqual({ text: "hello" });
  expect(editable(approval({ tool, kind: "uncertain" }))).toEqual({});
});

test("what expires soonest comes first", () => {
  const found = inOrder([
    approval({ id: "late", requestedAt: "2026-01-01T00:00:02Z", expiresAt: null }),
    approval({ id: "old", requestedAt: "2026-01-01T00:00:01Z", expiresAt: null }),
    approval({ id: "soon", requestedAt: "2026-01-01T00:00:09Z", expiresAt: "2026-01-01T01:00:00Z" }),
  ]);
  expect(found.map((one) => one.id)).toEqual(["soon", "old", "late"]);
});

test("a question has a headline, and a diff is known by its hunks", () => {
  expect(headline({ prompt: "\n  Publish?  \nmore", node: "ask" })).toBe("Publish?");
  expect(remainder({ prompt: "\n  Publish?  \nmore", node: "ask" })).toBe("more");
  expect([headline({ prompt: "", node: "ask" }), remainder({ prompt: "", node: "ask" })]).toEqual(["ask", ""]);
  const marked = "# Print **this** `x_1`, see [the *page*](http://x/)?\n\nmore";
  expect(headline({ prompt: marked, node: "ask" })).toBe("Print this x_1, see the page?");
  expect(remainder({ prompt: marked, node: "ask" })).toBe("more");
  const notes = "Publish?\n\n## 1.1.0\n\n- It **works**\n";
  expect(excerpt({ prompt: notes, node: "ask" })).toBe("1.1.0\n\nIt works");
  expect(headline({ prompt: "Is 2 * 3 * 4 = 24?", node: "ask" })).toBe("Is 2 * 3 * 4 = 24?");
  expect(isDiff("--- a\n+++ b\n@@ -1 +1,2 @@\n-x\n+y")).toBe(true);
  expect(isDiff("--- a list\n- x\n+ y")).toBe(false);
});

test("an answer by the clock, and one that nobody gave, say so", () => {
  const denied = { resolution: { status: "denied" as const }, withdrawn: false, by: "timer" };
  expect(answerLabel(denied).text).toBe("Denied, time was up");
  expect(answerLabel({ ...denied, withdrawn: true }).text).toBe("Withdrawn");
});

test("a plain yes is offered only where it would do", () => {
  const form = { required: ["who"], properties: { who: { type: "string" } } };
  const tool = (args: object) => ({ id: "t", name: "approval", args }) as Approval["tool"];
  expect(choices(approval({ form })).approved).toBeNull();
  expect(choices(approval({ form })).modified?.name).toBe("Answer");
  expect(choices(approval({ form, tool: tool({ who: "ann" }) })).approved?.name).toBe("Approve");
  expect(choices(approval({ form: { ...form, required: [] } })).approved?.name).toBe("Approve");
  const known = { ...form, properties: { who: { type: "string", default: "ann" } } };
  expect(choices(approval({ form: known })).approved?.name).toBe("Approve");
});

test("one output is named for all tries only where it was the same one each time", () => {
  const hash = `sha256:${"a".repeat(64)}`;
  const evidence = { node: "n", repeats: 3, code: "GATE_FAILED", message: "too short", outputHash: hash };
  const shared = [
    ["How often", "3"],
    ["Error", "GATE_FAILED"],
    ["What it says", "too short"],
  ];
  expect(stallEvidence({ ...evidence, kind: "output" })).toEqual([
    ["What repeats", "the same output"],
    ...shared,
    ["Output each time", "sha256:aaaaaaaaaaaa…"],
  ]);
  expect(stallEvidence({ ...evidence, kind: "verdict" })).toEqual([
    ["What repeats", "the same verdict on different outputs"],
    ...shared,
    ["Last output", "sha256:aaaaaaaaaaaa…"],
  ]);
  expect(stallEvidence({ kind: "verdict", outputHash: "" })).toHaveLength(1); // there was no output
  const diffHash = `sha256:${"b".repeat(64)}`;
  expect(stallEvidence({ kind: "diff", gates: ["scope", "tests"], diffHash })).toEqual([
    ["What repeats", "the same changes"],
    ["Failing gates", "scope; tests"],
    ["Diff each time", "sha256:bbbbbbbbbbbb…"],
  ]);
  expect(stallEvidence({ kind: "gates", diffHash })).toEqual([
    ["What repeats", "the same failing gates"],
    ["Last diff", "sha256:bbbbbbbbbbbb…"],
  ]);
});

test("a call can be allowed for longer only with a rule, and changed only with a form", () => {
  const names = (more: Partial<Approval>) =>
    Object.values(choices(approval({ kind: "call", call: {}, ...more }))).map((choice) => choice?.name ?? null);
  expect(names({})).toEqual(["Allow once", null, null, null, "Deny"]);
  const form = { type: "object", properties: { command: { type: "string", default: "ls" } }, required: ["command"] };
  expect(names({ form, call: { rule: { kind: "execute", command: "ls" } } })).toEqual([
    "Allow once",
    "Allow for this turn",
    "Allow for this run",
    "Modify and allow",
    "Deny",
  ]);
  expect(names({ form, call: { question: true } })).toEqual([null, null, null, "Answer", "Decline"]);
  expect([answerOf("turn"), answerOf("denied")]).toEqual([
    { status: "approved", remember: "turn" },
    { status: "denied" },
  ]);
});

test("a rule is told in words", () => {
  expect(ruleWords({ kind: "execute", command: "make test" })).toBe("the same command again: make test");
  expect(ruleWords({ kind: "execute", command: "ls", with: { cwd: "a" } })).toBe(
    'the same command again: ls, with {"cwd":"a"}',
  );
  expect(ruleWords({ kind: "edit", paths: ["a", "b"] })).toBe("changes of a, b");
  expect(ruleWords({ kind: "mcp", tool: "search" })).toBe("calls of search, with any arguments");
});
