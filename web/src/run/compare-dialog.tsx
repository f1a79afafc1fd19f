/** Chooses the run to compare with: the parent of a fork first, then the newest of the same workflow. */
import { useCallback } from "react";
import { listRuns } from "../api/client";
import type { RunSummary } from "../api/types";
import { paths } from "../navigation/paths";
import { Link } from "../navigation/link";
import { useRunPart } from "../live/hooks";
import { useRequest } from "../live/use-request";
import { sameParts } from "../live/use-store";
import type { RunState } from "../model/run-store";
import { runLabel } from "../model/labels";
import { StatusBadge } from "../ui/badge";
import { Dialog } from "../ui/dialog";
import { Empty, ProblemBox, Waiting } from "../ui/notice";
import { Ago } from "../ui/time";

const whichOf = ({ run }: RunState) => ({ name: run?.name ?? "", parent: run?.parent?.runId ?? null });

export function CompareDialog({ id, onClose }: { id: string; onClose: () => void }) {
  const { name, parent } = useRunPart(id, whichOf, sameParts);
  const ask = useCallback((signal: AbortSignal) => listRuns({ limit: 100, q: name }, signal), [name]);
  const { value, problem, again } = useRequest(ask);
  const found = (value?.runs ?? []).filter((run) => run.id !== id && run.name === name);
  const near = (run: RunSummary) => (run.id === parent ? 0 : run.parent === id ? 1 : 2);
  const listed = found.toSorted((a, b) => near(a) - near(b)).slice(0, 30);
  return (
    <Dialog title="Compare with" onClose={onClose}>
      {problem !== null && <ProblemBox problem={problem} again={again} />}
      {value === null && problem === null && <Waiting what="Looking for runs" />}
      {value !== null && listed.length === 0 && (
        <Empty icon="fork" title={`No other run of ${name}`}>
          Fork this one, or start the workflow again, and compare then.
        </Empty>
      )}
      <ul className="compare-choices">
        {listed.map((run) => (
          <li key={run.id}>
            <Link className="compare-choice" to={order(id, run, parent)} onClick={onClose}>
              <code>{run.id.slice(0, 8)}</code>
              <StatusBadge word={runLabel(run)} />
              {run.id === parent && <span className="muted small">parent</span>}
              {run.parent === id && <span className="muted small">fork of this</span>}
              <span className="muted small compare-when">
                <Ago at={run.createdAt} />
              </span>
            </Link>
          </li>
        ))}
      </ul>
    </Dialog>
  );
}

/** The older one comes first, so that a fork is read as a change of its parent. */
function order(id: string, other: RunSummary, parent: string | null): string {
  return other.parent === id && other.id !== parent ? paths.compare(id, other.id) : paths.compare(other.id, id);
}
