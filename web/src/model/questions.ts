/** Approvals as people meet them: what kind of question it is, what each answer means, and what may be changed. */
import type { JsonObject } from "../api/json";
import type { Answered, Approval, Resolution } from "../api/types";
import { isRequired, properties, type Schema } from "./form";
import type { Tone, Word } from "./words";

export type AnswerStatus = Resolution["status"];

const KINDS: Record<Approval["kind"], Word> = {
  approval: { text: "Approval", tone: "warn" },
  ask_human: { text: "Question", tone: "warn" },
  uncertain: { text: "Uncertain effect", tone: "bad" },
  stalled: { text: "Stalled", tone: "bad" },
};

export function kindWord(approval: Pick<Approval, "kind">): Word {
  return KINDS[approval.kind];
}

/** What the answers to this kind of question do. */
export function choices(
  approval: Pick<Approval, "kind" | "form" | "tool">,
): Record<AnswerStatus, { name: string; means: string } | null> {
  switch (approval.kind) {
    case "stalled":
      return {
        approved: { name: "Go on", means: "The loop goes on." },
        denied: { name: "Stop here", means: "The node fails, and so does the run." },
        modified: null,
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
          approved: null,
          denied: { name: "Deny", means: "The run does not do it." },
          modified: { name: "Answer", means: "The run goes on with what you fill in." },
        };
      return {
        approved: { name: "Approve", means: "The run goes on with exactly what is asked." },
        denied: { name: "Deny", means: "The run does not do it." },
        modified: { name: "Modify", means: "The run goes on with what you change it to." },
      };
  }
}

const ANSWERS: Record<AnswerStatus, { text: string; tone: Tone }> = {
  approved: { text: "Approved", tone: "ok" },
  denied: { text: "Denied", tone: "bad" },
  modified: { text: "Modified", tone: "busy" },
};

export function answerWord(answered: Pick<Answered, "resolution" | "withdrawn" | "by">): Word {
  if (answered.withdrawn) return { text: "Withdrawn", tone: "still" };
  const word = ANSWERS[answered.resolution.status];
  return answered.by === "timer" ? { ...word, text: `${word.text}, time was up` } : word;
}

/** Whether a plain yes would not do: the form demands values that neither the question nor a default brings. */
function wantsValues(approval: Pick<Approval, "kind" | "form" | "tool">): boolean {
  if (approval.tool.stored) return false;
  const form = approval.form as Schema;
  const given = approval.tool.args as JsonObject;
  return properties(form).some(
    ([name, field]) => isRequired(form, name) && given[name] === undefined && field["default"] === undefined,
  );
}

/** What an answer changes begins as: of what is asked, those parts that the form has. */
export function editable(approval: Approval): JsonObject {
  const form = approval.form["properties"];
  if (approval.kind === "uncertain") return {};
  if (typeof form !== "object" || form === null || Array.isArray(form)) return approval.tool.args;
  return Object.fromEntries(Object.entries(approval.tool.args).filter(([name]) => name in form));
}

/** The first line of the question, for lists and notifications. */
export function headline(approval: Pick<Approval, "prompt" | "node">): string {
  const line = approval.prompt.split("\n").find((one) => one.trim() !== "");
  return line?.trim() ?? approval.node;
}

/** What the question says after its first line; "" when that is all. */
export function remainder(approval: Pick<Approval, "prompt" | "node">): string {
  const first = headline(approval);
  return approval.prompt.slice(approval.prompt.indexOf(first) + first.length).trim();
}

/** Whether a text is a unified diff, to be shown as one. */
export function isDiff(text: string): boolean {
  return /^@@ -\d+(,\d+)? \+\d+(,\d+)? @@/m.test(text) && /^(---|\+\+\+|diff --git) /m.test(text);
}

/** Those that wait longest for an answer first: by when they expire, then by when they were asked. */
export function inOrder(open: Iterable<Approval>): Approval[] {
  const last = "9999";
  return [...open].sort(
    (a, b) =>
      (a.expiresAt ?? last).localeCompare(b.expiresAt ?? last) ||
      (a.requestedAt ?? last).localeCompare(b.requestedAt ?? last),
  );
}
