/**
 * The conversation with an agent in its order: what was sent, what it said and thought, and its calls in their places.
 *
 * The order is that of the transcript, which an attempt leaves when it ends. Until then there are the calls of the record,
 * and the text so far, cut where it was when the page heard of a call (calls are told up to half a second late). The transcript of a very long turn lacks its end: the calls that it does not have come last.
 */
import { isObject, type Json, type JsonObject } from "../api/json";
import type { AgentAttempt, Asked, Call } from "./agent-calls";
import { object, text } from "./facts";
import type { Break } from "./partial-text";

export interface PlanEntry {
  content: string;
  status: string;
}

export type Part =
  | { kind: "sent"; text: string }
  | { kind: "said"; text: string }
  | { kind: "thought"; text: string }
  | { kind: "plan"; entries: PlanEntry[] }
  | { kind: "call"; call: Call; edits: Edit[] }
  | { kind: "question"; id: string; asked: Asked };

/** What an edit has changed, as the agent tells it. */
export interface Edit {
  path: string;
  before: string | null;
  after: string;
}

/** The parts of an attempt; `transcript` is null as long as there is none. */
export function partsOf(attempt: AgentAttempt, transcript: string | null): Part[] {
  const builder = new Builder(attempt);
  for (const line of transcript === null ? [] : transcript.split("\n")) builder.take(line);
  return builder.done();
}

/** The parts of an attempt that goes on, with its text so far cut where a call came. */
export function liveParts(attempt: AgentAttempt, written: string, breaks: readonly Break[]): Part[] {
  const parts: Part[] = [];
  let from = 0;
  for (const part of partsOf(attempt, null)) {
    const id = part.kind === "call" ? part.call.id : part.kind === "question" ? part.id : "";
    const at = breaks.find((one) => one.callId === id)?.offset ?? from;
    if (at > from) parts.push({ kind: "said", text: written.slice(from, at) });
    from = Math.max(from, at);
    parts.push(part);
  }
  if (from < written.length) parts.push({ kind: "said", text: written.slice(from) });
  return parts;
}

class Builder {
  private readonly parts: Part[] = [];
  private readonly placed = new Map<string, Part & { kind: "call" }>();
  private readonly calls: Map<string, Call>;
  private questions: { id: string; asked: Asked }[];

  constructor(private readonly attempt: AgentAttempt) {
    const calls = attempt.deeds.flatMap((deed) => (deed.kind === "call" ? [deed.call] : []));
    this.calls = new Map(calls.map((call) => [call.agentCallId, call]));
    this.questions = attempt.deeds.flatMap((deed) => (deed.kind === "question" ? [deed] : []));
  }

  take(line: string): void {
    const entry = parsed(line);
    const message = object(entry, "message");
    const params = object(message, "params");
    const method = text(message, "method");
    if (text(entry, "direction") === "sent" && method === "session/prompt") this.sent(params);
    else if (method === "session/update") this.update(object(params, "update"));
    else if (method === "session/request_permission") this.place(object(params, "toolCall"));
    else if (method === "elicitation/create") this.question();
  }

  /** All parts, with those of the record that the transcript does not have at the end. */
  done(): Part[] {
    for (const deed of this.attempt.deeds) {
      if (deed.kind === "call") this.placeCall(deed.call, {});
      else if (this.questions.some((one) => one.id === deed.id)) this.question();
    }
    return this.parts;
  }

  private sent(params: JsonObject): void {
    const prompt = params["prompt"];
    const texts = Array.isArray(prompt) ? prompt.map((block) => (isObject(block) ? text(block, "text") : "")) : [];
    this.parts.push({ kind: "sent", text: texts.join("\n") });
  }

  private update(update: JsonObject): void {
    switch (text(update, "sessionUpdate")) {
      case "agent_message_chunk":
        this.say("said", text(object(update, "content"), "text"));
        break;
      case "agent_thought_chunk":
        this.say("thought", text(object(update, "content"), "text"));
        break;
      case "tool_call":
      case "tool_call_update":
        this.place(update);
        break;
      case "plan":
        this.plan(update["entries"]);
        break;
    }
  }

  private say(kind: "said" | "thought", piece: string): void {
    const last = this.parts.at(-1);
    if (last?.kind === kind) last.text += piece;
    else if (piece !== "") this.parts.push({ kind, text: piece });
  }

  /** A plan is told anew when it changes; the newest one stands where the first one did. */
  private plan(told: Json | undefined): void {
    const entries = (Array.isArray(told) ? told : [])
      .filter((entry) => isObject(entry))
      .map((entry) => ({ content: text(entry, "content"), status: text(entry, "status") }));
    const known = this.parts.find((part) => part.kind === "plan");
    if (known === undefined) this.parts.push({ kind: "plan", entries });
    else known.entries = entries;
  }

  private place(told: JsonObject): void {
    const call = this.calls.get(text(told, "toolCallId"));
    if (call !== undefined) this.placeCall(call, told);
  }

  private placeCall(call: Call, told: JsonObject): void {
    let part = this.placed.get(call.id);
    if (part === undefined) {
      part = { kind: "call", call, edits: [] };
      this.placed.set(call.id, part);
      this.parts.push(part);
    }
    const edits = editsIn(told["content"]);
    if (edits.length > 0) part.edits = edits;
  }

  private question(): void {
    const next = this.questions.shift();
    if (next !== undefined) this.parts.push({ kind: "question", id: next.id, asked: next.asked });
  }
}

function editsIn(content: Json | undefined): Edit[] {
  if (!Array.isArray(content)) return [];
  return content.flatMap((block) => {
    if (!isObject(block) || block["type"] !== "diff") return [];
    const before = block["oldText"];
    return [
      { path: text(block, "path"), before: typeof before === "string" ? before : null, after: text(block, "newText") },
    ];
  });
}

/** A line of a transcript; nothing if it cannot be read. */
function parsed(line: string): JsonObject {
  try {
    const value = JSON.parse(line) as Json;
    return isObject(value) ? value : {};
  } catch {
    return {};
  }
}
