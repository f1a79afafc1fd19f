/** Who has approved what, and what was changed on the way. */
import { useCallback, useMemo } from "react";
import { listNodeFacts } from "../../api/client";
import type { Fact, Run } from "../../api/types";
import { useRequest } from "../../live/use-request";
import { relative } from "../../model/amounts";
import { answerLabel, type AnswerStatus, headline } from "../../model/approval-kinds";
import { dataOf, object, text } from "../../model/facts";
import { Link } from "../../navigation/link";
import { paths } from "../../navigation/paths";
import { useNow } from "../../live/use-now";
import { StatusBadge } from "../../ui/badge";
import { Part } from "./result-view";

/** More nodes that ask a person are in the graph. */
const MOST_NODES = 20;

interface Given {
  id: string;
  question: string;
  node: string;
  status: AnswerStatus;
  by: string;
  reason: string;
  at: string;
}

export function Approvers({ run }: { run: Run }) {
  const nodes = useMemo(() => asking(run), [run]);
  const now = useNow(30_000);
  const ask = useCallback(
    async (signal: AbortSignal) => {
      const pages = await Promise.all(nodes.map((node) => listNodeFacts(run.id, node, 0, signal)));
      return pages.flatMap((page) => answersIn(page.facts));
    },
    [run.id, nodes],
  );
  const { value } = useRequest(ask);
  if (value === null || value.length === 0) return null;
  return (
    <Part title="Who approved">
      <ul className="result-answers">
        {value.map((one) => (
          <li key={one.id}>
            <StatusBadge word={answerLabel({ resolution: { status: one.status }, withdrawn: false, by: one.by })} />
            <div>
              <Link className="text-link" to={`${paths.approval(one.id)}?view=history`}>
                {one.question}
              </Link>
              <p className="muted small">
                {one.by}, {relative(one.at, now)}
                {one.reason === "" ? "" : `: ${one.reason}`}
              </p>
            </div>
          </li>
        ))}
      </ul>
    </Part>
  );
}

function asking(run: Run): string[] {
  return Object.values(run.nodes)
    .filter((node) => (node.kind === "approval" || node.permissions.cliPermissionsMode === "gated") && node.visits > 0)
    .slice(0, MOST_NODES)
    .map((node) => node.id);
}

function answersIn(facts: readonly Fact[]): Given[] {
  const questions = new Map<string, string>();
  const found: Given[] = [];
  for (const fact of facts) {
    const data = dataOf(fact);
    const id = text(data, "approvalId");
    const node = text(data, "node");
    if (fact.type === "approval.requested") questions.set(id, headline({ prompt: text(data, "prompt"), node }));
    if (fact.type !== "approval.resolved") continue;
    const status = text(object(data, "resolution"), "status") as AnswerStatus;
    const [by, reason] = [text(data, "by"), text(data, "reason")];
    found.push({ id, node, status, by, reason, at: fact.ts, question: questions.get(id) ?? node });
  }
  return found;
}
