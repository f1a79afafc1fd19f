/** An approval that has been answered: the question beside the answer, exactly as both are in the record. */
import { Link } from "../navigation/link";
import { paths } from "../navigation/paths";
import type { JsonObject } from "../api/json";
import type { Answered } from "../api/types";
import { moment } from "../model/amounts";
import { textsOf } from "../model/line-diff";
import { answerLabel, editable, ruleWords } from "../model/approval-kinds";
import { StatusBadge } from "../ui/badge";
import { TextDiff } from "../ui/text-diff";
import { Arguments } from "./arguments";
import { CallQuestion } from "./call-question";
import { Prompt } from "./approval-question";

export function AnsweredView({ answered }: { answered: Answered }) {
  const { approval, resolution } = answered;
  return (
    <>
      <div className="question-head">
        <StatusBadge word={answerLabel(answered)} />
        <Link className="text-link small" to={paths.node(approval.runId, approval.node)}>
          {approval.node}
        </Link>
      </div>
      <Prompt approval={approval} />
      <dl className="question-facts">
        <Fact name={answered.withdrawn ? "Withdrawn" : "Answered"} value={moment(answered.answeredAt)} />
        {answered.by !== null && <Fact name="By" value={answered.by} />}
        {resolution.reason && <Fact name="Reason" value={resolution.reason} />}
        {resolution.rule && <Fact name="Rule" value={ruleWords(resolution.rule)} />}
        {answered.digest !== null && <Fact name="Digest" value={answered.digest} mono />}
      </dl>
      {resolution.modifiedArgs && <Changed answered={answered} values={resolution.modifiedArgs} />}
      {resolution.stored && (
        <p className="muted small">
          The answer is too large to be shown here; it is in the record as {resolution.stored.blob}.
        </p>
      )}
      <h3 className="question-part">What was asked</h3>
      {approval.kind === "call" ? (
        <CallQuestion approval={approval} isOpen={false} />
      ) : (
        <Arguments approval={approval} />
      )}
    </>
  );
}

function Fact({ name, value, mono = false }: { name: string; value: string; mono?: boolean }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd className={mono ? "mono question-digest" : undefined}>{value}</dd>
    </div>
  );
}

function Changed({ answered, values }: { answered: Answered; values: JsonObject }) {
  const asked = editable(answered.approval);
  const names = [...new Set([...Object.keys(asked), ...Object.keys(values)])];
  return (
    <section>
      <h3 className="question-part">What was changed</h3>
      <dl className="arguments">
        {names.map((name) => {
          const [before, after] = textsOf(asked[name], values[name]);
          return (
            <div key={name}>
              <dt>{name}</dt>
              <dd>
                {before === after ? (
                  <span className="muted">as asked</span>
                ) : (
                  <TextDiff before={before} after={after} />
                )}
              </dd>
            </div>
          );
        })}
      </dl>
    </section>
  );
}
