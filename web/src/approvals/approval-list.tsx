/** The open approvals as a list: the question's first line, where it comes from, and how long there is. */
import { useEffect, useRef } from "react";
import type { Approval } from "../api/types";
import { Link } from "../navigation/link";
import { paths } from "../navigation/paths";
import { useNow } from "../live/use-now";
import { useUnsentAnswers } from "../live/use-unsent-answers";
import { relative } from "../model/amounts";
import { excerpt, headline, kindLabel } from "../model/approval-kinds";
import type { Label } from "../model/labels";
import { StatusBadge } from "../ui/badge";
import { bringInSight } from "../ui/scroll-into-view";
import { Expiry } from "./approval-question";

const UNSENT: Label = { text: "Answer not sent", tone: "busy" };

export function ApprovalList({ listed, shown }: { listed: readonly Approval[]; shown: string | null }) {
  const now = useNow(10_000);
  const unsent = useUnsentAnswers();
  const list = useRef<HTMLUListElement>(null);
  useEffect(() => {
    bringInSight(list.current?.querySelector("[aria-current=true]"), list.current);
  }, [shown]);
  return (
    <ul className="inbox-list" ref={list} aria-label="Open approvals">
      {listed.map((one) => (
        <li key={one.id}>
          <Link
            to={paths.approval(one.id)}
            className="inbox-row"
            aria-current={one.id === shown ? "true" : undefined}
            data-approval={one.id}
          >
            <span className="inbox-title">{headline(one)}</span>
            <Excerpt text={excerpt(one)} />
            <span className="inbox-meta muted small">
              {one.runName} · {one.node} · {relative(one.requestedAt, now)}
            </span>
            <span className="inbox-tags">
              {one.kind !== "approval" && <StatusBadge word={kindLabel(one)} />}
              <Expiry approval={one} />
              {unsent.has(one.id) && <StatusBadge word={UNSENT} />}
            </span>
          </Link>
        </li>
      ))}
    </ul>
  );
}

function Excerpt({ text }: { text: string }) {
  return text === "" ? null : <span className="inbox-excerpt small">{text.slice(0, 200)}</span>;
}
