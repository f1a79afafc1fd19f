/** The messages of the stream, as docs/reference/stream.md has them. */
import type { Event, Run, RunSummary } from "./types";

/** The text so far of an answer that is being written. */
export interface Streaming {
  nodeId: string;
  messageId: string;
  visit: number;
  attempt: number;
  item: number | null;
  offset: number;
  text: string;
}

export interface RunSnapshot {
  type: "snapshot";
  runId: string;
  seq: number;
  run: Run;
  streaming: Streaming[];
}

export interface ListSnapshot {
  type: "snapshot";
  position: number;
  runs: RunSummary[];
}

export interface Events {
  type: "events";
  runId?: string;
  seq?: number;
  position?: number;
  events: Event[];
}

export type StreamMessage =
  | { type: "hello"; contractVersion: string; protocol: number; serverTime: string; runId: string | null }
  | RunSnapshot
  | ListSnapshot
  | Events
  | { type: "resync"; runId: string | null; reason: "slow" | "ahead" }
  | { type: "ping"; serverTime: string }
  | { type: "pong"; id: unknown; serverTime: string }
  | { type: "error"; code: string; message: string; hint: string | null; runId?: string };
