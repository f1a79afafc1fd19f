/** What can be done with a run: pause, resume, cancel, do a failed node again, fork, compare. */
import { useState } from "react";
import { cancelRun, changeRun, forkRun, pauseRun, resumeRun } from "../api/client";
import type { Run } from "../api/types";
import { paths } from "../navigation/paths";
import { navigate } from "../navigation/router";
import { useRunPart } from "../live/hooks";
import { sameParts } from "../live/use-store";
import { hasDoneItems } from "../model/fork-items";
import type { RunState } from "../model/run-store";
import { Button } from "../ui/button";
import { Dialog } from "../ui/dialog";
import { Icon } from "../ui/icon";
import { done, failed } from "../ui/toasts";
import { CompareDialog } from "./compare-dialog";
import { ForkDialog } from "./fork-dialog";
import "./acting.css";

/** What of a run the buttons depend on. */
function nodeStatusOf({ run }: RunState) {
  if (run === null) return null;
  const live = run.kind === "graph";
  const failed = failedNode(run);
  return {
    ended: run.ending !== null,
    // A live graph that waits for messages was not paused by a person.
    stopped: run.pauseReason !== null || (!live && run.status === "paused" && Object.keys(run.approvals).length === 0),
    failedNode: failed,
    hasDoneItems: Object.values(run.nodes).some((node) => node.key === failed && hasDoneItems(node)),
    live,
  };
}

type NodeStatus = ReturnType<typeof nodeStatusOf>;
const same = (a: NodeStatus, b: NodeStatus) => a === b || (a !== null && b !== null && sameParts(a, b));

/** The node that the run failed at: the one its error names, else the last that failed. */
function failedNode(run: Run): string | null {
  if (run.ending === null || run.ending === "ok") return null;
  const named = (run.error as { node?: unknown } | null)?.node;
  if (typeof named === "string") return named;
  return Object.values(run.nodes).findLast((node) => node.outcome === "failed")?.key ?? null;
}

type Asking = "cancel" | "fork" | "compare" | null;

export function RunActions({ id }: { id: string }) {
  const standing = useRunPart(id, nodeStatusOf, same);
  const [asking, setAsking] = useState<Asking>(null);
  const [busy, setBusy] = useState(false);
  if (standing === null) return null;
  const order = async (what: () => Promise<unknown>, words: string) => {
    setBusy(true);
    await what().then(() => done(words), failed);
    setBusy(false);
  };
  const retry = (node: string) =>
    order(async () => {
      const fork = await forkRun(id, { node });
      navigate(paths.run(fork.id));
    }, `Forked: ${node} is done again.`);
  return (
    <>
      {standing.failedNode !== null && !standing.live && (
        <Button
          look="primary"
          busy={busy}
          onClick={() => (standing.hasDoneItems ? setAsking("fork") : void retry(standing.failedNode ?? ""))}
        >
          <Icon name="retry" size={14} /> Retry {standing.failedNode}
          {standing.hasDoneItems && "…"}
        </Button>
      )}
      {!standing.ended && standing.stopped && (
        <Button look="primary" busy={busy} onClick={() => void order(() => resumeRun(id), "The run goes on.")}>
          <Icon name="start" size={14} /> Resume
        </Button>
      )}
      {!standing.ended && !standing.stopped && (
        <Button busy={busy} onClick={() => void order(() => pauseRun(id), "Nothing new starts.")}>
          <Icon name="pause" size={14} /> Pause
        </Button>
      )}
      {standing.live && !standing.ended && (
        <Button busy={busy} onClick={() => void order(() => changeRun(id, { status: "completed" }), "Completed.")}>
          <Icon name="check" size={14} /> Complete
        </Button>
      )}
      {!standing.live && (
        <Button onClick={() => setAsking("fork")}>
          <Icon name="fork" size={14} /> Fork
        </Button>
      )}
      <Button look="quiet" onClick={() => setAsking("compare")}>
        Compare
      </Button>
      {!standing.ended && (
        <Button look="danger" onClick={() => setAsking("cancel")}>
          Cancel
        </Button>
      )}
      {asking === "cancel" && <CancelDialog id={id} onClose={() => setAsking(null)} />}
      {asking === "fork" && <ForkDialog id={id} node={standing.failedNode} onClose={() => setAsking(null)} />}
      {asking === "compare" && <CompareDialog id={id} onClose={() => setAsking(null)} />}
    </>
  );
}

function CancelDialog({ id, onClose }: { id: string; onClose: () => void }) {
  const [reason, setReason] = useState("");
  const [busy, setBusy] = useState(false);
  const cancel = async () => {
    setBusy(true);
    await cancelRun(id, reason.trim() || undefined).then(() => done("Cancelled."), failed);
    onClose();
  };
  return (
    <Dialog
      title="Cancel this run?"
      onClose={onClose}
      actions={
        <>
          <Button look="quiet" onClick={onClose}>
            Keep it going
          </Button>
          <Button look="danger" busy={busy} onClick={() => void cancel()}>
            Cancel the run
          </Button>
        </>
      }
    >
      <p className="muted">
        What is under way is stopped, and open questions are withdrawn. It cannot be resumed, only forked.
      </p>
      <label className="field dialog-field">
        <span className="field-label">
          Reason<span className="field-optional"> optional, kept in the record</span>
        </span>
        <textarea
          className="input"
          rows={2}
          maxLength={4000}
          value={reason}
          onChange={(event) => setReason(event.target.value)}
        />
      </label>
    </Dialog>
  );
}
