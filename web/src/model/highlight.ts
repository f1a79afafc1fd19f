/** Colours for code, good enough to read it by: comments, texts, numbers and the words that most languages have. */

export type Kind = "plain" | "comment" | "text" | "number" | "word" | "name";

export interface Piece {
  kind: Kind;
  text: string;
}

const WORDS = new Set(
  (
    "and as assert async await break case catch class const continue def default del do elif else enum except export " +
    "extends false False finally fn for from func function global if impl implements import in interface is lambda let " +
    "match mod module mut new nil None nonlocal not null or package pass private protected pub public raise return self " +
    "static struct super switch this throw trait true True try type typeof undefined use var void where while with yield"
  ).split(" "),
);
const HASH = new Set([
  "py",
  "sh",
  "bash",
  "yaml",
  "yml",
  "toml",
  "rb",
  "r",
  "pl",
  "cfg",
  "ini",
  "mk",
  "makefile",
  "dockerfile",
]);
const SLASHES = /\/\/.*|\/\*.*?(?:\*\/|$)/.source;
const REST =
  /("(?:\\.|[^"\\])*"?|'(?:\\.|[^'\\])*'?|`(?:\\.|[^`\\])*`?)|(\b\d[\d_]*(?:\.\d+)?(?:[eE][+-]?\d+)?\b)|([A-Za-z_][\w]*)(\s*\()?/
    .source;

/** Long lines are data, not code: they stay as they are. */
const LONGEST = 2_000;

/** The language of a file by its name. */
export function languageOf(name: string): string {
  return (name.split(".").at(-1) ?? "").toLowerCase();
}

/** One line of code in pieces. A text or a comment that began on an earlier line is not known here. */
export function highlight(line: string, language: string): Piece[] {
  if (line.length > LONGEST || ["txt", "md", "csv", "log", ""].includes(language))
    return [{ kind: "plain", text: line }];
  const comment = HASH.has(language) ? "#.*" : language === "sql" || language === "lua" ? "--.*" : SLASHES;
  const pattern = new RegExp(`(${comment})|${REST}`, "g");
  const found: Piece[] = [];
  let at = 0;
  for (const match of line.matchAll(pattern)) {
    const [whole, isComment, isText, isNumber, word, call] = match;
    add(found, "plain", line.slice(at, match.index));
    at = match.index + whole.length;
    if (isComment !== undefined) add(found, "comment", isComment);
    else if (isText !== undefined) add(found, "text", isText);
    else if (isNumber !== undefined) add(found, "number", isNumber);
    else if (word !== undefined) {
      add(found, WORDS.has(word) ? "word" : call !== undefined ? "name" : "plain", word);
      add(found, "plain", call ?? "");
    }
  }
  add(found, "plain", line.slice(at));
  return found;
}

function add(found: Piece[], kind: Kind, text: string): void {
  if (text === "") return;
  const last = found.at(-1);
  if (last?.kind === kind) last.text += text;
  else found.push({ kind, text });
}
