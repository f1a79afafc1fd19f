/** An answer that was begun here and not sent before the approval was answered elsewhere: it can be copied, or dropped. */
import type { Answered } from "../api/types";
import { isObject } from "../api/json";
import { unsentAnswers, useUnsentAnswer } from "../live/use-unsent-answers";
import { answerLabel } from "../model/approval-kinds";
import type { UnsentAnswer } from "../model/unsent-answers";
import { Button } from "../ui/button";
import { copy } from "../ui/clipboard";
import { Values } from "./arguments";

export function UnsentNotice({ approvalId, answered }: { approvalId: string; answered: Answered }) {
  const unsent = useUnsentAnswer(approvalId);
  if (unsent === null) return null;
  const how = answerLabel(answered).text.toLowerCase();
  return (
    <section className="unsent" aria-label="Your answer was not sent">
      <h3>Your answer was not sent</h3>
      <p className="small">
        While you were writing, this was {how}
        {answered.by === null ? "" : ` by ${answered.by}`}. What you had written is kept in this tab until you discard
        it.
      </p>
      <Written unsent={unsent} />
      <div className="answer-choices">
        <Button onClick={() => void copy(textOf(unsent), "Copied.")}>Copy it</Button>
        <Button look="quiet" onClick={() => unsentAnswers.drop(approvalId)}>
          Discard it
        </Button>
      </div>
    </section>
  );
}

function Written({ unsent }: { unsent: UnsentAnswer }) {
  const values = isObject(unsent.values) ? unsent.values : {};
  return <Values values={unsent.reason.trim() === "" ? values : { ...values, Reason: unsent.reason }} />;
}

/** The only text if there is one, else all that was filled in as JSON. */
function textOf({ values, reason }: UnsentAnswer): string {
  if (values === undefined) return reason;
  const [only, ...more] = isObject(values) ? Object.values(values) : [values];
  return typeof only === "string" && more.length === 0 ? only : JSON.stringify(values, null, 2);
}
