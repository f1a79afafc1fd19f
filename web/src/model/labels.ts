/** Labels: one text and one tone for every state, used wherever that state is shown. */
import type { Ending, Node, Run, RunStatus } from "../api/types";

export type Tone = "ok" | "bad" | "warn" | "busy" | "still";

export interface Label {
  text: string;
  tone: Tone;
}

const ENDINGS: Record<Ending, Label> = {
  ok: { text: "Completed", tone: "ok" },
  failed: { text: "Failed", tone: "bad" },
  cancelled: { text: "Cancelled", tone: "still" },
  budget_exceeded: { text: "Over budget", tone: "bad" },
  denied: { text: "Denied", tone: "bad" },
  escalated: { text: "Escalated", tone: "bad" },
};

const STATUSES: Record<RunStatus, Label> = {
  queued: { text: "Queued", tone: "still" },
  running: { text: "Running", tone: "busy" },
  paused: { text: "Paused", tone: "warn" },
  completed: ENDINGS.ok,
  failed: ENDINGS.failed,
};

const PAUSING: Label = { text: "Pausing", tone: "warn" };
const PLANNED: Label = { text: "Only planned", tone: "still" };
const WAITING: Label = { text: "Waiting", tone: "warn" };

/** `waiting`: whether it is a person's answer that the run stands still for. */
export function runLabel(run: { status: RunStatus; ending: Ending | null }, waiting = false): Label {
  if (run.ending !== null) return ENDINGS[run.ending];
  return waiting && run.status === "paused" ? WAITING : STATUSES[run.status];
}

/** True if the run has ended because it was only to plan, and came to a block with effects. */
export function isPlanned(run: Pick<Run, "ending" | "error">): boolean {
  return run.ending === "denied" && run.error?.code === "PLANNING_MODE";
}

/** The label of a run with its details: a run paused by a person while work is running is shown as pausing. */
export function runStatusLabel(run: Pick<Run, "status" | "ending" | "pauseReason" | "approvals" | "error">): Label {
  const held = run.pauseReason !== null;
  if (isPlanned(run)) return PLANNED;
  if (held && run.ending === null && run.status === "running") return PAUSING;
  return runLabel(run, !held && Object.keys(run.approvals).length > 0);
}

export function endingLabel(ending: Ending): Label {
  return ENDINGS[ending];
}

/** `runEnded`: a node that a run has not reached by its end will never start. */
export function nodeLabel(node: Pick<Node, "status" | "outcome" | "visits">, runEnded = false): Label {
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
      if (runEnded) return { text: "Not reached", tone: "still" };
      return { text: node.visits > 0 ? "Waiting" : "Not started", tone: "still" };
  }
}

/** True if the node's visit is not over: an attempt runs, or the next one is waiting. */
export function isRunning(node: Pick<Node, "status" | "outcome" | "visits">): boolean {
  return node.status === "running" || (node.status === "idle" && node.outcome === null && node.visits > 0);
}

export type Mode = "ai" | "deterministic" | "approval" | "dag";
/** The modes of nodes that do work; `dag` is a frame around others. */
export type WorkMode = Exclude<Mode, "dag">;

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
