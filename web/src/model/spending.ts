/** What a run has used, by node, mode and model, beside its estimate. */
import type { Explanation, Range } from "../api/explanation";
import { isObject } from "../api/json";
import type { Fact, Node } from "../api/types";
import { dataOf, number, object, text } from "./facts";
import { MODE_NAMES, modeOf } from "./labels";

export interface Spent {
  attempts: number;
  tokensIn: number;
  tokensOut: number;
  costUsd: number;
  workMs: number;
}

export interface Line extends Spent {
  key: string;
  name: string;
}

export interface ModeLine extends Line {
  expected: Range | null;
}

export interface Spending {
  total: Spent;
  expected: Range | null;
  byNode: Line[];
  byMode: ModeLine[];
  byModel: Line[];
}

const NANO = 1e9;
const nothing = (): Spent => ({ attempts: 0, tokensIn: 0, tokensOut: 0, costUsd: 0, workMs: 0 });

export function spendingOf(facts: readonly Fact[], nodes: readonly Node[], explained: Explanation | null): Spending {
  const known = new Map(nodes.map((node) => [node.key, node]));
  const models = new Map((explained?.blocks ?? []).map((block) => [block.id, modelOf(block.experts[0])]));
  const byNode = new Map<string, Line>();
  const byMode = new Map<string, Line>();
  const byModel = new Map<string, Line>();
  const total = nothing();
  for (const fact of facts) {
    const receipt = object(dataOf(fact), "receipt");
    if (receipt["metrics"] === undefined) continue;
    const key = text(dataOf(fact), "node");
    const one = spentBy(fact);
    const node = known.get(key);
    const mode = node === undefined ? "deterministic" : modeOf(node);
    add(total, one);
    add(line(byNode, key, node?.label ?? key), one);
    add(line(byMode, mode, MODE_NAMES[mode]), one);
    const model = models.get(key);
    if (model !== undefined && mode === "ai") add(line(byModel, model, model), one);
  }
  return {
    total,
    expected: explained?.totals.all ?? null,
    byNode: sorted(byNode),
    byMode: sorted(byMode).map((one) => ({ ...one, expected: explained?.totals.byMode[one.key] ?? null })),
    byModel: sorted(byModel),
  };
}

function spentBy(fact: Fact): Spent {
  const data = dataOf(fact);
  const metrics = object(object(data, "receipt"), "metrics");
  const spent = object(data, "spent");
  return {
    attempts: 1,
    tokensIn: number(metrics, "tokens_in"),
    tokensOut: number(metrics, "tokens_out"),
    costUsd: (number(spent, "costNanousd") + number(spent, "toolNanousd")) / NANO,
    workMs: number(metrics, "wall_ms"),
  };
}

function modelOf(expert: unknown): string | undefined {
  const found = expert as Parameters<typeof isObject>[0];
  if (!isObject(found)) return undefined;
  const model = text(found, "model");
  return model === "" ? text(found, "provider") || undefined : model;
}

function line(lines: Map<string, Line>, key: string, name: string): Line {
  const known = lines.get(key) ?? { key, name, ...nothing() };
  lines.set(key, known);
  return known;
}

function add(to: Spent, one: Spent): void {
  to.attempts += one.attempts;
  to.tokensIn += one.tokensIn;
  to.tokensOut += one.tokensOut;
  to.costUsd += one.costUsd;
  to.workMs += one.workMs;
}

/** The dearest first; then what took most tokens, then most time. */
function sorted(lines: Map<string, Line>): Line[] {
  const tokens = (one: Spent) => one.tokensIn + one.tokensOut;
  return [...lines.values()].sort((a, b) => b.costUsd - a.costUsd || tokens(b) - tokens(a) || b.workMs - a.workMs);
}
