import { expect, test } from "vitest";
import type { Approval } from "../api/types";
import { answerWord, choices, editable, headline, inOrder, isDiff, remainder } from "./questions";

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
  expect(isDiff("--- a\n+++ b\n@@ -1 +1,2 @@\n-x\n+y")).toBe(true);
  expect(isDiff("--- a list\n- x\n+ y")).toBe(false);
});

test("an answer by the clock, and one that nobody gave, say so", () => {
  const denied = { resolution: { status: "denied" as const }, withdrawn: false, by: "timer" };
  expect(answerWord(denied).text).toBe("Denied, time was up");
  expect(answerWord({ ...denied, withdrawn: true }).text).toBe("Withdrawn");
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
