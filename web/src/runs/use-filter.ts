/** What the list is narrowed to, kept in the address: a filtered list can be linked to, and is there after a reload. */
import { useMemo } from "react";
import { setSearch, useSearch } from "../navigation/router";
import type { Ending, RunStatus } from "../api/types";
import type { Filter } from "../model/listing";

export const STATUSES: readonly RunStatus[] = ["running", "paused", "completed", "failed", "queued"];
export const ENDINGS: readonly Ending[] = ["failed", "cancelled", "budget_exceeded", "denied", "escalated"];

export function useFilter(): Filter {
  const search = useSearch();
  const text = search.get("q") ?? "";
  const status = oneOf(STATUSES, search.get("status"));
  const ending = oneOf(ENDINGS, search.get("ending"));
  const workflow = search.get("workflow");
  return useMemo(() => ({ text, status, ending, workflow }), [text, status, ending, workflow]);
}

export function changeFilter(change: Partial<Record<"q" | "status" | "ending" | "workflow", string | null>>): void {
  setSearch(change);
}

export function clearFilter(): void {
  changeFilter({ q: null, status: null, ending: null, workflow: null });
}

function oneOf<T extends string>(known: readonly T[], text: string | null): T | null {
  return known.find((one) => one === text) ?? null;
}
