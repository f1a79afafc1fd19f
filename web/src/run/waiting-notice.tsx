/** What of a run waits for a person, above its views: questions lead to the inbox, a stall and a call are judged here. */
import { type ReactNode, useState } from "react";
import { AnswerBox } from "../approvals/answer-box";
import { Expiry } from "../approvals/approval-question";
import { CallQuestion } from "../approvals/call-question";
import type { Approval } from "../api/types";
import { paths } from "../navigation/paths";
import { useRunPart } from "../live/hooks";
import { headline, inOrder, kindLabel, stallEvidence } from "../model/approval-kinds";
import type { RunState } from "../model/run-store";
import { StatusBadge } from "../ui/badge";
import { Button, ButtonLink } from "../ui/button";
import { Link } from "../navigation/link";
import "./acting.css";

const approvalsOf = (state: RunState) => state.run?.approvals ?? null;

export function Attention({ id }: { id: string }) {
  const open = useRunPart(id, approvalsOf);
  const [opened, setOpened] = useState<string | null>(null); // one at a time, so that keys mean one of them
  const listed = inOrder(Object.values(open ?? {}));
  if (listed.length === 0) return null;
  return (
    <div className="attention" role="region" aria-label="Waiting for a person" tabIndex={0}>
      {listed.map((one) => {
        if (one.kind === "stalled") return <Stall key={one.id} approval={one} />;
        if (one.kind !== "call") return <Question key={one.id} approval={one} />;
        const toggle = () => setOpened(opened === one.id ? null : one.id);
        return <Call key={one.id} approval={one} open={opened === one.id} onToggle={toggle} />;
      })}
    </div>
  );
}

function Question({ approval, children }: { approval: Approval; children?: ReactNode }) {
  return (
    <div className="attention-card">
      <StatusBadge word={kindLabel(approval)} />
      <span className="attention-title" title={headline(approval)}>
        {headline(approval)}
      </span>
      <Expiry approval={approval} />
      {children ?? (
        <ButtonLink to={paths.approval(approval.id)} look="primary">
          Answer
        </ButtonLink>
      )}
    </div>
  );
}

interface CallProps {
  approval: Approval;
  open: boolean;
  onToggle: () => void;
}

/** A call of an agent can be answered here: agents ask often, and what they do is on this page. */
function Call({ approval, open, onToggle }: CallProps) {
  return (
    <section className="attention-call" aria-label={headline(approval)}>
      <Question approval={approval}>
        <Button look={open ? "quiet" : "primary"} aria-expanded={open} onClick={onToggle}>
          {open ? "Close" : "Answer"}
        </Button>
      </Question>
      {open && (
        <div className="attention-answer">
          <CallQuestion approval={approval} />
          <AnswerBox approval={approval} onAnswered={() => undefined} />
        </div>
      )}
    </section>
  );
}

function Stall({ approval }: { approval: Approval }) {
  return (
    <section className="stall" aria-label={`${approval.node} has stalled`}>
      <div className="question-head">
        <StatusBadge word={kindLabel(approval)} />
        <Link className="text-link" to={paths.node(approval.runId, approval.node)}>
          {approval.node}
        </Link>
      </div>
      <p>{approval.prompt}</p>
      <dl className="stall-evidence">
        {stallEvidence(approval.tool.args).map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
      <AnswerBox approval={approval} onAnswered={() => undefined} />
    </section>
  );
}
