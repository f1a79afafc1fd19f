/** Who has answered which question of the run: approvals, cut effects, stalls, and calls of agents. */
import { useCallback } from "react";
import { listAnswered } from "../../api/client";
import type { Run } from "../../api/types";
import { useNow } from "../../live/use-now";
import { useRequest } from "../../live/use-request";
import { relative } from "../../model/amounts";
import { answerLabel, headline } from "../../model/approval-kinds";
import { Link } from "../../navigation/link";
import { paths } from "../../navigation/paths";
import { StatusBadge } from "../../ui/badge";
import { Part } from "./result-view";

/** All answers of all runs are in the history of the approvals. */
const MOST_ANSWERS = 100;

export function Approvers({ id, seq }: Pick<Run, "id" | "seq">) {
  const now = useNow(30_000);
  const ask = useCallback(
    (signal: AbortSignal) => {
      void seq; // a run that goes on has other answers after each fact
      return listAnswered({ runId: id, limit: MOST_ANSWERS }, signal);
    },
    [id, seq],
  );
  const { value } = useRequest(ask);
  const answers = value?.answered.filter((answer) => !answer.withdrawn) ?? [];
  if (answers.length === 0) return null;
  return (
    <Part title="Who approved">
      <ul className="result-answers">
        {answers.map((answer) => (
          <li key={answer.approval.id}>
            <StatusBadge word={answerLabel(answer)} />
            <div>
              <Link className="text-link" to={`${paths.approval(answer.approval.id)}?view=history`}>
                {headline(answer.approval)}
              </Link>
              <p className="muted small">
                {answer.by ?? ""}, {relative(answer.answeredAt, now)}
                {answer.resolution.reason ? `: ${answer.resolution.reason}` : ""}
              </p>
            </div>
          </li>
        ))}
      </ul>
    </Part>
  );
}
