/**
 * Comments on the lines of a diff: drafts until they are sent, all in one message.
 *
 * They are kept in the storage of the tab, as answers that were begun are. A comment remembers the text of its lines, so
 * that it can be told when they have changed.
 */
import { isObject, type Json } from "../api/json";
import { Cell, type Observable } from "./observable";
import { parseDiff } from "./unified-diff";

export interface Comment {
  id: string;
  file: string;
  /** The first and the last line, of the file as it is after the change. */
  from: number;
  to: number;
  /** The text of these lines when the comment was written. */
  lines: readonly string[];
  text: string;
  /** How it left: to the node, in the reason of a denial, or by the clipboard; null for a draft. */
  sent: "node" | "denial" | "clipboard" | null;
}

export type NewComment = Omit<Comment, "id" | "sent">;

const KEY = "skelo:review";
type Comments = ReadonlyMap<string, readonly Comment[]>;

/** The comments of each node, by `reviewKey`. */
export class ReviewStore implements Observable<Comments> {
  private readonly cell: Cell<Comments>;
  readonly get: () => Comments;
  readonly subscribe: (listener: () => void) => () => void;

  constructor(private readonly storage: Pick<Storage, "getItem" | "setItem">) {
    this.cell = new Cell<Comments>(parsed(storage.getItem(KEY)));
    this.get = this.cell.get;
    this.subscribe = this.cell.subscribe;
  }

  add(of: string, comment: NewComment): void {
    const known = this.of(of);
    const id = String(Math.max(0, ...known.map((one) => Number(one.id))) + 1);
    this.write(of, [...known, { ...comment, id, sent: null }]);
  }

  remove(of: string, id: string): void {
    this.write(
      of,
      this.of(of).filter((one) => one.id !== id),
    );
  }

  /** Marks the drafts as sent. */
  send(of: string, how: Exclude<Comment["sent"], null>): void {
    this.write(
      of,
      this.of(of).map((one) => (one.sent === null ? { ...one, sent: how } : one)),
    );
  }

  removeSent(of: string): void {
    this.write(
      of,
      this.of(of).filter((one) => one.sent === null),
    );
  }

  private of(of: string): readonly Comment[] {
    return this.get().get(of) ?? [];
  }

  private write(of: string, comments: readonly Comment[]): void {
    const all = new Map(this.get()).set(of, comments);
    if (comments.length === 0) all.delete(of);
    this.cell.set(all);
    try {
      this.storage.setItem(KEY, JSON.stringify([...all]));
    } catch (error) {
      console.info("the comments are too large to survive a reload", error);
    }
  }
}

export function reviewKey(runId: string, nodeId: string): string {
  return `${runId}/${nodeId}`;
}

/** What was stored; nothing if it cannot be read, as after an update of the dashboard. */
function parsed(stored: string | null): Comments {
  try {
    const entries = JSON.parse(stored ?? "[]") as Json;
    if (!Array.isArray(entries)) return new Map();
    return new Map(
      entries.flatMap((entry): [string, readonly Comment[]][] => {
        const [of, comments] = Array.isArray(entry) ? entry : [];
        return typeof of === "string" && Array.isArray(comments) ? [[of, comments.filter(isComment)]] : [];
      }),
    );
  } catch {
    return new Map();
  }
}

function isComment(value: Json): value is Json & Comment {
  return isObject(value) && typeof value["id"] === "string" && Array.isArray(value["lines"]);
}

/** Where a comment is, as `file:line` or `file:from-to`. */
export function placeOfComment({ file, from, to }: Pick<Comment, "file" | "from" | "to">): string {
  return from === to ? `${file}:${from}` : `${file}:${from}-${to}`;
}

/** The drafts as one message: file, lines and their text before each comment. */
export function messageOf(comments: readonly Comment[]): string {
  const parts = comments.map((one) => {
    const quoted = one.lines.map((line) => `> ${line}`).join("\n");
    return `${placeOfComment(one)}\n${quoted}\n${one.text}`;
  });
  return ["Comments on your changes:", ...parts].join("\n\n");
}

/** The lines of each file after the change, as far as the diffs show them. */
export type ShownLines = ReadonlyMap<string, ReadonlyMap<number, string>>;

export function shownLines(diffs: readonly string[]): ShownLines {
  const files = new Map<string, Map<number, string>>();
  for (const file of diffs.flatMap(parseDiff)) {
    const lines = files.get(file.name) ?? new Map<number, string>();
    files.set(file.name, lines);
    for (const { after } of file.hunks.flatMap((hunk) => hunk.rows)) {
      if (after !== null) lines.set(after.number, after.text);
    }
  }
  return files;
}

/** True if the lines are not what they were when the comment was written. */
export function isOutdated(comment: Comment, shown: ShownLines): boolean {
  const lines = shown.get(comment.file);
  return comment.lines.some((line, at) => lines?.get(comment.from + at) !== line);
}
