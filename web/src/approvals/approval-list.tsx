/** The open approvals as a list: the question's first line, where it comes from, and how long there is. */
import { useEffect, useRef } from "react";
import type { Approval } from "../api/types";
import { Link } from "../app/link";
import { paths } from "../app/paths";
import { useNow } from "../live/use-now";
import { all } from "../live/streams";
import { useStore } from "../live/use-store";
import { relative } from "../model/amounts";
import type { AllState } from "../model/all-store";
import { headline, kindWord, remainder } from "../model/questions";
import { StatusBadge } from "../ui/badge";
import { bringInSight } from "../ui/in-sight";
import { Expiry } from "./question";

const runsOf = (state: AllState) => state.runs;

export function ApprovalList({ listed, shown }: { listed: readonly Approval[]; shown: string | null }) {
  const now = useNow(10_000);
  const runs = useStore(all, runsOf);
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
            <Excerpt text={remainder(one)} />
            <span className="inbox-meta muted small">
              {runs.get(one.runId)?.name ?? one.runId.slice(0, 8)} · {one.node}
              {one.requestedAt !== null && ` · ${relative(one.requestedAt, now)}`}
            </span>
            <span className="inbox-tags">
              {one.kind !== "approval" && <StatusBadge word={kindWord(one)} />}
              <Expiry approval={one} />
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
