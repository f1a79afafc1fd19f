/** The list itself: a row a run, the whole of which is its link. Rows that go on move by themselves. */
import { memo, useEffect, useRef } from "react";
import type { RunSummary } from "../api/types";
import { Link } from "../navigation/link";
import { paths } from "../navigation/paths";
import { useApprovals } from "../live/hooks";
import { useProgress } from "../live/use-progress";
import { runLabel } from "../model/labels";
import { StatusBadge } from "../ui/badge";
import { Icon } from "../ui/icon";
import { ProgressBar } from "../ui/progress-bar";
import { Ago, Took } from "../ui/time";

/** Waits for an approval, not for a resume. */

export function RunTable({ rows, marked }: { rows: readonly RunSummary[]; marked: string | null }) {
  const approvals = useApprovals();
  const waiting = new Map<string, number>();
  for (const { runId } of approvals.open.values()) waiting.set(runId, (waiting.get(runId) ?? 0) + 1);
  return (
    <div className="card runs">
      <table className="runs-table">
        <thead>
          <tr>
            <th scope="col">Workflow</th>
            <th scope="col">Status</th>
            <th scope="col">Started</th>
            <th scope="col">Took</th>
          </tr>
        </thead>
        <tbody>
          {rows.map((run) => (
            <Row key={run.id} run={run} waiting={waiting.get(run.id) ?? 0} marked={run.id === marked} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

const Row = memo(function Row(props: { run: RunSummary; waiting: number; marked: boolean }) {
  const { run, waiting, marked } = props;
  const row = useRef<HTMLTableRowElement>(null);
  useEffect(() => {
    if (marked) row.current?.scrollIntoView({ block: "nearest" });
  }, [marked]);
  const ended = run.ending !== null;
  return (
    <tr ref={row} className={marked ? "runs-row runs-marked" : "runs-row"} aria-current={marked || undefined}>
      <td className="runs-what">
        <Link to={paths.run(run.id)} className="runs-link">
          {run.name}
        </Link>
        <span className="runs-id mono">{run.id.slice(0, 8)}</span>
        {run.parent && (
          <span className="runs-fork" title={`Forked from ${run.parent}`}>
            <Icon name="fork" size={13} />
            fork
          </span>
        )}
      </td>
      <td className="runs-status">
        <span className="runs-word">
          <StatusBadge word={runLabel(run, waiting > 0)} />
        </span>
        {!ended && <LiveProgress runId={run.id} />}
        {waiting > 0 && (
          <Link to={`${paths.approvals()}?run=${run.id}`} className="runs-asked">
            {waiting === 1 ? "1 approval" : `${waiting} approvals`}
          </Link>
        )}
      </td>
      <td className="runs-when muted">
        <Ago at={run.createdAt} />
      </td>
      <td className="runs-took muted">
        <Took from={run.createdAt} to={ended ? run.updatedAt : null} />
      </td>
    </tr>
  );
});

function LiveProgress({ runId }: { runId: string }) {
  return <ProgressBar progress={useProgress(runId)} />;
}
