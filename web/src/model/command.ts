/** The command that starts a run with the same inputs in a shell. */
import type { JsonObject } from "../api/json";

export function commandOf(path: string, inputs: JsonObject): string {
  const given = Object.entries(inputs).map(([name, value]) => {
    const text = typeof value === "string" ? value : JSON.stringify(value);
    return `--input ${quoted(`${name}=${text}`)}`;
  });
  return ["skelo run", quoted(path), ...given].join(" ");
}

/** A word as a POSIX shell takes it literally. */
function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
