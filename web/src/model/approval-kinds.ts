/** Kinds of approvals: what each answer means, and what a person may change. */
import { isObject, type Json, type JsonObject } from "../api/json";
import type { Answered, Approval, Resolution } from "../api/types";
import { isRequired, properties } from "./form";
import type { Tone, Label } from "./labels";

export type AnswerStatus = Resolution["status"];
/** What a person chooses: an answer, or to allow an agent's calls like this one until its turn or the run ends. */
export type Choice = AnswerStatus | "turn" | "run";
type Choices = Record<Choice, { name: string; means: string } | null>;

const KINDS: Record<Approval["kind"], Label> = {
  approval: { text: "Approval", tone: "warn" },
  ask_human: { text: "Question", tone: "warn" },
  uncertain: { text: "Uncertain effect", tone: "bad" },
  stalled: { text: "Stalled", tone: "bad" },
  call: { text: "Call of an agent", tone: "warn" },
};

export function kindLabel(approval: Pick<Approval, "kind" | "call">): Label {
  return isAgentQuestion(approval) ? { text: "Question of an agent", tone: "warn" } : KINDS[approval.kind];
}

/** True if an agent has a question of its own; otherwise an approval of kind `call` is about a call of its tools. */
export function isAgentQuestion(approval: Pick<Approval, "kind" | "call">): boolean {
  return approval.kind === "call" && approval.call?.["question"] === true;
}

/** The rule that an approval for longer than once would make; null if there is none. */
export function ruleOf(approval: Pick<Approval, "call">): JsonObject | null {
  const rule = approval.call?.["rule"];
  return isObject(rule) ? rule : null;
}

/** The calls that a rule allows, in words. */
export function ruleWords(rule: JsonObject): string {
  const { command, paths, tool, with: more } = rule;
  const added = more === undefined ? "" : `, with ${JSON.stringify(more)}`;
  if (typeof command === "string") return `the same command again: ${command}${added}`;
  if (Array.isArray(paths)) return `changes of ${paths.map(String).join(", ")}`;
  return typeof tool === "string" ? `calls of ${tool}, with any arguments` : JSON.stringify(rule);
}

/** The answer that a choice sends. */
export function answerOf(choice: Choice): Pick<Resolution, "status" | "remember"> {
  return choice === "turn" || choice === "run" ? { status: "approved", remember: choice } : { status: choice };
}

const CHOICES: Choices = { approved: null, turn: null, run: null, modified: null, denied: null };

/** What the answers to this kind of question do; null for those that it does not take. */
export function choices(approval: Pick<Approval, "kind" | "form" | "tool" | "call">): Choices {
  return { ...CHOICES, ...offered(approval) };
}

function offered(approval: Pick<Approval, "kind" | "form" | "tool" | "call">): Partial<Choices> {
  switch (approval.kind) {
    case "call":
      return isAgentQuestion(approval) ? QUESTION_CHOICES : callChoices(approval);
    case "stalled":
      return {
        approved: { name: "Go on", means: "The loop goes on." },
        denied: { name: "Stop here", means: "The node fails, and so does the run." },
      };
    case "uncertain":
      return {
        approved: { name: "Do it again", means: "It did not happen: the attempt is repeated." },
        denied: { name: "Fail", means: "The node fails, and so does the run." },
        modified: { name: "It happened", means: "It did happen, and these are its outputs." },
      };
    case "approval":
    case "ask_human":
      if (wantsValues(approval))
        return {
          denied: { name: "Deny", means: "The run does not do it." },
          modified: { name: "Answer", means: "The run goes on with your values." },
        };
      return {
        approved: { name: "Approve", means: "The run goes on with exactly what is asked." },
        denied: { name: "Deny", means: "The run does not do it." },
        modified: { name: "Modify", means: "The run goes on with your changes." },
      };
  }
}

const QUESTION_CHOICES: Partial<Choices> = {
  modified: { name: "Answer", means: "The agent gets your values, and goes on." },
  denied: { name: "Decline", means: "The agent learns that you do not answer, and goes on." },
};

function callChoices(approval: Pick<Approval, "form" | "call">): Partial<Choices> {
  const rule = ruleOf(approval);
  const longer = (until: string) => `Until ${until} ends, this is allowed without asking: ${ruleWords(rule ?? {})}.`;
  return {
    approved: { name: "Allow once", means: "The agent makes exactly this call." },
    turn: rule && { name: "Allow for this turn", means: longer("the agent's turn") },
    run: rule && { name: "Allow for this run", means: longer("the run") },
    modified:
      properties(approval.form).length === 0
        ? null
        : { name: "Modify and allow", means: "The agent makes the call with the arguments as you modify them." },
    denied: { name: "Deny", means: "The agent does not make the call, is told your reason, and goes on." },
  };
}

const ANSWERS: Record<AnswerStatus, { text: string; tone: Tone }> = {
  approved: { text: "Approved", tone: "ok" },
  denied: { text: "Denied", tone: "bad" },
  modified: { text: "Modified", tone: "busy" },
};

const REMEMBERED = { turn: "Approved for the turn", run: "Approved for the run" };

export function answerLabel(answered: Pick<Answered, "resolution" | "withdrawn" | "by">): Label {
  if (answered.withdrawn) return { text: "Withdrawn", tone: "still" };
  const { status, remember } = answered.resolution;
  const word = remember ? { ...ANSWERS[status], text: REMEMBERED[remember] } : ANSWERS[status];
  return answered.by === "timer" ? { ...word, text: `${word.text}, time was up` } : word;
}

/** Whether a plain yes would not do: the form demands values that neither the question nor a default brings. */
function wantsValues(approval: Pick<Approval, "kind" | "form" | "tool">): boolean {
  if (approval.tool.stored) return false;
  const form = approval.form;
  const given = approval.tool.args;
  return properties(form).some(
    ([name, field]) => isRequired(form, name) && given[name] === undefined && field["default"] === undefined,
  );
}

/** What an answer changes begins as: of what is asked, those parts that the form has. */
export function editable(approval: Approval): JsonObject {
  const form = approval.form["properties"];
  if (approval.kind === "uncertain" || isAgentQuestion(approval)) return {};
  if (typeof form !== "object" || form === null || Array.isArray(form)) return approval.tool.args;
  return Object.fromEntries(Object.entries(approval.tool.args).filter(([name]) => name in form));
}

/** The first line of the question without its Markdown, for titles, lists and notifications. */
export function headline(approval: Pick<Approval, "prompt" | "node">): string {
  const line = withoutMarks(firstLine(approval));
  return line === "" ? approval.node : line;
}

/** A line of Markdown without its marks. */
function withoutMarks(line: string): string {
  return line
    .replace(/^(#{1,6}|>|[-*+])\s+/, "")
    .replace(/\[([^\]]+)\]\([^)]*\)/g, "$1")
    .replace(/(\*\*|__|`|\*)(\S|\S.*?\S)\1/g, "$2");
}

function firstLine(approval: Pick<Approval, "prompt">): string {
  const line = approval.prompt.split("\n").find((one) => one.trim() !== "");
  return line?.trim() ?? "";
}

/** What the question says after its first line; "" when that is all. */
export function remainder(approval: Pick<Approval, "prompt" | "node">): string {
  const first = firstLine(approval);
  return approval.prompt.slice(approval.prompt.indexOf(first) + first.length).trim();
}

/** What the question says after its first line, without its Markdown, for lists. */
export function excerpt(approval: Pick<Approval, "prompt" | "node">): string {
  const lines = remainder(approval).split("\n");
  return lines.map((line) => withoutMarks(line.trim())).join("\n");
}

/** Whether a text is a unified diff, to be shown as one. */
export function isDiff(text: string): boolean {
  return /^@@ -\d+(,\d+)? \+\d+(,\d+)? @@/m.test(text) && /^(---|\+\+\+|diff --git) /m.test(text);
}

const EVIDENCE: Record<string, string> = {
  repeats: "How often",
  code: "Error",
  message: "What it says",
  verificationFailure: "Failing check",
  gates: "Failing gates",
  summaries: "Summaries",
};
/** What came back each time, by the kind of the stall. */
const REPEATED: Record<string, string> = {
  output: "the same output",
  verdict: "the same verdict on different outputs",
  diff: "the same changes",
  gates: "the same failing gates",
};

/**
 * What is known about a loop without progress, as names and values for people.
 *
 * Where only the verdict repeats, the outputs differ: the hash in the evidence is that of the last one.
 */
export function stallEvidence(evidence: JsonObject): [string, string][] {
  const kind = evidence["kind"];
  const sameOutput = kind === "output";
  const repeated = typeof kind === "string" ? (REPEATED[kind] ?? kind) : undefined;
  const rows: [string, Json | undefined][] = [
    ["What repeats", repeated],
    ...Object.entries(EVIDENCE).map(([field, name]): [string, Json | undefined] => [name, evidence[field]]),
    [sameOutput ? "Output each time" : "Last output", evidence["outputHash"] || undefined],
    [kind === "diff" ? "Diff each time" : "Last diff", evidence["diffHash"] || undefined],
  ];
  return rows.flatMap(([name, value]) =>
    value === undefined || value === null ? [] : [[name, evidenceText(value)] as [string, string]],
  );
}

function evidenceText(value: Json): string {
  if (typeof value === "string") return value.startsWith("sha256:") ? `${value.slice(0, 19)}…` : value;
  return Array.isArray(value) ? value.map(evidenceText).join("; ") : JSON.stringify(value);
}

/** Those that wait longest for an answer first: by when they expire, then by when they were asked. */
export function inOrder(open: Iterable<Approval>): Approval[] {
  const last = "9999";
  return [...open].sort(
    (a, b) => (a.expiresAt ?? last).localeCompare(b.expiresAt ?? last) || a.requestedAt.localeCompare(b.requestedAt),
  );
}
