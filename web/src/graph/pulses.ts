/** What is on its way along the lines right now: each handoff moves along its line once. */
import type { Event } from "../api/types";
import type { Shape } from "../model/graph/shape";
import { Cell } from "../model/observable";

/** By line: how many things have gone along it so far; a line is in it while something is under way. */
export type Pulses = ReadonlyMap<string, number>;

export const PULSE_MS = 1_200;
/** Of a burst so many are shown: more would only be noise. */
const MOST = 40;

export class PulseStore {
  readonly cell = new Cell<Pulses>(new Map());
  private lines = new Map<string, string>();
  private jumps = new Map<string, string>();
  private lastDone: string | null = null;
  private count = 0;

  /** What is drawn now: edges of the run by the line that stands for them. */
  setShape(shape: Shape): void {
    this.lines = new Map(shape.edges.flatMap((line) => line.ids.map((id) => [id, line.id] as const)));
    const jumps = shape.edges.filter((line) => line.kind === "jump");
    this.jumps = new Map(jumps.map((line) => [`${line.from}>${line.to}`, line.id]));
  }

  take(events: readonly Event[]): void {
    const moved = new Set<string>();
    for (const event of events) {
      const line = this.lineOf(event);
      if (line !== undefined && moved.size < MOST) moved.add(line);
    }
    if (moved.size > 0) this.start(moved);
  }

  /** Data goes along an edge; a plan goes from the step that is done to the one that begins. */
  private lineOf(event: Event): string | undefined {
    if (event.type === "handoff.sent") return this.lines.get(event.envelope.edgeId);
    if (event.type !== "node.patch") return undefined;
    const { outcome, status } = event.patch as { outcome?: string | null; status?: string };
    if (outcome === "succeeded") this.lastDone = event.nodeId;
    if (status !== "running" || this.lastDone === null) return undefined;
    const from = this.lastDone;
    this.lastDone = null; // it begins once: another attempt comes from nowhere
    return this.jumps.get(`${from}>${event.nodeId}`);
  }

  private start(moved: ReadonlySet<string>): void {
    const begun = new Map(this.cell.get());
    this.count += 1;
    const mine = this.count;
    for (const line of moved) begun.set(line, mine);
    this.cell.set(begun);
    setTimeout(() => this.cell.set(new Map([...this.cell.get()].filter(([, at]) => at !== mine))), PULSE_MS);
  }
}
