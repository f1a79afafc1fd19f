/** The form for a workflow's inputs, and what starts the run. */
import { type FormEvent, useMemo, useState } from "react";
import { startRun } from "../api/client";
import type { Explanation, Port } from "../api/explanation";
import { isObject, type Json, type JsonObject } from "../api/json";
import { problemOf } from "../api/errors";
import type { Problem, StartBody } from "../api/types";
import { paths } from "../navigation/paths";
import { navigate } from "../navigation/router";
import { useMay } from "../live/use-session";
import { check, type FieldProblem, initial, type Schema } from "../model/form";
import { type Plan, planOf } from "../model/plan-only";
import { Button } from "../ui/button";
import { Icon } from "../ui/icon";
import { ProblemBox } from "../ui/notice";
import { isReadable, SchemaForm, showWrong } from "../ui/schema-form";

interface Props {
  path: string;
  explanation: Pick<Explanation, "inputs" | "blocks">;
  /** What the form begins with, besides defaults. */
  given: JsonObject;
  headingId: string;
}

/** More blocks than this are counted, not named. */
const NAMED = 5;

export function InputForm({ path, explanation, given, headingId }: Props) {
  const { inputs, blocks } = explanation;
  const schema = useMemo(() => schemaOfPorts(inputs), [inputs]);
  const [value, setValue] = useState<Json | undefined>(() => initial(schema, given));
  const [mode, setMode] = useState<StartBody["mode"]>("AUTO");
  const [globalMode, setGlobalMode] = useState<StartBody["globalMode"]>("IMPLEMENTATION");
  const [tried, setTried] = useState(false);
  const [starting, setStarting] = useState(false);
  const [refused, setRefused] = useState<Problem | null>(null);
  const mayStart = useMay("operator");
  const planned = globalMode === "PLANNING" ? planOf(blocks) : null;
  const wrong = tried ? [...check(schema, value), ...refusedFields(refused)] : [];

  const start = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    if (!isReadable(event.currentTarget)) return;
    setTried(true);
    setRefused(null);
    if (check(schema, value).length > 0) {
      showWrong(event.currentTarget);
      return;
    }
    setStarting(true);
    try {
      const run = await startRun({ workflow: path, inputs: isObject(value) ? value : {}, mode, globalMode });
      navigate(paths.run(run.id));
    } catch (error) {
      setRefused(problemOf(error));
      setStarting(false);
    }
  };

  return (
    <form onSubmit={(event) => void start(event)} noValidate>
      <h2 id={headingId}>Inputs</h2>
      {inputs.length === 0 ? (
        <p className="muted">This workflow has no inputs.</p>
      ) : (
        <SchemaForm schema={schema} value={value} onChange={setValue} problems={wrong} disabled={starting} />
      )}
      <fieldset className="start-modes">
        <legend className="unseen">How it runs</legend>
        <Option
          label="Ask before each effect"
          help="A person approves everything that cannot be done twice."
          checked={mode === "INTERACTIVE"}
          onChange={(on) => setMode(on ? "INTERACTIVE" : "AUTO")}
        />
        <Option
          label="Only plan"
          help="The run stops before the first block that changes anything outside."
          checked={globalMode === "PLANNING"}
          onChange={(on) => setGlobalMode(on ? "PLANNING" : "IMPLEMENTATION")}
        />
        {planned !== null && <Planned plan={planned} />}
      </fieldset>
      {refused !== null && <ProblemBox problem={refused} />}
      <Button
        type="submit"
        look="primary"
        busy={starting}
        disabled={!mayStart || planned?.runs === 0}
        className="start-go"
      >
        <Icon name="start" size={14} />
        Start run
      </Button>
      {!mayStart && <p className="muted small">You may look at runs, not start them: that takes the role operator.</p>}
    </form>
  );
}

/** What "Only plan" comes to for this workflow, before it is started. */
function Planned({ plan }: { plan: Plan }) {
  if (plan.stops.length === 0) return <p className="start-planned small">No block changes anything outside.</p>;
  const names = plan.stops.slice(0, NAMED).map((block) => block.name);
  const more = plan.stops.length > NAMED ? ` and ${plan.stops.length - NAMED} more` : "";
  return (
    <p className="start-planned small" role="status">
      {plan.runs === 0
        ? "Nothing can run: the workflow begins with blocks that change things outside: "
        : "It stops before the first of the blocks that change things outside: "}
      {names.join(", ")}
      {more}.
    </p>
  );
}

function Option(props: { label: string; help: string; checked: boolean; onChange: (on: boolean) => void }) {
  return (
    <label className="start-option">
      <input
        type="checkbox"
        className="check"
        checked={props.checked}
        onChange={(event) => props.onChange(event.target.checked)}
      />
      <span>
        {props.label}
        <span className="muted small"> {props.help}</span>
      </span>
    </label>
  );
}

/** The ports as the schema of one object, with their defaults; what must be filled in comes first. */
function schemaOfPorts(inputs: readonly Port[]): Schema {
  const properties: JsonObject = {};
  for (const port of [...inputs].sort((a, b) => Number(b.required) - Number(a.required))) {
    const own = isObject(port.schema) ? port.schema : {};
    const { default: given, description } = port;
    properties[port.name] = {
      ...own,
      ...(given === undefined ? {} : { default: given }),
      ...(description === undefined ? {} : { description }),
    };
  }
  const required = inputs.filter((port) => port.required).map((port) => port.name);
  return { type: "object", properties, required };
}

/** What the server found wrong, at its fields. */
function refusedFields(problem: Problem | null): FieldProblem[] {
  return (problem?.errors ?? []).map((part) => ({
    pointer: part.pointer.replace(/^\/inputs(?=\/)/, ""),
    message: part.message,
  }));
}
