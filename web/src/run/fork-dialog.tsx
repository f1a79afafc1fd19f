/** Forks a run from one of its nodes: what came before is kept, and the node's inputs may be changed first. */
import { type FormEvent, useCallback, useId, useMemo, useState } from "react";
import { explainRun, forkRun, getNode } from "../api/client";
import type { Explanation, OutlineBlock } from "../api/explanation";
import { isObject, type Json, type JsonObject } from "../api/json";
import { RequestError } from "../api/errors";
import type { Node, Problem } from "../api/types";
import { paths } from "../navigation/paths";
import { navigate } from "../navigation/router";
import { useRunPart } from "../live/hooks";
import { useRequest } from "../live/use-request";
import { check, escaped, type FieldProblem, type Schema } from "../model/form";
import { againOf, type Choice, USUAL } from "../model/fork-items";
import { textOf } from "../model/line-diff";
import type { RunState } from "../model/run-store";
import { Button } from "../ui/button";
import { Dialog } from "../ui/dialog";
import { ProblemBox, Waiting } from "../ui/notice";
import { isReadable, SchemaForm, showWrong } from "../ui/schema-form";
import { done, failed } from "../ui/toasts";
import { ItemsChoice } from "./items-choice";

interface Props {
  id: string;
  /** The key of the node that is offered first. */
  node: string | null;
  onClose: () => void;
}

const nodesOf = (state: RunState) => state.run?.nodes ?? {};

export function ForkDialog({ id, node, onClose }: Props) {
  const nodes = useRunPart(id, nodesOf);
  // Only nodes of the run itself: those inside of a sub-workflow go with the node that stands for it.
  const listed = useMemo(() => Object.values(nodes).filter((one) => one.visits > 0 || one.outcome !== null), [nodes]);
  const [key, setKey] = useState(node ?? listed[0]?.key ?? "");
  const chosen = listed.find((one) => one.key === key) ?? null;
  const ask = useCallback((signal: AbortSignal) => explainRun(id, signal), [id]);
  const explained = useRequest(ask);
  const name = useId();
  return (
    <Dialog title="Fork this run" onClose={onClose} wide>
      <p className="muted">
        A new run keeps what was done before the node you choose, and does that node and all that follows again. This
        run stays as it is.
      </p>
      <div className="field dialog-field">
        <label className="field-label" htmlFor={name}>
          From node
        </label>
        <select id={name} className="input" value={key} onChange={(event) => setKey(event.target.value)}>
          {listed.map((one) => (
            <option key={one.id} value={one.key}>
              {one.label === one.key ? one.key : `${one.label} (${one.key})`}
            </option>
          ))}
        </select>
      </div>
      {explained.problem !== null && <ProblemBox problem={explained.problem} again={explained.again} />}
      {explained.value !== null && chosen !== null && (
        <Inputs key={chosen.id} id={id} node={chosen} explained={explained.value} onClose={onClose} />
      )}
    </Dialog>
  );
}

function Inputs(props: { id: string; node: Node; explained: Explanation; onClose: () => void }) {
  const { id, node, explained, onClose } = props;
  const ask = useCallback((signal: AbortSignal) => getNode(id, node.id, signal), [id, node.id]);
  const { value, problem, again } = useRequest(ask);
  if (problem !== null) return <ProblemBox problem={problem} again={again} />;
  if (value === null) return <Waiting what="Loading its inputs" />;
  const block = explained.blocks.find((one) => one.id === node.key);
  return <ForkForm id={id} node={node} schema={schemaOf(block)} given={value.inputs ?? {}} onClose={onClose} />;
}

/** The inputs of a block as the schema of one object. What a foreach names is made anew for each item. */
function schemaOf(block: OutlineBlock | undefined): Schema {
  const ports = (block?.inputs ?? []).filter((port) => port.name !== block?.foreach?.as);
  const properties = ports.map((port): [string, Json] => [
    port.name,
    isObject(port.schema ?? undefined) ? port.schema : {},
  ]);
  const required = ports.filter((port) => port.required).map((port) => port.name);
  return { type: "object", properties: Object.fromEntries(properties), required };
}

interface FormProps {
  id: string;
  node: Node;
  schema: Schema;
  given: JsonObject;
  onClose: () => void;
}

function ForkForm({ id, node, schema, given, onClose }: FormProps) {
  const [values, setValues] = useState<Json | undefined>(given);
  const [problems, setProblems] = useState<readonly FieldProblem[]>([]);
  const [problem, setProblem] = useState<Problem | null>(null);
  const [busy, setBusy] = useState(false);
  const [choice, setChoice] = useState<Choice>(USUAL);
  const again = againOf(choice);
  const changed = changes(given, isObject(values) ? values : {});
  const names = Object.keys(changed);
  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    if (!isReadable(event.currentTarget) || again === null) return;
    const touched = names.map((name) => `/${escaped(name)}`);
    const wrong = check(schema, values).filter(({ pointer }) =>
      touched.some((one) => pointer === one || pointer.startsWith(`${one}/`)),
    );
    setProblems(wrong);
    if (wrong.length > 0) {
      showWrong(event.currentTarget);
      return;
    }
    setBusy(true);
    try {
      const fork = await forkRun(id, { node: node.key, inputs: changed, ...again });
      done("Forked.");
      onClose();
      navigate(paths.run(fork.id));
    } catch (error) {
      if (error instanceof RequestError) setProblem(error.problem);
      else failed(error);
      setBusy(false);
    }
  };
  const hasInputs = Object.keys(schema["properties"] ?? {}).length > 0;
  return (
    <form className="fork-form" onSubmit={(event) => void submit(event)} noValidate>
      {hasInputs ? (
        <SchemaForm schema={schema} value={values} onChange={setValues} problems={problems} disabled={busy} />
      ) : (
        <p className="muted">This node has no inputs to change.</p>
      )}
      {node.items !== null && <ItemsChoice node={node} choice={choice} onChange={setChoice} disabled={busy} />}
      {problem !== null && <ProblemBox problem={problem} />}
      <div className="answer-choices">
        <Button type="submit" look="primary" busy={busy} disabled={again === null}>
          Fork from {node.label}
        </Button>
        <span className="muted small">
          {names.length === 0 ? "Nothing changed yet." : `Changed: ${names.join(", ")}`}
        </span>
      </div>
    </form>
  );
}

function changes(before: JsonObject, after: JsonObject): JsonObject {
  const entries = Object.entries(after).filter(([name, value]) => textOf(value) !== textOf(before[name]));
  return Object.fromEntries(entries);
}
