/** Everything that was tried, newest first: errors, verdicts, what the next attempt was told. */
import { Link } from "../../app/link";
import { paths } from "../../app/paths";
import { clock, count, money } from "../../model/amounts";
import { type Attempt, attemptName, attemptsOf, attemptWord } from "../../model/attempts";
import { StatusBadge } from "../../ui/badge";
import { JsonTree } from "../../ui/json-tree";
import { Took } from "../../ui/time";
import { Verdicts } from "./checks";
import { Answer, Nothing, type PanelProps } from "./panel";
import { useNodeFacts } from "./use-node-record";

/** More of a foreach are in the event log. */
const SHOWN = 60;

export function Attempts({ id, node }: PanelProps) {
  const facts = useNodeFacts(id, node);
  return (
    <Answer asked={facts}>
      {(found) => {
        const attempts = attemptsOf(found).reverse();
        if (attempts.length === 0) return <Nothing>Nothing has been tried yet.</Nothing>;
        return (
          <>
            <ol className="attempts">
              {attempts.slice(0, SHOWN).map((attempt) => (
                <One key={attempt.id} id={id} attempt={attempt} />
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

function One({ id, attempt }: { id: string; attempt: Attempt }) {
  return (
    <li className="attempt">
      <header>
        <h3>{attemptName(attempt)}</h3>
        <StatusBadge word={attemptWord(attempt)} />
        <span className="attempt-facts number">
          <Link to={paths.event(id, attempt.seq)} title={`Event ${attempt.seq}`}>
            {clock(attempt.startedAt)}
          </Link>
          <Took from={attempt.startedAt} to={attempt.endedAt} />
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
