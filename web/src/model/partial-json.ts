/**
 * The texts in JSON that a model is still writing.
 *
 * An answer is an object whose values are mostly texts. While it comes, its texts are read to where it has come, and
 * shown as the texts they are; values that are no texts are shown when the answer is complete.
 */

export interface PartialText {
  name: string;
  text: string;
}

/** The texts so far, by name; null if what comes is no object, and is to be shown as it is. */
export function partialTexts(json: string): PartialText[] | null {
  const start = json.indexOf("{");
  if (start === -1 || json.slice(0, start).trim() !== "") return null;
  const found: PartialText[] = [];
  const reader = new Reader(json, start + 1);
  while (!reader.atEnd) {
    const name = reader.nextString();
    if (name === null || !reader.skip(":")) break;
    if (reader.peek() === '"') found.push({ name, text: reader.nextString() ?? "" });
    else reader.skipValue();
    if (!reader.skip(",")) break;
  }
  return found;
}

const ESCAPES: Record<string, string> = { n: "\n", t: "\t", r: "\r", b: "\b", f: "\f" };

class Reader {
  constructor(
    private readonly json: string,
    private at: number,
  ) {}

  get atEnd(): boolean {
    return this.at >= this.json.length;
  }

  peek(): string | undefined {
    while (/\s/.test(this.json[this.at] ?? "")) this.at += 1;
    return this.json[this.at];
  }

  skip(mark: string): boolean {
    if (this.peek() !== mark) return false;
    this.at += 1;
    return true;
  }

  /** A text up to its end, or as far as it has come; null if something else follows. */
  nextString(): string | null {
    if (!this.skip('"')) return null;
    let text = "";
    for (; !this.atEnd; this.at += 1) {
      const character = this.json[this.at] ?? "";
      if (character === '"') {
        this.at += 1;
        return text;
      }
      if (character !== "\\") {
        text += character;
        continue;
      }
      const escape = this.json[this.at + 1];
      if (escape === undefined) break;
      if (escape === "u") {
        const digits = this.json.slice(this.at + 2, this.at + 6);
        if (digits.length < 4) break;
        text += String.fromCharCode(Number.parseInt(digits, 16));
        this.at += 5;
      } else {
        text += ESCAPES[escape] ?? escape;
        this.at += 1;
      }
    }
    this.at = this.json.length;
    return text;
  }

  /** Go past a number, a word, a list or an object. */
  skipValue(): void {
    let depth = 0;
    for (let next = this.peek(); next !== undefined; next = this.peek()) {
      if (next === '"') {
        this.nextString();
        continue;
      }
      if (depth === 0 && (next === "," || next === "}" || next === "]")) return;
      if (next === "{" || next === "[") depth += 1;
      if (next === "}" || next === "]") depth -= 1;
      this.at += 1;
    }
  }
}
