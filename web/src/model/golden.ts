/** The golden files that pytest makes and compares (tests/web/golden.py), for tests only. */
import { readdirSync, readFileSync } from "node:fs";
import type { Event, Run } from "../api/types";

export interface Golden {
  name: string;
  runId: string;
  /** Those of each fact, in order: the first list is of fact 1. */
  events: Event[][];
  /** By `seq`; 0 is the run before its first fact. */
  snapshots: Map<number, Run>;
}

interface GoldenFile {
  runId: string;
  events: Event[][];
  snapshots: Record<string, Run>;
}

export function goldens(): Golden[] {
  const folder = process.env["SKELO_GOLDEN"] ?? new URL("golden", import.meta.url).pathname;
  const names = readdirSync(folder).filter((name) => name.endsWith(".json"));
  return names.map((name) => {
    const golden = JSON.parse(readFileSync(`${folder}/${name}`, "utf8")) as GoldenFile;
    const snapshots = Object.entries(golden.snapshots).map(([seq, run]) => [Number(seq), run] as const);
    return { name, runId: golden.runId, events: golden.events, snapshots: new Map(snapshots) };
  });
}

/** The events of facts after `early`, up to `late`. */
export function between(golden: Golden, early: number, late: number): Event[] {
  return golden.events.slice(early, late).flat();
}
