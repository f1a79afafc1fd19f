/** What people call things: one word and one tone for every state, used wherever that state is shown. */
import type { Ending, Node, Run, RunStatus } from "../api/types";

export type Tone = "ok" | "bad" | "warn" | "busy" | "still";

export interface Word {
  text: string;
  tone: Tone;
}

const ENDINGS: Record<Ending, Word> = {
  ok: { text: "Completed", tone: "ok" },
  failed: { text: "Failed", tone: "bad" },
  cancelled: { text: "Cancelled", tone: "still" },
  budget_exceeded: { text: "Over budget", tone: "bad" },
  denied: { text: "Denied", tone: "bad" },
  escalated: { text: "Escalated", tone: "bad" },
};

const STATUSES: Record<RunStatus, Word> = {
  queued: { text: "Queued", tone: "still" },
  running: { text: "Running", tone: "busy" },
  paused: { text: "Paused", tone: "warn" },
  completed: ENDINGS.ok,
  failed: ENDINGS.failed,
};

const PAUSING: Word = { text: "Pausing", tone: "warn" };
const WAITING: Word = { text: "Waiting", tone: "warn" };

/** `waiting`: whether it is a person's answer that the run stands still for. */
export function runWord(run: { status: RunStatus; ending: Ending | null }, waiting = false): Word {
  if (run.ending !== null) return ENDINGS[run.ending];
  return waiting && run.status === "paused" ? WAITING : STATUSES[run.status];
}

/** The same of a run of which more is known: somebody may have paused it while work is under way, which then ends. */
export function standingWord(run: Pick<Run, "status" | "ending" | "pauseReason" | "approvals">): Word {
  const held = run.pauseReason !== null;
  if (held && run.ending === null && run.status === "running") return PAUSING;
  return runWord(run, !held && Object.keys(run.approvals).length > 0);
}

export function endingWord(ending: Ending): Word {
  return ENDINGS[ending];
}

export function nodeWord(node: Pick<Node, "status" | "outcome" | "visits">): Word {
  switch (node.outcome) {
    case "succeeded":
      return { text: "Done", tone: "ok" };
    case "failed":
      return { text: "Failed", tone: "bad" };
    case "skipped":
      return { text: "Skipped", tone: "still" };
    case "cancelled":
      return { text: "Cancelled", tone: "still" };
    case null:
      break;
  }
  switch (node.status) {
    case "running":
      return { text: "Running", tone: "busy" };
    case "blocked":
      return { text: "Waiting for a person", tone: "warn" };
    case "failed":
      return { text: "Gone", tone: "bad" };
    case "idle":
      return { text: node.visits > 0 ? "Waiting" : "Not started", tone: "still" };
  }
}

/** Whether its visit goes on: somebody works on it, or it waits for its next attempt. */
export function isUnderWay(node: Pick<Node, "status" | "outcome" | "visits">): boolean {
  return node.status === "running" || (node.status === "idle" && node.outcome === null && node.visits > 0);
}

export type Mode = "ai" | "deterministic" | "approval" | "dag";

/** The mode a node is shown as; steps of plans and agents are one of the four too. */
export function modeOf(node: { mode: string; kind?: string }): Mode {
  switch (node.mode) {
    case "ai":
    case "deterministic":
    case "approval":
    case "dag":
      return node.mode;
    default:
      return node.kind === "model" || node.kind === "agent"
        ? "ai"
        : node.kind === "approval"
          ? "approval"
          : "deterministic";
  }
}

export const BADGES: Record<Mode, string> = { ai: "AI", deterministic: "DET", approval: "HUMAN", dag: "DAG" };

export const MODE_NAMES: Record<Mode, string> = {
  ai: "AI",
  deterministic: "Deterministic",
  approval: "Approval",
  dag: "Sub-workflow",
};
