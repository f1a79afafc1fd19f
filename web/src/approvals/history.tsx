/** Answered approvals of all runs, the newest question first. */
import { useCallback, useEffect, useState } from "react";
import { listAnswered } from "../api/client";
import { problemOf } from "../api/errors";
import type { Answered, Problem } from "../api/types";
import { Link } from "../navigation/link";
import { paths } from "../navigation/paths";
import { useAllEvents } from "../live/hooks";
import { useNow } from "../live/use-now";
import { relative } from "../model/amounts";
import { answerLabel, headline } from "../model/approval-kinds";
import type { EventListener } from "../model/run-store";
import { StatusBadge } from "../ui/badge";
import { Button } from "../ui/button";
import { Empty, ProblemBox, Waiting } from "../ui/notice";

const PAGE = 25;

export function History() {
  const { answered, more, problem, load } = useHistory();
  const now = useNow(30_000);
  if (problem !== null) return <ProblemBox problem={problem} again={() => void load(null)} />;
  if (answered === null) return <Waiting what="Loading answers" />;
  if (answered.length === 0)
    return (
      <Empty icon="approvals" title="Nothing has been answered yet">
        Every answer is kept here exactly as it was given: who, when, why, and what was changed.
      </Empty>
    );
  return (
    <>
      <ul className="history card">
        {answered.map((one) => (
          <li key={one.approval.id}>
            <Link className="history-row" to={`${paths.approval(one.approval.id)}?view=history`}>
              <StatusBadge word={answerLabel(one)} />
              <span className="history-title">{headline(one.approval)}</span>
              <span className="muted small history-note">{one.resolution.reason ?? one.approval.node}</span>
              <span className="muted small">{one.by ?? ""}</span>
              <time className="muted small number" dateTime={one.answeredAt}>
                {relative(one.answeredAt, now)}
              </time>
            </Link>
          </li>
        ))}
      </ul>
      {more !== null && (
        <Button look="quiet" onClick={() => void load(more)}>
          Show more
        </Button>
      )}
    </>
  );
}

function useHistory() {
  const [answered, setAnswered] = useState<readonly Answered[] | null>(null);
  const [more, setMore] = useState<string | null>(null);
  const [problem, setProblem] = useState<Problem | null>(null);
  const load = useCallback(async (cursor: string | null) => {
    try {
      const page = await listAnswered({ limit: PAGE, cursor });
      setAnswered((before) => (cursor === null ? page.answered : [...(before ?? []), ...page.answered]));
      setMore(page.nextCursor);
      setProblem(null);
    } catch (error) {
      setProblem(problemOf(error));
    }
  }, []);
  useEffect(() => void load(null), [load]);
  const onEvents = useCallback<EventListener>(
    (events) => {
      if (events?.some((event) => event.type === "approval.resolved")) void load(null);
    },
    [load],
  );
  useAllEvents(onEvents);
  return { answered, more, problem, load };
}
