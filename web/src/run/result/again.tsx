/** How to run the workflow again: with changed inputs here, or by a command in a shell. */
import { listWorkflows } from "../../api/client";
import type { Run } from "../../api/types";
import { useRequest } from "../../live/use-request";
import { commandOf } from "../../model/command";
import { paths } from "../../navigation/paths";
import { Button, ButtonLink } from "../../ui/button";
import { copy } from "../../ui/clipboard";
import { Icon } from "../../ui/icon";
import { Part } from "./result-view";

const ask = (signal: AbortSignal) => listWorkflows(signal);

export function Again({ run }: { run: Run }) {
  const { value } = useRequest(ask);
  if (value === null) return null;
  const file = value.find((one) => one.name === run.name);
  return (
    <Part title="Run it again">
      {file === undefined ? (
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
