/** One call of an agent: its tool, what it was called with, what was decided about it, and what came of it. */
import { isObject, type Json } from "../../api/json";
import { LiteralValues } from "../../approvals/call-question";
import { type Asked, askedWords, type Call, callLabel, shortArgument, verdictWords } from "../../model/agent-calls";
import { clock, duration } from "../../model/amounts";
import type { Edit } from "../../model/conversation";
import { paths } from "../../navigation/paths";
import { StatusBadge } from "../../ui/badge";
import { ButtonLink } from "../../ui/button";
import { DiffView } from "../../ui/diff-view";
import { TextDiff } from "../../ui/text-diff";

/** Closed, it is one line; what waits for a person is open. */
export function AgentCall({ call, edits = [] }: { call: Call; edits?: readonly Edit[] }) {
  const waits = call.asked !== null && call.asked.answer === null;
  return (
    <details className="agent-call" open={waits}>
      <summary>
        <code className="agent-call-tool">{call.tool}</code>
        <span className="agent-call-argument">{shortArgument(call.args)}</span>
        <StatusBadge word={callLabel(call)} />
        <span className="agent-call-time number">
          {call.durationMs !== null && duration(call.durationMs)}
          <time dateTime={call.at}>{clock(call.at).slice(0, 8)}</time>
        </span>
      </summary>
      <div className="agent-call-inside">
        <p className="small">{verdictWords(call)}</p>
        {waits && call.asked !== null && (
          <div>
            <ButtonLink to={paths.approval(call.asked.approvalId)} look="primary">
              Answer
            </ButtonLink>
          </div>
        )}
        <Changes call={call} edits={edits} />
        <h4>Arguments</h4>
        <LiteralValues values={call.args} />
        <Output call={call} />
      </div>
    </details>
  );
}

/** The edit as the agent tells it, else as a person was shown it. */
function Changes({ call, edits }: { call: Call; edits: readonly Edit[] }) {
  if (edits.length === 0) return call.asked?.diff ? <DiffView text={call.asked.diff} /> : null;
  return edits.map((edit, at) => (
    <div key={`${at} ${edit.path}`}>
      <h4>{edit.path}</h4>
      <TextDiff before={edit.before} after={edit.after} />
    </div>
  ));
}

function Output({ call }: { call: Call }) {
  if (call.status !== "completed" && call.status !== "failed") return null;
  const shown = shortened(call.output);
  if (shown.text === "") return <p className="muted small">The call has no output.</p>;
  return (
    <>
      <h4>{call.exitCode === null ? "Output" : `Output, exit code ${call.exitCode}`}</h4>
      <pre className="argument-json" tabIndex={0} role="group" aria-label={`Output of ${call.tool}`}>
        {shown.text}
      </pre>
      {shown.isCut && <p className="muted small">This is the beginning. The transcript has all of it.</p>}
    </>
  );
}

function shortened(output: Json): { text: string; isCut: boolean } {
  if (isObject(output) && typeof output["shortened"] === "string") return { text: output["shortened"], isCut: true };
  if (output === null) return { text: "", isCut: false };
  return { text: typeof output === "string" ? output : JSON.stringify(output, null, 2), isCut: false };
}

/** A question of the agent's own. */
export function AgentQuestion({ asked }: { asked: Asked }) {
  return (
    <div className="agent-question">
      <p>{asked.prompt}</p>
      <p className="muted small">{askedWords(asked)}</p>
      {asked.answer === null && (
        <div>
          <ButtonLink to={paths.approval(asked.approvalId)} look="primary">
            Answer
          </ButtonLink>
        </div>
      )}
    </div>
  );
}
