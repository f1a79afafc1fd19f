/** The attempts of a node, newest first: their errors, the verdicts of gates, and the feedback for the next attempt. */
import { Link } from "../../navigation/link";
import { paths } from "../../navigation/paths";
import { clock, count, duration, money } from "../../model/amounts";
import { type Attempt, attemptName, attemptsOf, attemptLabel } from "../../model/attempts";
import { StatusBadge } from "../../ui/badge";
import { JsonTree } from "../../ui/json-tree";
import { Took } from "../../ui/time";
import { Verdicts } from "./gates";
import { Answer, Nothing, type PanelProps } from "./panel";
import { useNodeFacts } from "./use-node-record";

/** How many attempts are shown; a foreach may have more, which are in the event log. */
const SHOWN = 60;
const NOTICED_MS = 100;

export function Attempts({ id, node }: PanelProps) {
  const facts = useNodeFacts(id, node);
  return (
    <Answer asked={facts}>
      {(nodeFacts) => {
        const attempts = attemptsOf(nodeFacts).reverse();
        if (attempts.length === 0) return <Nothing>No attempts yet.</Nothing>;
        return (
          <>
            <ol className="attempts">
              {attempts.slice(0, SHOWN).map((attempt) => (
                <AttemptItem key={attempt.id} id={id} attempt={attempt} />
              ))}
            </ol>
            {attempts.length > SHOWN && (
              <Nothing>{count(attempts.length - SHOWN)} earlier ones are in the event log.</Nothing>
            )}
          </>
        );
      }}
    </Answer>
  );
}

/** The time it worked; what it waited for a worker or a model is said beside it, if it is long enough to be noticed. */
function Taken({ attempt }: { attempt: Attempt }) {
  if (attempt.endedAt === null || attempt.workMs === null)
    return <Took from={attempt.startedAt} to={attempt.endedAt} />;
  const waited = Date.parse(attempt.endedAt) - Date.parse(attempt.startedAt) - attempt.workMs;
  return (
    <>
      <span>{duration(attempt.workMs)}</span>
      {waited >= NOTICED_MS && <span>after waiting {duration(waited)}</span>}
    </>
  );
}

function AttemptItem({ id, attempt }: { id: string; attempt: Attempt }) {
  return (
    <li className="attempt">
      <header>
        <h3>{attemptName(attempt)}</h3>
        <StatusBadge word={attemptLabel(attempt)} />
        <span className="attempt-facts number">
          <Link to={paths.event(id, attempt.seq)} title={`Event ${attempt.seq}`}>
            {clock(attempt.startedAt)}
          </Link>
          <Taken attempt={attempt} />
          {attempt.tokensOut > 0 && <span>{count(attempt.tokensIn + attempt.tokensOut)} tokens</span>}
          {attempt.costUsd > 0 && <span>{money(attempt.costUsd)}</span>}
        </span>
      </header>
      {attempt.error !== null && (
        <div className="panel-fault">
          <code>{attempt.error.code}</code>
          <p>{attempt.error.message}</p>
        </div>
      )}
      {attempt.uncertain && <p className="small">Its effect may have happened.</p>}
      <Verdicts verdicts={attempt.verdicts} />
      {attempt.detail !== null && (
        <details className="attempt-repair">
          <summary>What the next attempt was told</summary>
          <JsonTree value={attempt.detail} label="What the next attempt was told" />
        </details>
      )}
      {attempt.next !== "" && <p className="attempt-next">Then: {attempt.next}.</p>}
    </li>
  );
}
