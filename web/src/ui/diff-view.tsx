/** A unified diff, its two sides beside each other and coloured; where it is allowed, lines can be commented on. */
import { type KeyboardEvent, type ReactNode, useMemo, useState } from "react";
import { languageOf } from "../model/highlight";
import { type Comment, type NewComment, placeOfComment } from "../model/review";
import { type FileDiff, type Hunk, parseDiff, type Row, type Side } from "../model/unified-diff";
import { Button } from "./button";
import { Code, CodeLine } from "./code";
import { Icon } from "./icon";
import "./diff-view.css";

/** The comments on a diff, and how they come and go. */
export interface Comments {
  drafts: readonly Comment[];
  add: (comment: NewComment) => void;
  remove: (id: string) => void;
}

export function DiffView({ text, comments = null }: { text: string; comments?: Comments | null }) {
  const files = useMemo(() => parseDiff(text), [text]);
  if (files.length === 0) return <Code text={text} language="diff" label="Diff" />;
  return (
    <div className="diff">
      {files.map((file, at) => (
        <File key={`${at} ${file.name}`} file={file} comments={comments} />
      ))}
    </div>
  );
}

function File({ file, comments }: { file: FileDiff; comments: Comments | null }) {
  return (
    <section className="diff-file" aria-label={`Changes of ${file.name}`}>
      <header className="diff-head">
        <Icon name="file" size={14} />
        <code>{file.name}</code>
        <span className="diff-added number">+{file.added}</span>
        <span className="diff-removed number">−{file.removed}</span>
      </header>
      <div className="diff-scroll" tabIndex={0} role="group" aria-label={`Lines of ${file.name}`}>
        <table className="diff-table">
          <colgroup>
            <col className="diff-col-number" />
            <col />
            <col className="diff-col-number" />
            <col />
          </colgroup>
          <thead className="unseen">
            <tr>
              <th scope="col">Line before</th>
              <th scope="col">Before</th>
              <th scope="col">Line after</th>
              <th scope="col">After</th>
            </tr>
          </thead>
          {file.hunks.map((hunk) => (
            <Lines key={hunk.head} hunk={hunk} file={file.name} comments={comments} />
          ))}
        </table>
      </div>
    </section>
  );
}

/** The lines that a new comment is about; its box stays below the line `at`, so that it keeps the focus. */
interface Range {
  from: number;
  to: number;
  at: number;
}

function Lines({ hunk, file, comments }: { hunk: Hunk; file: string; comments: Comments | null }) {
  const [picked, setPicked] = useState<Range | null>(null);
  const language = languageOf(file);
  const after = hunk.rows.flatMap((row) => (row.after === null ? [] : [row.after]));
  const last = after.at(-1)?.number ?? 0;
  const pick = (line: number, extend: boolean) =>
    setPicked((before) =>
      extend && before !== null
        ? { ...before, from: Math.min(before.from, line), to: Math.max(before.from, line) }
        : { from: line, to: line, at: line },
    );
  const add = ({ from, to }: Range, text: string) => {
    const lines = after.filter((side) => side.number >= from && side.number <= to).map((side) => side.text);
    comments?.add({ file, from, to, lines, text });
    setPicked(null);
  };
  return (
    <tbody>
      <tr>
        <td className="diff-hunk" colSpan={4}>
          {hunk.head}
        </td>
      </tr>
      {hunk.rows.flatMap((row, at) => {
        const line = row.after?.number ?? null;
        const isPicked = picked !== null && line !== null && line >= picked.from && line <= picked.to;
        const drawn = [
          <tr key={at} className={`${row.changed ? "diff-changed" : ""} ${isPicked ? "diff-picked" : ""}`}>
            <Half side={row.before} row={row} which="gone" language={language} />
            <Half side={row.after} row={row} which="new" language={language} onPick={comments && pick} />
          </tr>,
        ];
        if (comments === null || line === null) return drawn;
        for (const one of comments.drafts.filter((draft) => draft.file === file && draft.to === line)) {
          drawn.push(
            <Beside key={`draft ${one.id}`}>
              <Draft comment={one} remove={() => comments.remove(one.id)} />
            </Beside>,
          );
        }
        if (line === picked?.at) {
          drawn.push(
            <Beside key="picked">
              <NewCommentBox range={picked} last={last} onRange={setPicked} onAdd={add} />
            </Beside>,
          );
        }
        return drawn;
      })}
    </tbody>
  );
}

function Beside({ children }: { children: ReactNode }) {
  return (
    <tr>
      <td colSpan={4}>{children}</td>
    </tr>
  );
}

interface HalfProps {
  side: Side | null;
  row: Row;
  which: "gone" | "new";
  language: string;
  onPick?: ((line: number, extend: boolean) => void) | null;
}

function Half({ side, row, which, language, onPick = null }: HalfProps) {
  const state = side === null ? "diff-none" : row.changed ? `diff-${which}` : "";
  const look = which === "gone" ? `diff-before ${state}` : state;
  return (
    <>
      <td className={`diff-number number ${look}`}>
        {side !== null && onPick !== null ? (
          <button
            type="button"
            aria-label={`Comment on line ${side.number}`}
            title="Comment on this line; with Shift, on all lines up to it"
            onClick={(event) => onPick(side.number, event.shiftKey)}
          >
            {side.number}
          </button>
        ) : (
          side?.number
        )}
      </td>
      <td className={`diff-text ${look}`}>{side !== null && <CodeLine text={side.text} language={language} />}</td>
    </>
  );
}

function Draft({ comment, remove }: { comment: Comment; remove: () => void }) {
  return (
    <div className="diff-comment diff-draft" role="note" aria-label={`Draft on ${placeOfComment(comment)}`}>
      <p>{comment.text}</p>
      <div className="diff-comment-end">
        <span className="muted small">Draft, not sent</span>
        <Button look="quiet" onClick={remove}>
          Discard
        </Button>
      </div>
    </div>
  );
}

interface NewCommentProps {
  range: Range;
  /** The last line that the comment may be about. */
  last: number;
  onRange: (range: Range | null) => void;
  onAdd: (range: Range, text: string) => void;
}

function NewCommentBox({ range, last, onRange, onAdd }: NewCommentProps) {
  const [text, setText] = useState("");
  const { from, to } = range;
  const place = from === to ? `line ${from}` : `lines ${from} to ${to}`;
  const add = () => text.trim() !== "" && onAdd(range, text.trim());
  const onKey = (event: KeyboardEvent) => {
    if (event.key === "Escape") {
      event.stopPropagation();
      onRange(null);
    } else if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      add();
    }
  };
  return (
    <div className="diff-comment" onKeyDown={onKey}>
      <textarea
        aria-label={`Comment on ${place}`}
        value={text}
        rows={3}
        autoFocus
        onChange={(event) => setText(event.target.value)}
      />
      <div className="diff-comment-end">
        <label className="small">
          Up to line{" "}
          <input
            className="input diff-to"
            type="number"
            min={from}
            max={last}
            value={to}
            onChange={(event) => {
              const line = Number(event.target.value);
              if (line >= from && line <= last) onRange({ ...range, to: line });
            }}
          />
        </label>
        <Button look="quiet" onClick={() => onRange(null)}>
          Cancel
        </Button>
        <Button look="primary" disabled={text.trim() === ""} onClick={add}>
          Add comment
        </Button>
      </div>
    </div>
  );
}
