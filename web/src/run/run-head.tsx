/** The head of a run's page: what it is, how it is doing, what it took, and what can be done with it. */
import { Link } from "../app/link";
import { paths } from "../app/paths";
import type { Run } from "../api/types";
import { useRunPart } from "../live/hooks";
import { useNow } from "../live/use-now";
import { sameParts } from "../live/use-store";
import { count, duration, moment, money } from "../model/amounts";
import type { RunState } from "../model/run-store";
import { standingWord } from "../model/words";
import { StatusBadge } from "../ui/badge";
import { Icon } from "../ui/icon";
import { RunActions } from "./actions";

/** What the head shows; numbers that are not in it may change without it being drawn again. */
function headOf({ run }: RunState) {
  if (run === null) return null;
  return {
    name: run.name,
    status: run.status,
    ending: run.ending,
    word: standingWord(run),
    createdAt: run.createdAt,
    by: run.by,
    pauseReason: run.pauseReason,
    error: run.error,
    parent: run.parent,
    updatedAt: run.ending === null ? null : run.updatedAt,
    tokens: run.usage.totalTokens,
    costUsd: run.usage.costUsd,
    phase: run.phase,
    planning: run.globalMode === "PLANNING",
  };
}

type Head = ReturnType<typeof headOf>;

function sameHead(a: Head, b: Head): boolean {
  return a === b || (a !== null && b !== null && sameParts(a, b));
}

export function RunHead({ id }: { id: string }) {
  const run = useRunPart(id, headOf, sameHead);
  const goesOn = run !== null && run.ending === null && run.status === "running";
  const now = useNow(1_000, goesOn);
  if (run === null) return null;
  const until = run.updatedAt !== null ? Date.parse(run.updatedAt) : goesOn ? now : null;
  return (
    <>
      <header className="run-head">
        <div className="run-title">
          <h1>{run.name}</h1>
          <StatusBadge word={run.word} />
        </div>
        <div className="run-facts number">
          {run.ending === null && <span>{PHASES[run.phase] ?? run.phase}</span>}
          {run.planning && <span>Planning: no effects</span>}
          {until !== null && (
            <span title={`Started ${moment(run.createdAt)} by ${run.by}`}>
              <Icon name="clock" size={13} />
              {duration(until - Date.parse(run.createdAt))}
            </span>
          )}
          {run.tokens > 0 && <span>{count(run.tokens)} tokens</span>}
          {run.costUsd > 0 && <span>{money(run.costUsd)}</span>}
          {run.pauseReason !== null && <span>{REASONS[run.pauseReason] ?? `Paused: ${run.pauseReason}`}</span>}
          {run.parent !== null && (
            <span>
              <Icon name="fork" size={13} />
              <Link to={paths.compare(run.parent.runId, id)} className="text-link">
                Forked at {run.parent.node}
              </Link>
            </span>
          )}
          <code title="The run's id">{id.slice(0, 8)}</code>
        </div>
        <div className="run-head-actions">
          <RunActions id={id} />
        </div>
      </header>
      {run.error !== null && <RunFault id={id} fault={run.error} />}
    </>
  );
}

/** Why a run was paused, where nobody has said it in words of their own. */
const REASONS: Record<string, string> = {
  operator: "Paused by a person",
  suspended: "Paused as its process stopped",
};

const PHASES: Record<string, string> = {
  BOOT: "Starting",
  EXECUTE: "Executing",
  VERIFY: "Verifying",
  DOCS_SYNC: "Syncing docs",
  DONE: "Done",
};

function RunFault({ id, fault }: { id: string; fault: NonNullable<Run["error"]> }) {
  const node = (fault as { node?: unknown }).node;
  return (
    <div className="run-fault">
      <code>{fault.code}</code>
      <span className="run-fault-text">{fault.message}</span>
      {typeof node === "string" && (
        <Link to={`${paths.node(id, node)}?path=failed`} className="text-link">
          Show the cause
        </Link>
      )}
    </div>
  );
}
