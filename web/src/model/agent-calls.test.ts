import { expect, test } from "vitest";
import type { JsonObject } from "../api/json";
import type { Event, Fact } from "../api/types";
import { agentAttempts, callLabel, callsOf, sessionRows, shortArgument, verdictWords } from "./agent-calls";
import { liveParts, type Part, partsOf } from "./conversation";
import { foldPartialText } from "./partial-text";

const PLACE = { node: "work", visit: 1, attempt: 1 };

function facts(...told: [string, JsonObject][]): Fact[] {
  return told.map(
    ([type, data], at) =>
      ({ seq: at + 1, ts: `2026-01-01T10:00:0${at}Z`, type, data: { ...PLACE, ...data } }) as unknown as Fact,
  );
}

const asks = (id: string, more: JsonObject = {}): [string, JsonObject] => [
  "approval.requested",
  {
    approvalId: `approval ${id}`,
    prompt: "helper wants to run: ls",
    tool: {
      id,
      name: "call",
      args: { tool: "Bash", kind: "execute", arguments: { command: "ls" }, why: "no rule", ...more },
    },
  },
];
const starts = (id: string, gate: JsonObject | null): [string, JsonObject] => [
  "call.started",
  {
    call: { id, agentCallId: `their ${id}`, tool: "Bash", kind: "execute", ...(gate === null ? {} : { gate }) },
    args: { value: { command: "ls" } },
  },
];
const ends = (callId: string, status = "completed"): [string, JsonObject] => [
  "call.completed",
  { callId, status, durationMs: 12, exitCode: 0, result: { value: "out" } },
];

test("a call has what was decided about it, who was asked, and what came of it", () => {
  const found = agentAttempts(
    facts(
      ["attempt.started", {}],
      starts("a", { decision: "allow", why: "the project allows it", asked: false }),
      ends("a"),
      asks("b", { diff: "the diff" }),
      [
        "approval.resolved",
        { approvalId: "approval b", by: "ada", resolution: { status: "approved", remember: "turn" } },
      ],
      starts("b", { decision: "allow", why: "ada has allowed it", asked: true }),
      ends("b", "failed"),
      starts("c", { decision: "deny", why: "the project denies it", asked: false }),
      ends("c", "failed"),
      starts("d", null),
      ["attempt.succeeded", {}],
    ),
  );
  const calls = callsOf(found);
  expect(calls.map((call) => [call.id, callLabel(call).text, verdictWords(call)])).toEqual([
    ["a", "Worked", "Allowed without asking a person: the project allows it."],
    ["b", "Failed", "A person was asked: ada has allowed it, and calls like it for the rest of the turn."],
    ["c", "Denied", "Denied without asking a person: the project denies it."],
    ["d", "Cut short", "The agent made it without asking."],
  ]);
  expect(calls[1]?.asked?.diff).toBe("the diff");
  expect(calls[0]).toMatchObject({ durationMs: 12, exitCode: 0, output: "out", args: { command: "ls" } });
});

const rules = (callId: string, gate: JsonObject): [string, JsonObject] => [
  "call.ruled",
  { callId, gate, args: { value: { command: "ls -a" } } },
];

test("a call that began before the agent asked about it is one call, with what was decided", () => {
  const told = [
    starts("a", null),
    asks("a"),
    ["approval.resolved", { approvalId: "approval a", by: "ada", resolution: { status: "approved" } }],
    rules("a", { decision: "allow", why: "ada has allowed it", asked: true }),
    starts("b", null),
    rules("b", { decision: "deny", why: "the project denies it", asked: false }),
    ends("b", "failed"),
  ] satisfies [string, JsonObject][];
  const shown = (count: number) =>
    callsOf(agentAttempts(facts(["attempt.started", {}], ...told.slice(0, count)))).map((call) => [
      call.id,
      callLabel(call).text,
      verdictWords(call),
    ]);
  expect(shown(2)).toEqual([["a", "A person is asked", "A person is asked: no rule."]]);
  expect(shown(told.length)).toEqual([
    ["a", "Running", "A person was asked: ada has allowed it."],
    ["b", "Denied", "Denied without asking a person: the project denies it."],
  ]);
  expect(callsOf(agentAttempts(facts(["attempt.started", {}], ...told)))[0]?.args).toEqual({ command: "ls -a" });
});

test("a question stays open until it is answered or withdrawn", () => {
  const open = facts(["attempt.started", {}], asks("a"));
  const [asked] = callsOf(agentAttempts(open));
  expect([asked && callLabel(asked).text, asked && verdictWords(asked)]).toEqual([
    "A person is asked",
    "A person is asked: no rule.",
  ]);
  const gone = [...open, ...facts(["approval.withdrawn", { approvalId: "approval a" }])];
  const [withdrawn] = callsOf(agentAttempts(gone));
  expect(withdrawn && callLabel(withdrawn).text).toBe("No longer asked");
});

const received = (update: JsonObject) =>
  JSON.stringify({ direction: "received", message: { method: "session/update", params: { update } } });
const chunk = (text: string) => received({ sessionUpdate: "agent_message_chunk", content: { type: "text", text } });
const shape = (parts: readonly Part[]) =>
  parts.map((part) =>
    part.kind === "call" ? part.call.id : "text" in part ? `${part.kind}: ${part.text}` : part.kind,
  );

test("the transcript puts calls in their places", () => {
  const [attempt] = agentAttempts(
    facts(
      ["attempt.started", {}],
      starts("a", null),
      ends("a"),
      asks("q", { question: true }),
      starts("b", null),
      ends("b"),
      starts("c", null),
    ),
  );
  if (attempt === undefined) throw new Error("there is no attempt");
  const edit = { type: "diff", path: "a.txt", oldText: null, newText: "x" };
  const transcript = [
    JSON.stringify({
      direction: "sent",
      message: { method: "session/prompt", params: { prompt: [{ text: "Do it" }] } },
    }),
    chunk("Let me "),
    chunk("look."),
    "not JSON",
    received({ sessionUpdate: "tool_call", toolCallId: "their b", content: [edit] }),
    received({ sessionUpdate: "tool_call_update", toolCallId: "their b", status: "completed" }),
    received({ sessionUpdate: "plan", entries: [{ content: "one", status: "pending" }] }),
    chunk("Now."),
    JSON.stringify({ direction: "received", message: { method: "elicitation/create", params: {} } }),
    received({ sessionUpdate: "tool_call", toolCallId: "their a" }),
  ].join("\n");
  const parts = partsOf(attempt, transcript);
  expect(shape(parts)).toEqual(["sent: Do it", "said: Let me look.", "b", "plan", "said: Now.", "question", "a", "c"]);
  expect(parts[2]).toMatchObject({ edits: [{ path: "a.txt", before: null, after: "x" }] });
});

test("while a turn goes on, its text is cut where a call came", () => {
  const [attempt] = agentAttempts(facts(["attempt.started", {}], starts("a", null), starts("b", null)));
  if (attempt === undefined) throw new Error("there is no attempt");
  const breaks = [{ callId: "b", offset: 5 }];
  expect(shape(liveParts(attempt, "firstthen", breaks))).toEqual(["a", "said: first", "b", "said: then"]);
});

test("a call marks its place in the text of its node only", () => {
  const delta = {
    type: "message.assistant.delta",
    nodeId: "n",
    messageId: "m",
    visit: 1,
    attempt: 1,
    offset: 0,
    delta: "first",
  };
  const call = (id: string, nodeId: string) => ({
    type: "tool.proposed",
    nodeId,
    tool: { id, name: "Bash", args: {} },
  });
  const events = [delta, call("a", "n"), { ...delta, offset: 5, delta: "then" }, call("b", "other")];
  const found = foldPartialText(new Map(), events as unknown as Event[]).get("m");
  expect([found?.text, found?.breaks]).toEqual(["firstthen", [{ callId: "a", offset: 5 }]]);
});

test("permissions and sandbox are told in words, with every detail that the record has", () => {
  const session = {
    agent: "helper",
    provider: "claude",
    sessionId: "s",
    permissions: "gated",
    gate: "hook",
  };
  expect(sessionRows(session)).toEqual([
    ["Agent", "helper (claude)"],
    ["Conversation", "s"],
    ["Permissions", "asks a person about what no rule allows; every call passes the agent's hook"],
    ["Sandbox", "none"],
  ]);
  const sandbox = { kind: "landlock", limits: ["it sees other processes"], network: ["a.example"] };
  expect(sessionRows({ ...session, sandbox }).at(-1)).toEqual([
    "Sandbox",
    'landlock; it sees other processes; network: ["a.example"]',
  ]);
  expect(sessionRows({ ...session, obeyedSettings: [] }).at(-1)).toEqual(["Sandbox", "none"]);
  expect(sessionRows({ ...session, obeyedSettings: [".codex", "part/.mcp.json"] }).at(-1)).toEqual([
    "Warning",
    "the program may obey settings of the repository: .codex, part/.mcp.json",
  ]);
});

test("the argument that says most is shown on one line", () => {
  expect(shortArgument({ description: "d", command: "make\n test" })).toBe("make test");
  expect([shortArgument({ n: 1 }), shortArgument(null), shortArgument({ x: "y" })]).toEqual(["", "", "y"]);
});
