/**
 * Answers to approvals that a person has begun and not sent.
 *
 * They are kept in the storage of the tab: a click elsewhere or a reload does not lose them, and neither does an answer
 * that comes from another tab first. They go when they are sent or discarded, or with the tab.
 */
import { isObject, type Json } from "../api/json";
import type { Choice } from "./approval-kinds";
import { Cell, type Observable } from "./observable";

export interface UnsentAnswer {
  runId: string;
  /** The first line of the question. */
  question: string;
  /** The answer whose form is open; null after a step back. */
  status: Choice | null;
  /** What was filled in, if anything was. */
  values?: Json;
  reason: string;
}

export type UnsentAnswers = ReadonlyMap<string, UnsentAnswer>;

const KEY = "skelo:unsent-answers";

export class UnsentAnswerStore implements Observable<UnsentAnswers> {
  private readonly cell: Cell<UnsentAnswers>;
  readonly get: () => UnsentAnswers;
  readonly subscribe: (listener: () => void) => () => void;

  constructor(private readonly storage: Pick<Storage, "getItem" | "setItem">) {
    this.cell = new Cell<UnsentAnswers>(parsed(storage.getItem(KEY)));
    this.get = this.cell.get;
    this.subscribe = this.cell.subscribe;
  }

  keep(approvalId: string, answer: UnsentAnswer): void {
    this.write(new Map(this.get()).set(approvalId, answer));
  }

  drop(approvalId: string): void {
    if (!this.get().has(approvalId)) return;
    const rest = new Map(this.get());
    rest.delete(approvalId);
    this.write(rest);
  }

  private write(answers: UnsentAnswers): void {
    this.cell.set(answers);
    try {
      this.storage.setItem(KEY, JSON.stringify([...answers]));
    } catch (error) {
      console.info("an answer that was begun is too large to survive a reload", error);
    }
  }
}

/** What was stored; nothing if it cannot be read, as after an update of the dashboard. */
function parsed(text: string | null): UnsentAnswers {
  try {
    const entries = JSON.parse(text ?? "[]") as Json;
    if (!Array.isArray(entries)) return new Map();
    return new Map(
      entries.flatMap((entry): [string, UnsentAnswer][] => {
        const [id, answer] = Array.isArray(entry) ? entry : [];
        return typeof id === "string" && isUnsentAnswer(answer) ? [[id, answer]] : [];
      }),
    );
  } catch {
    return new Map();
  }
}

function isUnsentAnswer(value: Json | undefined): value is UnsentAnswer & Json {
  return isObject(value) && typeof value["runId"] === "string" && typeof value["reason"] === "string";
}
