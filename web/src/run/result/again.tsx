/** How to run the workflow again: with changed inputs here, or by a command in a shell. */
import { useCallback } from "react";
import { listWorkflows, validateWorkflow } from "../../api/client";
import type { Run, WorkflowFile } from "../../api/types";
import { useRequest } from "../../live/use-request";
import { commandOf } from "../../model/command";
import { paths } from "../../navigation/paths";
import { Button, ButtonLink } from "../../ui/button";
import { copy } from "../../ui/clipboard";
import { Icon } from "../../ui/icon";
import { Part } from "./result-view";

export function Again({ run }: { run: Run }) {
  const { name, workflowHash } = run;
  const ask = useCallback(
    async (signal: AbortSignal) => ({ file: await findFile(name, workflowHash, signal) }),
    [name, workflowHash],
  );
  const { value } = useRequest(ask);
  if (value === null) return null;
  const { file } = value;
  return (
    <Part title="Run it again">
      {file === null ? (
        <p className="muted small">
          This project has no workflow file named {run.name} any more. A fork runs it again from one of its nodes.
        </p>
      ) : (
        <div className="result-buttons">
          <ButtonLink to={`${paths.startOf(file.path)}?from=${run.id}`} look="primary">
            <Icon name="retry" size={14} /> With changed inputs
          </ButtonLink>
          <Button onClick={() => void copy(commandOf(file.path, run.inputs ?? {}), "Command copied.")}>
            <Icon name="copy" size={14} /> Copy as command
          </Button>
        </div>
      )}
    </Part>
  );
}

/** The file of the run's workflow. If several files have its name, the run's hash tells which, unless all have changed. */
async function findFile(name: string, hash: string, signal: AbortSignal): Promise<WorkflowFile | null> {
  const named = (await listWorkflows(signal)).filter((file) => file.name === name);
  if (named.length < 2) return named[0] ?? null;
  const checked = await Promise.all(named.map((file) => validateWorkflow(file.path, signal)));
  return named.find((_, index) => checked[index]?.hash === hash) ?? named[0] ?? null;
}
