/** Items of a foreach named by index: numbers and ranges, such as `3, 7-9`. */

const MOST = 10_000;

/** The indexes in order, each once; null for a text that names none, or not in this way. */
export function indexesOf(text: string): number[] | null {
  const found = new Set<number>();
  for (const part of text.split(",")) {
    const named = /^\s*(\d{1,5})\s*(?:-\s*(\d{1,5})\s*)?$/.exec(part);
    if (named === null) return null;
    const first = Number(named[1]);
    const last = Number(named[2] ?? named[1]);
    if (first > last || last >= MOST) return null;
    for (let index = first; index <= last; index += 1) found.add(index);
  }
  return [...found].toSorted((a, b) => a - b);
}
