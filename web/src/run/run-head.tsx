/** The head of a run's page: what it is, how it is doing, what it took, and what can be done with it. */
import { Link } from "../navigation/link";
import { paths } from "../navigation/paths";
import type { Run } from "../api/types";
import { useRunPart } from "../live/hooks";
import { useNow } from "../live/use-now";
import { sameParts } from "../live/use-store";
import { count, duration, moment, money } from "../model/amounts";
import type { RunState } from "../model/run-store";
import { isPlanned, runStatusLabel } from "../model/labels";
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
    word: runStatusLabel(run),
    createdAt: run.createdAt,
    by: run.by,
    pauseReason: run.pauseReason,
    error: run.error,
    planned: isPlanned(run),
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
          {goesOn && <span>{PHASES[run.phase] ?? run.phase}</span>}
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
      {run.error !== null && <RunFault id={id} fault={run.error} planned={run.planned} />}
    </>
  );
}

/** Why a run was paused, unless the person who paused it gave a reason. */
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

function RunFault({ id, fault, planned }: { id: string; fault: NonNullable<Run["error"]>; planned: boolean }) {
  const node = (fault as { node?: unknown }).node;
  return (
    <div className={planned ? "run-fault run-planned" : "run-fault"}>
      {!planned && <code>{fault.code}</code>}
      <span className="run-fault-text">
        {planned
          ? "This run was only to plan, and has stopped before the first block that changes anything outside. " +
            "Everything before it is done; run it again without “Only plan” to go on."
          : fault.message}
      </span>
      {typeof node === "string" && (
        <Link to={`${paths.node(id, node)}?path=failed`} className="text-link">
          {planned ? "Show where" : "Show the cause"}
        </Link>
      )}
    </div>
  );
}
