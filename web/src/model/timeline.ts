/**
 * When each node waited, and when a model, code or a person worked on it, read from the run's events.
 *
 * An attempt that has no worker process or no free slot at its model waits, too. Its receipt says how long it worked
 * (`wall_ms`), so the work is the end of its bar, and the beginning is a wait.
 */
import type { Fact, Node } from "../api/types";
import { dataOf, number, object, placeOf, text } from "./facts";
import { type Mode, modeOf } from "./labels";

export type Kind = "waiting" | "model" | "tool" | "human";
export const KINDS: readonly Kind[] = ["waiting", "model", "tool", "human"];
export const KIND_NAMES: Record<Kind, string> = {
  waiting: "Waiting",
  model: "Model",
  tool: "Code and tools",
  human: "People",
};

export interface Bar {
  kind: Kind;
  /** Milliseconds since 1970; `to` is null while it goes on. */
  from: number;
  to: number | null;
  /** How it ended: succeeded, failed, interrupted, cancelled, approved, denied, modified, withdrawn; "" while it goes on. */
  end: string;
  label: string;
  seq: number;
}

export interface Row {
  key: string;
  name: string;
  mode: Mode;
  bars: Bar[];
}

export interface Timeline {
  from: number;
  /** The last fact; bars that go on reach to now. */
  to: number;
  rows: Row[];
}

/** What a node depends on, by key. */
export type Sources = ReadonlyMap<string, readonly string[]>;

export function timelineOf(facts: readonly Fact[], nodes: readonly Node[], sources: Sources): Timeline {
  const builder = new TimelineBuilder(nodes, sources);
  for (const fact of facts) builder.add(fact);
  return builder.build();
}

function kindOf(node: Node, mode: Mode): Kind {
  if (node.kind === "approval") return "human";
  return mode === "ai" ? "model" : "tool";
}

class TimelineBuilder {
  private readonly rows = new Map<string, Row>();
  private readonly kinds = new Map<string, Kind>();
  private readonly open = new Map<string, Bar>();
  /** When a place became able to go on: its wait begins there. */
  private readonly free = new Map<string, number>();
  private readonly ended = new Map<string, number>();
  private from = Number.POSITIVE_INFINITY;
  private to = 0;

  constructor(
    nodes: readonly Node[],
    private readonly sources: Sources,
  ) {
    for (const node of nodes) {
      const mode = modeOf(node);
      this.rows.set(node.key, { key: node.key, name: node.label, mode, bars: [] });
      this.kinds.set(node.key, kindOf(node, mode));
    }
  }

  add(fact: Fact): void {
    const at = Date.parse(fact.ts);
    const data = dataOf(fact);
    this.from = Math.min(this.from, at);
    this.to = Math.max(this.to, at);
    const place = placeOf(data);
    const key = text(data, "node");
    switch (fact.type) {
      case "attempt.started":
        this.waited(key, place, at, fact.seq);
        this.begin(key, place, this.kinds.get(key) ?? "tool", at, `attempt ${number(data, "attempt")}`, fact.seq);
        break;
      case "attempt.succeeded":
      case "attempt.failed":
      case "attempt.interrupted":
      case "attempt.cancelled":
        this.endAttempt(key, place, at, fact);
        this.free.set(place, at);
        this.ended.set(key, at);
        break;
      case "approval.requested":
        this.begin(key, `ask ${text(data, "approvalId")}`, "human", at, "asked", fact.seq);
        break;
      case "approval.resolved":
        this.end(`ask ${text(data, "approvalId")}`, at, text(object(data, "resolution"), "status"));
        this.free.set(place, at);
        this.ended.set(key, at);
        break;
      case "approval.withdrawn":
        this.end(`ask ${text(data, "approvalId")}`, at, "withdrawn");
        break;
      case "node.finished":
      case "node.kept":
        this.ended.set(key, at);
        break;
      default:
        break;
    }
  }

  build(): Timeline {
    const rows = [...this.rows.values()].filter((row) => row.bars.length > 0);
    rows.sort((a, b) => (a.bars[0]?.from ?? 0) - (b.bars[0]?.from ?? 0));
    return { from: Number.isFinite(this.from) ? this.from : 0, to: this.to, rows };
  }

  private waited(key: string, place: string, at: number, seq: number): void {
    const since = this.free.get(place) ?? this.ready(key);
    if (since !== null && at > since) {
      this.row(key).bars.push({ kind: "waiting", from: since, to: at, end: "", label: "waited", seq });
    }
  }

  /** When the last thing the node needs was there. */
  private ready(key: string): number | null {
    const times = (this.sources.get(key) ?? []).map((source) => this.ended.get(source) ?? this.from);
    return Number.isFinite(this.from) ? Math.max(this.from, ...times) : null;
  }

  private begin(key: string, place: string, kind: Kind, from: number, label: string, seq: number): void {
    const bar: Bar = { kind, from, to: null, end: "", label, seq };
    this.open.set(place, bar);
    this.row(key).bars.push(bar);
  }

  private end(place: string, at: number, end: string): Bar | null {
    const bar = this.open.get(place);
    if (bar === undefined) return null;
    bar.to = at;
    bar.end = end;
    this.open.delete(place);
    return bar;
  }

  private endAttempt(key: string, place: string, at: number, fact: Fact): void {
    const bar = this.end(place, at, fact.type.slice("attempt.".length));
    const worked = object(object(dataOf(fact), "receipt"), "metrics")["wall_ms"];
    if (bar === null || bar.kind === "human" || typeof worked !== "number") return;
    const began = at - worked;
    if (began <= bar.from) return;
    this.row(key).bars.push({ kind: "waiting", from: bar.from, to: began, end: "", label: "queued", seq: bar.seq });
    bar.from = began;
  }

  private row(key: string): Row {
    const known = this.rows.get(key) ?? { key, name: key, mode: "deterministic", bars: [] };
    this.rows.set(key, known);
    return known;
  }
}

/** During how much of the time something of each kind went on: what went on at the same time counts once. */
export function totals(rows: readonly Row[], now: number): Record<Kind, number> {
  const found: Record<Kind, number> = { waiting: 0, model: 0, tool: 0, human: 0 };
  const reached: Partial<Record<Kind, number>> = {};
  for (const bar of rows.flatMap((row) => row.bars).sort((a, b) => a.from - b.from)) {
    const to = bar.to ?? now;
    const from = Math.max(bar.from, reached[bar.kind] ?? bar.from);
    found[bar.kind] += Math.max(0, to - from);
    reached[bar.kind] = Math.max(to, reached[bar.kind] ?? to);
  }
  return found;
}

/**
 * Bars as they can be seen: of one kind and end, those that lie over each other are drawn as one, and so are those
 * shorter than `gap` that follow each other within it.
 */
export function seen(bars: readonly Bar[], gap: number): (Bar & { count: number })[] {
  const found: (Bar & { count: number })[] = [];
  const last = new Map<string, Bar & { count: number }>();
  for (const bar of bars.toSorted((a, b) => a.from - b.from)) {
    const name = `${bar.kind} ${bar.end}`;
    const before = last.get(name);
    if (before !== undefined && before.to !== null && bar.to !== null && touches(before.to, bar.from, bar.to, gap)) {
      before.to = Math.max(before.to, bar.to);
      before.count += 1;
      continue;
    }
    const drawn = { ...bar, count: 1 };
    last.set(name, drawn);
    found.push(drawn);
  }
  return found;
}

function touches(reached: number, from: number, to: number, gap: number): boolean {
  return from < reached || (to - from < gap && from - reached < gap);
}
