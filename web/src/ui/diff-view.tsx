/** A unified diff, its two sides beside each other and coloured; where it is allowed, a line can be commented on. */
import { useMemo, useState } from "react";
import { languageOf } from "../model/highlight";
import { type FileDiff, type Hunk, parseDiff, type Row, type Side } from "../model/unified-diff";
import { Button } from "./button";
import { Code, CodeLine } from "./code";
import { Icon } from "./icon";
import "./diff-view.css";

/** Says something about a line of the new file; null where nobody would hear it. */
export type OnComment = ((file: string, line: number, text: string) => Promise<void>) | null;

export function DiffView({ text, onComment = null }: { text: string; onComment?: OnComment }) {
  const files = useMemo(() => parseDiff(text), [text]);
  if (files.length === 0) return <Code text={text} language="diff" label="Diff" />;
  return (
    <div className="diff">
      {files.map((file, at) => (
        <File key={`${at} ${file.name}`} file={file} onComment={onComment} />
      ))}
    </div>
  );
}

function File({ file, onComment }: { file: FileDiff; onComment: OnComment }) {
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
            <Lines key={hunk.head} hunk={hunk} file={file.name} onComment={onComment} />
          ))}
        </table>
      </div>
    </section>
  );
}

function Lines({ hunk, file, onComment }: { hunk: Hunk; file: string; onComment: OnComment }) {
  const [commented, setCommented] = useState<number | null>(null);
  const language = languageOf(file);
  return (
    <tbody>
      <tr>
        <td className="diff-hunk" colSpan={4}>
          {hunk.head}
        </td>
      </tr>
      {hunk.rows.flatMap((row, at) => {
        const line = row.after?.number ?? null;
        const drawn = [
          <tr key={at} className={row.changed ? "diff-changed" : ""}>
            <Half side={row.before} row={row} which="gone" language={language} />
            <Half side={row.after} row={row} which="new" language={language} onPick={onComment && setCommented} />
          </tr>,
        ];
        if (onComment !== null && line !== null && line === commented) {
          const say = (text: string) => onComment(file, line, text).then(() => setCommented(null));
          drawn.push(
            <tr key={`comment ${at}`}>
              <td colSpan={4}>
                <Comment line={line} say={say} close={() => setCommented(null)} />
              </td>
            </tr>,
          );
        }
        return drawn;
      })}
    </tbody>
  );
}

interface HalfProps {
  side: Side | null;
  row: Row;
  which: "gone" | "new";
  language: string;
  onPick?: ((line: number) => void) | null;
}

function Half({ side, row, which, language, onPick = null }: HalfProps) {
  const look = side === null ? "diff-none" : row.changed ? `diff-${which}` : "";
  return (
    <>
      <td className={`diff-number number ${look}`}>
        {side !== null && onPick !== null ? (
          <button type="button" aria-label={`Comment on line ${side.number}`} onClick={() => onPick(side.number)}>
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

function Comment(props: { line: number; say: (text: string) => Promise<void>; close: () => void }) {
  const [text, setText] = useState("");
  const [busy, setBusy] = useState(false);
  const send = () => {
    setBusy(true);
    void props.say(text.trim()).finally(() => setBusy(false));
  };
  return (
    <div className="diff-comment">
      <textarea
        aria-label={`Comment on line ${props.line}`}
        value={text}
        rows={3}
        autoFocus
        onChange={(event) => setText(event.target.value)}
        onKeyDown={(event) => event.key === "Escape" && props.close()}
      />
      <div className="diff-comment-end">
        <Button look="quiet" onClick={props.close}>
          Cancel
        </Button>
        <Button look="primary" busy={busy} disabled={text.trim() === ""} onClick={send}>
          Send to the node
        </Button>
      </div>
    </div>
  );
}
