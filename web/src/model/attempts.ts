/** The attempts of a node, read from its events: how each one ended, the verdicts of its gates, what followed. */
import { isObject, type Json, type JsonObject } from "../api/json";
import type { Fact, Fault } from "../api/types";
import { dataOf, number, object, placeOf, text } from "./facts";
import type { Label } from "./labels";

export type AttemptStatus = "running" | "succeeded" | "failed" | "interrupted" | "cancelled";

export interface Verdict {
  gate: string;
  type: string;
  /** Null if the reviewer could not be reached. */
  passed: boolean | null;
  reason: string;
  found?: Json;
  evidence?: Json;
  tookMs: number | null;
}

export interface Attempt {
  id: string;
  seq: number;
  visit: number;
  attempt: number;
  item: number | null;
  status: AttemptStatus;
  startedAt: string;
  endedAt: string | null;
  error: Fault | null;
  /** What followed a failure, in words; "" where nothing is said. */
  next: string;
  /** Of a repair: what the next attempt was told. */
  detail: Json;
  verdicts: readonly Verdict[];
  cached: boolean;
  uncertain: boolean;
  tokensIn: number;
  tokensOut: number;
  costUsd: number;
  /** The time it worked, without waits for a worker or a model; null until it has ended. */
  workMs: number | null;
}

const ENDS: Record<string, AttemptStatus> = {
  "attempt.succeeded": "succeeded",
  "attempt.failed": "failed",
  "attempt.interrupted": "interrupted",
  "attempt.cancelled": "cancelled",
};

const NEXT: Record<string, string> = {
  retry: "tried again",
  repair: "asked to correct its answer",
  bounce: "work was sent back",
  ask: "a person is asked",
  go: "goes on elsewhere",
  keep: "the other items go on",
  fail: "the node failed",
};

/** All attempts in the order they began. */
export function attemptsOf(facts: readonly Fact[]): Attempt[] {
  const found = new Map<string, Attempt>();
  for (const fact of facts) {
    const data = dataOf(fact);
    const id = `${placeOf(data)}#${number(data, "attempt")}`;
    const end = ENDS[fact.type];
    if (fact.type === "attempt.started") found.set(id, begun(id, fact, data));
    else if (end !== undefined) found.set(id, ended(found.get(id) ?? begun(id, fact, data), end, fact, data));
  }
  return [...found.values()];
}

function begun(id: string, fact: Fact, data: JsonObject): Attempt {
  return {
    id,
    seq: fact.seq,
    visit: number(data, "visit"),
    attempt: number(data, "attempt"),
    item: typeof data["item"] === "number" ? data["item"] : null,
    status: "running",
    startedAt: fact.ts,
    endedAt: null,
    error: null,
    next: "",
    detail: null,
    verdicts: [],
    cached: false,
    uncertain: false,
    tokensIn: 0,
    tokensOut: 0,
    costUsd: 0,
    workMs: null,
  };
}

function ended(before: Attempt, status: AttemptStatus, fact: Fact, data: JsonObject): Attempt {
  const metrics = object(object(data, "receipt"), "metrics");
  const fault = object(data, "error");
  const reason = text(data, "reason");
  return {
    ...before,
    status,
    endedAt: fact.ts,
    error:
      fault["code"] === undefined
        ? stopped(status, reason)
        : { ...fault, code: text(fault, "code"), message: text(fault, "message") },
    next: NEXT[text(data, "next")] ?? "",
    detail: data["detail"] ?? null,
    verdicts: verdictsOf(data["verdicts"]),
    cached: isObject(data["cached"]),
    uncertain: data["uncertain"] === true,
    tokensIn: number(metrics, "tokens_in"),
    tokensOut: number(metrics, "tokens_out"),
    costUsd: (number(object(data, "spent"), "costNanousd") + number(object(data, "spent"), "toolNanousd")) / 1e9,
    workMs: typeof metrics["wall_ms"] === "number" ? metrics["wall_ms"] : null,
  };
}

function stopped(status: AttemptStatus, reason: string): Fault | null {
  return reason === "" ? null : { code: status.toUpperCase(), message: reason };
}

/** The verdicts of gates, as the log and the wire have them. */
export function verdictsOf(listed: Json | readonly JsonObject[] | undefined): Verdict[] {
  if (!Array.isArray(listed)) return [];
  return listed.filter(isObject).map((one) => ({
    gate: text(one, "gate"),
    type: text(one, "type"),
    passed: one["passed"] === null ? null : one["passed"] === true,
    reason: text(one, "reason"),
    ...(one["found"] === undefined ? {} : { found: one["found"] }),
    ...(one["evidence"] === undefined ? {} : { evidence: one["evidence"] }),
    tookMs: typeof one["took_ms"] === "number" ? one["took_ms"] : null,
  }));
}

const WORDS: Record<AttemptStatus, Label> = {
  running: { text: "Running", tone: "busy" },
  succeeded: { text: "Succeeded", tone: "ok" },
  failed: { text: "Failed", tone: "bad" },
  interrupted: { text: "Interrupted", tone: "warn" },
  cancelled: { text: "Cancelled", tone: "still" },
};

export function attemptLabel(attempt: Pick<Attempt, "status" | "cached">): Label {
  return attempt.cached ? { text: "From the cache", tone: "ok" } : WORDS[attempt.status];
}

/** "Attempt 2", with its visit and item where there are several. */
export function attemptName(attempt: Pick<Attempt, "visit" | "attempt" | "item">): string {
  const parts = [`Attempt ${attempt.attempt}`];
  if (attempt.item !== null) parts.unshift(`Item ${attempt.item}`);
  if (attempt.visit > 1) parts.unshift(`Visit ${attempt.visit}`);
  return parts.join(" · ");
}
