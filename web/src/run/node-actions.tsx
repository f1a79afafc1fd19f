/** What can be done with a node: in the head of the inspector. */
import { useCallback, useState } from "react";
import { forkRun } from "../api/client";
import type { Node } from "../api/types";
import { paths } from "../navigation/paths";
import { navigate } from "../navigation/router";
import { useRunPart } from "../live/hooks";
import { sameParts } from "../live/use-store";
import { hasDoneItems } from "../model/fork-items";
import type { RunState } from "../model/run-store";
import { Button, ButtonLink } from "../ui/button";
import { Icon } from "../ui/icon";
import { done, failed } from "../ui/toasts";
import { ChatBox } from "./chat-box";
import { ForkDialog } from "./fork-dialog";
import "./acting.css";

export function NodeActions({ id, node }: { id: string; node: Node }) {
  const select = useCallback(
    ({ run }: RunState) => ({
      live: run?.kind === "graph",
      ended: run?.ending !== null,
      question: Object.values(run?.approvals ?? {}).find((one) => one.nodeId === node.id)?.id ?? null,
    }),
    [node.id],
  );
  const { live, ended, question } = useRunPart(id, select, sameParts);
  const [forking, setForking] = useState(false);
  const [busy, setBusy] = useState(false);
  if (live) return ended ? null : <ChatBox id={id} node={node} />;
  const retry = async () => {
    setBusy(true);
    try {
      const fork = await forkRun(id, { node: node.key });
      done(`Forked: ${node.label} is done again.`);
      navigate(paths.node(fork.id, node.key));
    } catch (error) {
      failed(error);
    }
    setBusy(false);
  };
  if (node.visits === 0 && node.outcome === null) return null;
  return (
    <div className="node-actions">
      {question !== null && (
        <ButtonLink to={paths.approval(question)} look="primary">
          Answer
        </ButtonLink>
      )}
      {node.outcome === "failed" && ended && (
        <Button busy={busy} onClick={() => (hasDoneItems(node) ? setForking(true) : void retry())}>
          <Icon name="retry" size={14} /> Retry{hasDoneItems(node) && "…"}
        </Button>
      )}
      <Button onClick={() => setForking(true)}>
        <Icon name="fork" size={14} /> Fork from here
      </Button>
      {forking && <ForkDialog id={id} node={node.key} onClose={() => setForking(false)} />}
    </div>
  );
}
