/** Finding facts: by type, by node, and by any text in them, fast enough to follow typing. */
import type { Fact } from "../api/types";

const texts = new WeakMap<Fact, string>();

function searchable(fact: Fact): string {
  const known = texts.get(fact);
  if (known !== undefined) return known;
  const text = `${fact.seq} ${fact.type} ${JSON.stringify(fact.data ?? null)} ${fact.nodeId ?? ""}`.toLowerCase();
  texts.set(fact, text);
  return text;
}

/** Those that have every word of the query, of one type if one is given. */
export function search(facts: readonly Fact[], query: string, type: string | null): readonly Fact[] {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0 && type === null) return facts;
  return facts.filter(
    (fact) => (type === null || fact.type === type) && words.every((word) => searchable(fact).includes(word)),
  );
}

/** The types that occur, each with how often, most first. */
export function typesOf(facts: readonly Fact[]): [string, number][] {
  const found = new Map<string, number>();
  for (const fact of facts) found.set(fact.type, (found.get(fact.type) ?? 0) + 1);
  return [...found].sort((a, b) => b[1] - a[1] || a[0].localeCompare(b[0]));
}
