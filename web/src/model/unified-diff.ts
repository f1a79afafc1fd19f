/** A unified diff taken apart, for showing its two sides beside each other. */

export interface Side {
  number: number;
  text: string;
}

/** A line on each side; one of them is null where a line is only on the other. */
export interface Row {
  before: Side | null;
  after: Side | null;
  changed: boolean;
}

export interface Hunk {
  head: string;
  rows: readonly Row[];
}

export interface FileDiff {
  /** The file's name after the change; of a file that is gone, the one before. */
  name: string;
  added: number;
  removed: number;
  hunks: readonly Hunk[];
}

const HUNK = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@/;

/** The files of a unified diff; text that is none gives none. */
export function parseDiff(text: string): FileDiff[] {
  const files: Builder[] = [];
  let before = "";
  for (const line of text.replace(/\n$/, "").split("\n")) {
    const file = files.at(-1);
    const hunk = HUNK.exec(line);
    if (file?.takes(line) === true) file.line(line);
    else if (line.startsWith("diff ")) file?.end();
    else if (hunk !== null) (file ?? started(files, before)).hunk(line, hunk.slice(1));
    else if (line.startsWith("--- ")) before = nameIn(line);
    else if (line.startsWith("+++ ")) started(files, nameIn(line) === "/dev/null" ? before : nameIn(line));
  }
  return files.map((file) => file.done()).filter((file) => file.hunks.length > 0);
}

function started(files: Builder[], name: string): Builder {
  const file = new Builder(name);
  files.push(file);
  return file;
}

function nameIn(line: string): string {
  const name = (line.slice(4).split("\t")[0] ?? "").trim();
  return name.replace(/^[ab]\//, "");
}

class Builder {
  private readonly hunks: { head: string; rows: Row[] }[] = [];
  private gone: Side[] = [];
  private fresh: Side[] = [];
  private counts = { added: 0, removed: 0 };
  private left = { at: 0, end: 0 };
  private right = { at: 0, end: 0 };

  constructor(private readonly name: string) {}

  /**
   * Whether the line belongs to the hunk: as long as its head has promised more, lines may look like anything that lines
   * of a hunk look like. Models count badly, so more lines than promised are taken, as far as they are no heads.
   */
  takes(line: string): boolean {
    if (this.left.at < this.left.end || this.right.at < this.right.end) return /^(?:[ +\-\\]|$)/.test(line);
    return this.hunks.length > 0 && /^[ +-]/.test(line) && !/^(?:--- |\+\+\+ )/.test(line);
  }

  hunk(head: string, [left, lefts, right, rights]: readonly (string | undefined)[]): void {
    this.flush();
    this.hunks.push({ head, rows: [] });
    this.left = { at: Number(left), end: Number(left) + Number(lefts ?? 1) };
    this.right = { at: Number(right), end: Number(right) + Number(rights ?? 1) };
  }

  line(line: string): void {
    const text = line.slice(1);
    if (line.startsWith("-")) {
      this.counts.removed += 1;
      this.gone.push({ number: this.left.at++, text });
    } else if (line.startsWith("+")) {
      this.counts.added += 1;
      this.fresh.push({ number: this.right.at++, text });
    } else if (!line.startsWith("\\")) {
      this.flush();
      const row = {
        before: { number: this.left.at++, text },
        after: { number: this.right.at++, text },
        changed: false,
      };
      this.hunks.at(-1)?.rows.push(row);
    }
  }

  /** The hunk ends here, even if its header announced more lines. */
  end(): void {
    this.left.end = this.left.at;
    this.right.end = this.right.at;
  }

  done(): FileDiff {
    this.flush();
    return { name: this.name, ...this.counts, hunks: this.hunks };
  }

  /** Lines that went and lines that came stand beside each other. */
  private flush(): void {
    const rows = this.hunks.at(-1)?.rows;
    for (let at = 0; at < Math.max(this.gone.length, this.fresh.length); at++) {
      rows?.push({ before: this.gone[at] ?? null, after: this.fresh[at] ?? null, changed: true });
    }
    this.gone = [];
    this.fresh = [];
  }
}
