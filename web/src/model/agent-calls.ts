/**
 * What an agent has done in each attempt, read from the run's facts: its conversations with the provider, its calls, and
 * the questions about them.
 *
 *     call.started, call.completed                   a call: what was decided about it (`gate`), and what came of it
 *     call.ruled                                     what was decided about a call that began before the agent asked
 *     approval.requested … approval.resolved         a person was asked about it; its tool has the same id as the call
 *     session.opened                                 the conversation, the permissions and the sandbox in force
 */
import { isObject, type Json, type JsonObject } from "../api/json";
import type { Fact } from "../api/types";
import { dataOf, number, object, placeOf, text } from "./facts";
import type { Label } from "./labels";

/** The kinds of calls that the policy knows. */
export const KIND_WORDS: Record<string, string> = {
  read: "reads",
  edit: "changes files",
  execute: "runs a command",
  fetch: "fetches from the network",
  mcp: "calls another server's tool",
  other: "something else",
};

export type CallStatus = "asked" | "running" | "completed" | "failed" | "denied" | "cut";

/** A person was asked about a call, or the agent asked something of its own. */
export interface Asked {
  approvalId: string;
  prompt: string;
  /** The diff of an edit, if it was shown. */
  diff: string;
  why: string;
  /** Null while the question is open. */
  answer: { status: string; by: string; reason: string; remember: string } | null;
}

export interface Call {
  id: string;
  /** What the agent calls this call; "" until it has started. */
  agentCallId: string;
  tool: string;
  kind: string;
  args: Json;
  at: string;
  status: CallStatus;
  durationMs: number | null;
  /** That of the command it has run; null if the agent does not tell it. */
  exitCode: number | null;
  output: Json;
  /** What was decided about it; null if the agent did not ask. */
  gate: { allowed: boolean; why: string; asked: boolean } | null;
  asked: Asked | null;
}

/** What the agent did and asked, in the order of the record. */
export type Deed = { kind: "call"; call: Call } | { kind: "question"; id: string; at: string; asked: Asked };

export interface AgentAttempt {
  id: string;
  visit: number;
  attempt: number;
  item: number | null;
  startedAt: string;
  endedAt: string | null;
  session: JsonObject | null;
  deeds: Deed[];
}

export function agentAttempts(facts: readonly Fact[]): AgentAttempt[] {
  const reader = new Reader();
  for (const fact of facts) reader.take(fact);
  return reader.attempts;
}

export function callsOf(attempts: readonly AgentAttempt[]): Call[] {
  return attempts.flatMap((one) => one.deeds.flatMap((deed) => (deed.kind === "call" ? [deed.call] : [])));
}

class Reader {
  readonly attempts: AgentAttempt[] = [];
  private readonly open = new Map<string, AgentAttempt>();
  private readonly calls = new Map<string, Call>();
  private readonly questions = new Map<string, Asked>();

  take(fact: Fact): void {
    const data = dataOf(fact);
    const attempt = this.open.get(placeOf(data));
    switch (fact.type) {
      case "attempt.started":
        this.begin(fact, data);
        break;
      case "attempt.succeeded":
      case "attempt.failed":
      case "attempt.interrupted":
      case "attempt.cancelled":
        if (attempt !== undefined) end(attempt, fact.ts);
        break;
      case "session.opened":
        if (attempt !== undefined) attempt.session = object(data, "session");
        break;
      case "approval.requested":
        if (attempt !== undefined && text(object(data, "tool"), "name") === "call") this.ask(attempt, fact, data);
        break;
      case "approval.resolved":
        this.answer(data, object(data, "resolution"), text(data, "by"));
        break;
      case "approval.withdrawn":
        this.answer(data, { status: "withdrawn" }, "");
        break;
      case "call.started":
        if (attempt !== undefined) this.start(attempt, fact, data);
        break;
      case "call.ruled":
        this.rule(data);
        break;
      case "call.completed":
        this.complete(data);
        break;
    }
  }

  private begin(fact: Fact, data: JsonObject): void {
    const item = data["item"];
    const begun: AgentAttempt = {
      id: `${placeOf(data)}#${number(data, "attempt")}`,
      visit: number(data, "visit"),
      attempt: number(data, "attempt"),
      item: typeof item === "number" ? item : null,
      startedAt: fact.ts,
      endedAt: null,
      session: null,
      deeds: [],
    };
    this.open.set(placeOf(data), begun);
    this.attempts.push(begun);
  }

  private ask(attempt: AgentAttempt, fact: Fact, data: JsonObject): void {
    const tool = object(data, "tool");
    const shown = object(tool, "args");
    const asked: Asked = {
      approvalId: text(data, "approvalId"),
      prompt: text(data, "prompt"),
      diff: text(shown, "diff"),
      why: text(shown, "why"),
      answer: null,
    };
    this.questions.set(asked.approvalId, asked);
    if (shown["question"] === true) {
      attempt.deeds.push({ kind: "question", id: text(tool, "id"), at: fact.ts, asked });
      return;
    }
    const begun = this.calls.get(text(tool, "id"));
    if (begun !== undefined) {
      begun.asked = asked;
      if (begun.status === "running") begun.status = "asked";
      return;
    }
    const call: Call = {
      id: text(tool, "id"),
      agentCallId: "",
      tool: text(shown, "tool"),
      kind: text(shown, "kind"),
      args: shown["arguments"] ?? {},
      at: fact.ts,
      status: "asked",
      durationMs: null,
      exitCode: null,
      output: null,
      gate: null,
      asked,
    };
    this.add(attempt, call);
  }

  private answer(data: JsonObject, resolution: JsonObject, by: string): void {
    const asked = this.questions.get(text(data, "approvalId"));
    if (asked === undefined) return;
    const { status, remember } = { status: text(resolution, "status"), remember: text(resolution, "remember") };
    asked.answer = { status, by, reason: text(data, "reason"), remember };
  }

  private start(attempt: AgentAttempt, fact: Fact, data: JsonObject): void {
    const told = object(data, "call");
    const known = this.calls.get(text(told, "id"));
    const ruling = gateOf(told);
    const started: Call = {
      id: text(told, "id"),
      agentCallId: text(told, "agentCallId"),
      tool: text(told, "tool"),
      kind: text(told, "kind"),
      args: kept(object(data, "args")),
      at: known?.at ?? fact.ts,
      status: ruling?.allowed === false ? "denied" : "running",
      durationMs: null,
      exitCode: null,
      output: null,
      gate: ruling,
      asked: known?.asked ?? null,
    };
    if (known === undefined) this.add(attempt, started);
    else Object.assign(known, started);
  }

  private rule(data: JsonObject): void {
    const call = this.calls.get(text(data, "callId"));
    if (call === undefined) return;
    call.gate = gateOf(data);
    call.args = kept(object(data, "args"));
    if (call.status === "running" || call.status === "asked") {
      call.status = call.gate?.allowed === false ? "denied" : "running";
    }
  }

  private complete(data: JsonObject): void {
    const call = this.calls.get(text(data, "callId"));
    if (call === undefined || call.status === "denied") return;
    call.status = text(data, "status") === "completed" ? "completed" : "failed";
    call.durationMs = number(data, "durationMs");
    const code = data["exitCode"];
    call.exitCode = typeof code === "number" ? code : null;
    call.output = kept(object(data, "result"));
  }

  private add(attempt: AgentAttempt, call: Call): void {
    this.calls.set(call.id, call);
    attempt.deeds.push({ kind: "call", call });
  }
}

/** What was decided, null if the agent did not ask. */
function gateOf(told: JsonObject): Call["gate"] {
  const gate = told["gate"];
  if (!isObject(gate)) return null;
  return { allowed: text(gate, "decision") !== "deny", why: text(gate, "why"), asked: gate["asked"] === true };
}

/** The value of a call, or how large it is if it is kept beside the log. */
function kept(stored: JsonObject): Json {
  if (!("blob" in stored)) return stored["value"] ?? null;
  return `${number(stored, "bytes")} bytes; transcript.jsonl has them`;
}

/** A call that has not ended when its attempt does is cut; one that is still asked about stays open. */
function end(attempt: AgentAttempt, at: string): void {
  attempt.endedAt = at;
  for (const deed of attempt.deeds) {
    if (deed.kind === "call" && deed.call.status === "running") deed.call.status = "cut";
  }
}

// -- words --------------------------------------------------------------------------------------------------------------

const STATUS: Record<CallStatus, Label> = {
  asked: { text: "A person is asked", tone: "warn" },
  running: { text: "Running", tone: "busy" },
  completed: { text: "Worked", tone: "ok" },
  failed: { text: "Failed", tone: "bad" },
  denied: { text: "Denied", tone: "bad" },
  cut: { text: "Cut short", tone: "warn" },
};

export function callLabel(call: Call): Label {
  const answer = call.asked?.answer ?? null;
  if (call.status === "asked" && answer !== null) {
    return answer.status === "withdrawn"
      ? { text: "No longer asked", tone: "still" }
      : { text: "Answered", tone: "busy" };
  }
  return STATUS[call.status];
}

/** What was decided about a call, in words. */
export function verdictWords(call: Call): string {
  const { gate, asked } = call;
  if (gate === null) return asked === null ? "The agent made it without asking." : askedWords(asked);
  if (!gate.asked) return `${gate.allowed ? "Allowed" : "Denied"} without asking a person: ${gate.why}.`;
  const remembered = asked?.answer?.remember ?? "";
  const longer = remembered === "" ? "" : `, and calls like it for the rest of the ${remembered}`;
  return `A person was asked: ${gate.why}${longer}.`;
}

export function askedWords(asked: Asked): string {
  const { answer } = asked;
  if (answer === null) return asked.why === "" ? "A person is asked." : `A person is asked: ${asked.why}.`;
  if (answer.status === "withdrawn") return "The question was withdrawn.";
  return `${answer.status} by ${answer.by}${answer.reason === "" ? "" : `: ${answer.reason}`}`;
}

/** The argument that says most about a call, on one line; "" if it has none. */
export function shortArgument(args: Json): string {
  if (!isObject(args)) return typeof args === "string" ? oneLine(args) : "";
  const named = ["command", "cmd", "file_path", "path", "filePath", "url", "pattern", "query"];
  const first = named.map((name) => args[name]).find((value) => typeof value === "string" && value !== "");
  const other = Object.values(args).find((value) => typeof value === "string" && value !== "");
  const value = first ?? other;
  return typeof value === "string" ? oneLine(value) : "";
}

function oneLine(value: string): string {
  return value.replaceAll(/\s+/g, " ").trim().slice(0, 200);
}

/** What a session says about permissions and sandbox, in words: names and values for a list. */
export function sessionRows(session: JsonObject): [string, string][] {
  const rows: [string, string][] = [
    ["Agent", `${text(session, "agent")} (${text(session, "provider")})`],
    ["Conversation", `${text(session, "sessionId")}${session["continued"] === true ? ", continued" : ""}`],
    ["Permissions", permissionWords(session)],
    ["Sandbox", sandboxWords(session)],
  ];
  const obeyed = Array.isArray(session["obeyedSettings"]) ? session["obeyedSettings"] : [];
  if (obeyed.length > 0) {
    rows.push(["Warning", `the program may obey settings of the repository: ${obeyed.map(textOf).join(", ")}`]);
  }
  return rows;
}

const PERMISSIONS: Record<string, string> = {
  gated: "asks a person about what no rule allows",
  skip: "allows what no rule denies",
};
const WAYS: Record<string, string> = {
  hook: "every call passes the agent's hook",
  protocol: "the agent asks over its protocol, as far as it asks",
};

function permissionWords(session: JsonObject): string {
  const permissions = text(session, "permissions");
  const way = text(session, "gate");
  return [PERMISSIONS[permissions] ?? permissions, WAYS[way] ?? way].filter((part) => part !== "").join("; ");
}

/** The sandbox of a session: its kind, what it does not prevent, and every other detail of the record. */
function sandboxWords(session: JsonObject): string {
  const { kind, limits, ...more } = object(session, "sandbox");
  const name = typeof kind === "string" ? kind : "none";
  const parts = Array.isArray(limits) ? limits.filter((one) => typeof one === "string") : [];
  const rest = Object.entries(more).map(([key, value]) => `${key}: ${textOf(value)}`);
  return [name, ...parts, ...rest].join("; ");
}

function textOf(value: Json): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}
