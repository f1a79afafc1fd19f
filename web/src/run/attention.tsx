/** What of a run waits for a person, above its views: questions lead to the inbox, a stall is judged here. */
import { AnswerBox } from "../approvals/answer-box";
import { Expiry } from "../approvals/question";
import type { JsonObject } from "../api/json";
import type { Approval } from "../api/types";
import { paths } from "../app/paths";
import { useRunPart } from "../live/hooks";
import { inOrder, headline, kindWord } from "../model/questions";
import type { RunState } from "../model/run-store";
import { StatusBadge } from "../ui/badge";
import { ButtonLink } from "../ui/button";
import { Link } from "../app/link";
import "./acting.css";

const approvalsOf = (state: RunState) => state.run?.approvals ?? null;

export function Attention({ id }: { id: string }) {
  const open = useRunPart(id, approvalsOf);
  const listed = inOrder(Object.values(open ?? {}));
  if (listed.length === 0) return null;
  return (
    <div className="attention" role="region" aria-label="Waiting for a person" tabIndex={0}>
      {listed.map((one) =>
        one.kind === "stalled" ? <Stall key={one.id} approval={one} /> : <Asked key={one.id} approval={one} />,
      )}
    </div>
  );
}

function Asked({ approval }: { approval: Approval }) {
  return (
    <div className="attention-card">
      <StatusBadge word={kindWord(approval)} />
      <span className="attention-title">{headline(approval)}</span>
      <Expiry approval={approval} />
      <ButtonLink to={paths.approval(approval.id)} look="primary">
        Answer
      </ButtonLink>
    </div>
  );
}

const NAMES: Record<string, string> = {
  kind: "What repeats",
  repeats: "How often",
  code: "Error",
  message: "What it says",
  outputHash: "Output each time",
  diffHash: "Diff each time",
  verificationFailure: "Failing check",
  summaries: "Summaries",
};

function Stall({ approval }: { approval: Approval }) {
  const evidence: JsonObject = approval.tool.args;
  const names = Object.keys(NAMES).filter((name) => evidence[name] !== undefined && evidence[name] !== null);
  return (
    <section className="stall" aria-label={`${approval.node} has stalled`}>
      <div className="question-head">
        <StatusBadge word={kindWord(approval)} />
        <Link className="text-link" to={paths.node(approval.runId, approval.node)}>
          {approval.node}
        </Link>
      </div>
      <p>{approval.prompt}</p>
      <dl className="stall-evidence">
        {names.map((name) => (
          <div key={name}>
            <dt>{NAMES[name]}</dt>
            <dd>{said(evidence[name])}</dd>
          </div>
        ))}
      </dl>
      <AnswerBox approval={approval} onAnswered={() => undefined} />
    </section>
  );
}

function said(value: JsonObject[string] | undefined): string {
  if (typeof value === "string") return value.startsWith("sha256:") ? `${value.slice(0, 19)}…` : value;
  return Array.isArray(value) ? value.map(said).join("; ") : JSON.stringify(value);
}
