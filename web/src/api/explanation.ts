/** What `explain` says of a workflow; the OpenAPI document leaves the inside of it open, `workflows/outline.py` has it. */
import type { Json, JsonObject } from "./json";

export interface Port {
  name: string;
  kind: string;
  schema: JsonObject | boolean | null;
  required: boolean;
  default?: Json;
  description?: string;
}

export interface OutlineBlock {
  id: string;
  name: string;
  description: string;
  mode: string;
  badge: string;
  layer: number;
  /** Of a step of a plan. */
  op: string | null;
  after: string[];
  jumps: { to: string; label: string }[];
  handler: string | null;
  experts: JsonObject[];
  inputs: Port[];
  outputs: Port[];
  gates: { name: string; type: string; when: "pre" | "post" }[];
  effect: string;
  when: string | null;
  foreach: { items: string; as: string } | null;
  maxAttempts: number;
  timeoutMs: number | null;
  /** How long a person may take to answer. */
  approvalTimeoutMs?: number | null;
  bounces: { gate: string; to: string; max: number }[];
}

export interface Case {
  steps: number;
  tokens: number;
  costUsd: number;
  durationSec: number;
}

export interface Range {
  minimum: Case;
  expected: Case;
  worst: Case;
}

export interface Explanation {
  name: string;
  description: string;
  hash: string;
  inputs: Port[];
  outputs: Record<string, string>;
  layers: string[][];
  blocks: OutlineBlock[];
  edges: { from: string; output: string; to: string; input: string }[];
  totals: { byMode: Record<string, Range>; all: Range; assumedItems: number; notes: string[] };
}
