/** A question: what is asked, by which run and node, since when and until when. */
import { Link } from "../navigation/link";
import { paths } from "../navigation/paths";
import type { Approval } from "../api/types";
import { useRunPart } from "../live/hooks";
import { useNow } from "../live/use-now";
import { countdown, moment, relative } from "../model/amounts";
import { headline, isAgentQuestion, kindLabel, remainder } from "../model/approval-kinds";
import type { RunState } from "../model/run-store";
import { StatusBadge } from "../ui/badge";
import { Icon } from "../ui/icon";
import { Markdown } from "../ui/markdown";
import { Arguments } from "./arguments";
import { CallQuestion } from "./call-question";
import "./approval-question.css";

export function Question({ approval }: { approval: Approval }) {
  return (
    <>
      <div className="question-head">
        <StatusBadge word={kindLabel(approval)} />
        <Expiry approval={approval} />
      </div>
      <Prompt approval={approval} />
      <Facts approval={approval} />
      <section aria-label="What is asked for">
        <h3 className="question-part">{approval.kind === "stalled" ? "Evidence" : "What it is about"}</h3>
        {approval.kind === "call" ? <CallQuestion approval={approval} /> : <Arguments approval={approval} />}
      </section>
    </>
  );
}

/** The first line as a headline, what follows as text; a call is shown exactly, below, instead. */
export function Prompt({ approval }: { approval: Approval }) {
  const rest = approval.kind === "call" && !isAgentQuestion(approval) ? "" : remainder(approval);
  return (
    <div>
      <h2 className="question-prompt">{headline(approval)}</h2>
      {rest !== "" && (
        <div className="question-text">
          <Markdown text={rest} />
        </div>
      )}
    </div>
  );
}

const startedBy = (state: RunState) => state.run?.by ?? null;

function Facts({ approval }: { approval: Approval }) {
  const now = useNow(10_000);
  const by = useRunPart(approval.runId, startedBy);
  return (
    <dl className="question-facts">
      <div>
        <dt>Asked by</dt>
        <dd>
          <Link className="text-link" to={paths.node(approval.runId, approval.node)}>
            {approval.node}
          </Link>{" "}
          of{" "}
          <Link className="text-link" to={paths.run(approval.runId)}>
            {approval.runName}
          </Link>
          {approval.item !== null && <span className="muted">, item {approval.item + 1}</span>}
        </dd>
      </div>
      {by !== null && (
        <div>
          <dt>Run started by</dt>
          <dd>{by}</dd>
        </div>
      )}
      <div>
        <dt>Asked</dt>
        <dd>
          <time dateTime={approval.requestedAt} title={moment(approval.requestedAt)}>
            {relative(approval.requestedAt, now)}
          </time>
        </dd>
      </div>
      <div>
        <dt>May answer</dt>
        <dd>{approval.approvers.length === 0 ? "anyone" : approval.approvers.join(", ")}</dd>
      </div>
    </dl>
  );
}

/** Counts down to when the clock answers; the last minute is loud. */
export function Expiry({ approval }: { approval: Approval }) {
  const now = useNow(1_000, approval.expiresAt !== null);
  if (approval.expiresAt === null) return null;
  const left = countdown(approval.expiresAt, now);
  const urgent = Date.parse(approval.expiresAt) - now < 60_000;
  return (
    <span className={urgent ? "expiry expiry-urgent number" : "expiry number"} title={moment(approval.expiresAt)}>
      <Icon name="clock" size={14} />
      {left === "" ? "time is up" : `${left} left`}
    </span>
  );
}
