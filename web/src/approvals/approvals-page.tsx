/** The approvals inbox over all runs: what is asked on the left, the question and its answer on the right. */
import { useCallback, useEffect, useMemo } from "react";
import { getAnswer } from "../api/client";
import type { Approval } from "../api/types";
import { Link } from "../navigation/link";
import { paths } from "../navigation/paths";
import { navigate, type Params, setSearch, useSearch } from "../navigation/router";
import { type Shortcut, useShortcuts } from "../app/shortcuts";
import { useTitle } from "../app/use-title";
import { useApprovals } from "../live/hooks";
import { useRequest } from "../live/use-request";
import { useUnsentAnswers } from "../live/use-unsent-answers";
import { inOrder } from "../model/approval-kinds";
import { ButtonLink } from "../ui/button";
import { Icon } from "../ui/icon";
import { Empty, ProblemBox, Waiting } from "../ui/notice";
import { TabPanel, Tabs } from "../ui/tabs";
import { AnswerBox } from "./answer-box";
import { AnsweredView } from "./answered";
import { ApprovalList } from "./approval-list";
import { History } from "./history";
import { NotificationSwitch } from "./notification-switch";
import { Question } from "./approval-question";
import { UnsentNotice } from "./unsent-notice";
import "./approvals.css";

type View = "open" | "history";

export default function ApprovalsPage({ params }: { params: Params }) {
  const { open, loaded } = useApprovals();
  const listed = useMemo(() => inOrder(open.values()), [open]);
  const view: View = useSearch().get("view") === "history" ? "history" : "open";
  useTitle(listed.length === 0 ? "Approvals" : `Approvals (${listed.length})`);
  const tabs = [
    { id: "open", name: "Open", count: listed.length },
    { id: "history", name: "History" },
  ] as const;
  const choose = (to: View) => {
    if (params["id"] === undefined) setSearch({ view: to === "open" ? null : to });
    else navigate(paths.approvals() + (to === "open" ? "" : "?view=history"));
  };
  return (
    <div className="page approvals">
      <header className="page-head">
        <h1>Approvals</h1>
        <NotificationSwitch />
      </header>
      <Tabs label="Approvals" name="approvals" tabs={tabs} chosen={view} onChoose={choose} />
      <TabPanel name="approvals" chosen={view} className="approvals-panel">
        {view === "history" ? (
          <Past id={params["id"] ?? null} />
        ) : loaded ? (
          <Inbox listed={listed} id={params["id"] ?? null} />
        ) : (
          <Waiting what="Loading approvals" />
        )}
      </TabPanel>
    </div>
  );
}

function Inbox({ listed, id }: { listed: readonly Approval[]; id: string | null }) {
  const shown = id === null ? (listed[0] ?? null) : (listed.find((one) => one.id === id) ?? null);
  useShortcuts(useListKeys(listed, shown));
  const next = useCallback(() => {
    const rest = listed.filter((one) => one.id !== shown?.id);
    const at = listed.findIndex((one) => one.id === shown?.id);
    const to = rest[Math.min(at, rest.length - 1)];
    navigate(to === undefined ? paths.approvals() : paths.approval(to.id), { replace: true });
  }, [listed, shown]);
  useAddressWhileAnswering(id, shown);
  if (listed.length === 0 && id === null) return <Nothing />;
  return (
    <div className={id === null ? "inbox" : "inbox inbox-chosen"}>
      <ApprovalList listed={listed} shown={shown?.id ?? id} />
      <article className="inbox-detail card">
        <Link to={paths.approvals()} className="inbox-back text-link">
          All approvals
        </Link>
        {shown !== null ? (
          <>
            <Question approval={shown} />
            <div className="inbox-answer">
              <AnswerBox key={shown.id} approval={shown} onAnswered={next} />
            </div>
          </>
        ) : (
          id !== null && <Closed key={`${id} ${listed.length}`} id={id} />
        )}
      </article>
    </div>
  );
}

/** Who has begun an answer stays at its approval, also when it is answered elsewhere. */
function useAddressWhileAnswering(id: string | null, shown: Approval | null): void {
  const unsent = useUnsentAnswers();
  const answering = id === null && shown !== null && unsent.has(shown.id) ? shown.id : null;
  useEffect(() => {
    if (answering !== null) navigate(paths.approval(answering), { replace: true });
  }, [answering]);
}

/** The history, or one answer of it. */
function Past({ id }: { id: string | null }) {
  if (id === null) return <History />;
  return (
    <article className="inbox-detail card">
      <Link to={`${paths.approvals()}?view=history`} className="text-link past-back">
        All answers
      </Link>
      <Closed id={id} />
    </article>
  );
}

function Closed({ id }: { id: string }) {
  const ask = useCallback((signal: AbortSignal) => getAnswer(id, signal), [id]);
  const { value, problem, again } = useRequest(ask);
  if (value !== null)
    return (
      <>
        <UnsentNotice approvalId={id} answered={value} />
        <AnsweredView answered={value} />
      </>
    );
  if (problem === null) return <Waiting what="Loading the approval" />;
  if (problem.status !== 404 && problem.status !== 422) return <ProblemBox problem={problem} again={again} />;
  return (
    <Empty icon="search" title="There is no such approval">
      Its run may have been removed, or the address may be wrong.
    </Empty>
  );
}

function Nothing() {
  return (
    <Empty
      icon="check"
      title="Nothing waits for you"
      action={
        <ButtonLink to={paths.runs()}>
          <Icon name="runs" /> All runs
        </ButtonLink>
      }
    >
      When a run needs a person, its question appears here by itself.
    </Empty>
  );
}

function useListKeys(listed: readonly Approval[], shown: Approval | null): readonly Shortcut[] {
  return useMemo(() => {
    const move = (by: number) => {
      const at = listed.findIndex((one) => one.id === shown?.id);
      const to = listed[Math.max(0, Math.min(listed.length - 1, at + by))];
      if (to !== undefined) navigate(paths.approval(to.id), { replace: true });
    };
    const group = "Approvals";
    return [
      { keys: "j", what: "Next", group, run: () => move(1) },
      { keys: "k", what: "The one before", group, run: () => move(-1) },
    ];
  }, [listed, shown]);
}
