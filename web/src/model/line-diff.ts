/** Where two texts part, line by line (Myers' shortest edit), for showing side by side. */
import type { Json } from "../api/json";

export interface Line {
  kind: "same" | "gone" | "new";
  text: string;
  /** Line numbers from 1; null on the side that does not have it. */
  before: number | null;
  after: number | null;
}

/** Beyond this number of edits two texts are shown as completely different, so that the diff stays fast. */
const MOST_EDITS = 1_000;

/** A side that is null has no lines at all. */
export function lineDiff(before: string | null, after: string | null): Line[] {
  const a = before?.split("\n") ?? [];
  const b = after?.split("\n") ?? [];
  let head = 0;
  while (head < a.length && head < b.length && a[head] === b[head]) head += 1;
  let tail = 0;
  while (tail < a.length - head && tail < b.length - head && a[a.length - 1 - tail] === b[b.length - 1 - tail])
    tail += 1;
  const middle = edits(a.slice(head, a.length - tail), b.slice(head, b.length - tail));
  const kinds = [...same(head), ...middle, ...same(tail)];
  return numbered(kinds, a, b);
}

/** A value as text that differs only where the value does: keys in order. */
export function textOf(value: Json | undefined): string {
  if (value === undefined) return "";
  return typeof value === "string" ? value : JSON.stringify(ordered(value), null, 2);
}

/** Two values as texts that differ only where they do, too; what is not there is null. */
export function textsOf(before: Json | undefined, after: Json | undefined): [string | null, string | null] {
  const plain = [before, after].every((value) => value === undefined || typeof value === "string");
  const text = (value: Json | undefined) =>
    value === undefined ? null : plain ? (value as string) : JSON.stringify(ordered(value), null, 2);
  return [text(before), text(after)];
}

function ordered(value: Json): Json {
  if (Array.isArray(value)) return value.map(ordered);
  if (typeof value !== "object" || value === null) return value;
  const names = Object.keys(value).sort();
  return Object.fromEntries(names.map((name) => [name, ordered(value[name] ?? null)]));
}

function same(length: number): Line["kind"][] {
  return Array.from({ length }, () => "same" as const);
}

function edits(a: readonly string[], b: readonly string[]): Line["kind"][] {
  const trace = walk(a, b);
  if (trace === null) return [...a.map(() => "gone" as const), ...b.map(() => "new" as const)];
  const found: Line["kind"][] = [];
  let x = a.length;
  let y = b.length;
  for (let depth = trace.length - 1; depth >= 0; depth -= 1) {
    const reach = trace[depth] ?? new Map<number, number>();
    const k = x - y;
    const down = k === -depth || (k !== depth && (reach.get(k - 1) ?? -1) < (reach.get(k + 1) ?? -1));
    const from = down ? k + 1 : k - 1;
    const startX = depth === 0 ? 0 : (reach.get(from) ?? 0);
    const startY = startX - (depth === 0 ? 0 : from);
    while (x > startX && y > startY && x > 0 && y > 0 && a[x - 1] === b[y - 1]) {
      found.push("same");
      x -= 1;
      y -= 1;
    }
    if (depth === 0) break;
    if (down) {
      found.push("new");
      y -= 1;
    } else {
      found.push("gone");
      x -= 1;
    }
  }
  return found.reverse();
}

/** How far each diagonal reaches before every number of edits, until both ends meet; null when that takes too many. */
function walk(a: readonly string[], b: readonly string[]): Map<number, number>[] | null {
  const reach = new Map<number, number>([[1, 0]]);
  const trace: Map<number, number>[] = [];
  for (let depth = 0; depth <= Math.min(a.length + b.length, MOST_EDITS); depth += 1) {
    trace.push(new Map(reach));
    for (let k = -depth; k <= depth; k += 2) {
      const down = k === -depth || (k !== depth && (reach.get(k - 1) ?? -1) < (reach.get(k + 1) ?? -1));
      let x = down ? (reach.get(k + 1) ?? 0) : (reach.get(k - 1) ?? 0) + 1;
      let y = x - k;
      while (x < a.length && y < b.length && a[x] === b[y]) {
        x += 1;
        y += 1;
      }
      reach.set(k, x);
      if (x >= a.length && y >= b.length) return trace;
    }
  }
  return null;
}

function numbered(kinds: readonly Line["kind"][], a: readonly string[], b: readonly string[]): Line[] {
  let x = 0;
  let y = 0;
  return kinds.map((kind) => {
    const before = kind === "new" ? null : (x += 1);
    const after = kind === "gone" ? null : (y += 1);
    const text = before === null ? b[y - 1] : a[x - 1];
    return { kind, text: text ?? "", before, after };
  });
}
