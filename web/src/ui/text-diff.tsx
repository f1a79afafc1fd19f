/** Two texts and where they part, line by line; long stretches that are the same are left out. */
import { useMemo } from "react";
import { type Line, lineDiff } from "../model/line-diff";
import "./text-diff.css";

/** So many equal lines are shown around each change. */
const AROUND = 3;
const MARKS = { same: " ", gone: "−", new: "+" } as const;
const SPOKEN = { same: "", gone: "removed: ", new: "added: " } as const;

/** A side that is null is not there. */
export function TextDiff({ before, after }: { before: string | null; after: string | null }) {
  const lines = useMemo(() => shortened(lineDiff(before, after)), [before, after]);
  return (
    <div className="text-diff" role="group" aria-label="Differences" tabIndex={0}>
      {lines.map((line) =>
        typeof line === "number" ? (
          <div className="text-diff-gap" key={`gap ${line}`}>
            …
          </div>
        ) : (
          <DiffLine key={`${line.before} ${line.after}`} line={line} />
        ),
      )}
    </div>
  );
}

/** A unified diff, coloured. */
export function UnifiedDiff({ text }: { text: string }) {
  return (
    <div className="text-diff" role="group" aria-label="Diff" tabIndex={0}>
      {text.split("\n").map((line, at) => (
        <pre key={`${at} ${line}`} className={`text-diff-line text-diff-${kindOf(line)}`}>
          {line === "" ? " " : line}
        </pre>
      ))}
    </div>
  );
}

function kindOf(line: string): string {
  if (/^(diff |index |--- |\+\+\+ )/.test(line)) return "head";
  if (line.startsWith("@@")) return "hunk";
  return line.startsWith("+") ? "new" : line.startsWith("-") ? "gone" : "same";
}

function DiffLine({ line }: { line: Line }) {
  return (
    <div className={`text-diff-line text-diff-numbered text-diff-${line.kind}`}>
      <span className="text-diff-number" aria-hidden="true">
        {line.before}
      </span>
      <span className="text-diff-number" aria-hidden="true">
        {line.after}
      </span>
      <span aria-hidden="true">{MARKS[line.kind]}</span>
      <pre>
        <span className="unseen">{SPOKEN[line.kind]}</span>
        {line.text}
      </pre>
    </div>
  );
}

function shortened(lines: readonly Line[]): (Line | number)[] {
  const near = new Set<number>();
  for (const [at, line] of lines.entries()) {
    if (line.kind !== "same") for (let by = -AROUND; by <= AROUND; by += 1) near.add(at + by);
  }
  const found: (Line | number)[] = [];
  for (const [at, line] of lines.entries()) {
    if (near.has(at)) found.push(line);
    else if (typeof found.at(-1) !== "number") found.push(at);
  }
  return found;
}
