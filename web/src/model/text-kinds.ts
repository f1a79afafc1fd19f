/** What a text is, found from the text itself: how it is shown depends on it. */
import { isObject, type Json, type JsonObject } from "../api/json";
import { isDiff } from "./approval-kinds";
import { parseCsv } from "./csv";

export type TextKind = "diff" | "markdown" | "csv" | "json" | "plain";

export function textKind(text: string): TextKind {
  if (isDiff(text)) return "diff";
  if (parsedJson(text) !== null) return "json";
  if (isMarkdown(text)) return "markdown";
  return isCsv(text) ? "csv" : "plain";
}

const MARKS: readonly RegExp[] = [
  /^#{1,6} \S/m,
  /^(```|~~~)/m,
  /^ {0,3}[-*+] \S.*\n+ {0,3}[-*+] \S/m,
  /^ {0,3}\d+[.)] \S.*\n+ {0,3}\d+[.)] \S/m,
  /\*\*[^*\n]+\*\*/,
  /\[[^\]\n]+\]\([^)\s]+\)/,
  /^\|.+\|\s*\n\|[ :|-]+\|\s*$/m,
  /^> \S/m,
  /(^|\s)`[^`\n]+`/,
];

/** True if a text has marks of Markdown; one without any looks the same as plain text. */
export function isMarkdown(text: string): boolean {
  return MARKS.some((mark) => mark.test(text));
}

/** True for at least two lines of at least two columns, the same number in each. */
function isCsv(text: string): boolean {
  const rows = parseCsv(text.slice(0, 20_000)).slice(0, 20);
  const whole = text.length > 20_000 ? rows.slice(0, -1) : rows;
  const columns = whole[0]?.length ?? 0;
  return whole.length >= 2 && columns >= 2 && whole.every((row) => row.length === columns && row[0] !== undefined);
}

/** The object or list that a text is; null for any other text. */
export function parsedJson(text: string): JsonObject | Json[] | null {
  if (!/^\s*[[{]/.test(text)) return null;
  try {
    const value = JSON.parse(text) as Json;
    return isObject(value) || Array.isArray(value) ? value : null;
  } catch {
    return null; // a text that only begins like JSON
  }
}
