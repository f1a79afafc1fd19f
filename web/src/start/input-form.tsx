/** The form for a workflow's inputs, and what starts the run. */
import { type FormEvent, useMemo, useState } from "react";
import { startRun } from "../api/client";
import type { Port } from "../api/explanation";
import { isObject, type Json, type JsonObject } from "../api/json";
import { problemOf } from "../api/refusal";
import type { Problem, StartBody } from "../api/types";
import { paths } from "../app/paths";
import { navigate } from "../app/router";
import { useMay } from "../live/use-session";
import { check, type FieldProblem, initial, type Schema } from "../model/form";
import { Button } from "../ui/button";
import { Icon } from "../ui/icon";
import { ProblemBox } from "../ui/notice";
import { isReadable, SchemaForm, showWrong } from "../ui/schema-form";

export function InputForm({ path, inputs, headingId }: { path: string; inputs: readonly Port[]; headingId: string }) {
  const schema = useMemo(() => schemaOfPorts(inputs), [inputs]);
  const [value, setValue] = useState<Json | undefined>(() => initial(schema));
  const [mode, setMode] = useState<StartBody["mode"]>("AUTO");
  const [globalMode, setGlobalMode] = useState<StartBody["globalMode"]>("IMPLEMENTATION");
  const [tried, setTried] = useState(false);
  const [starting, setStarting] = useState(false);
  const [refused, setRefused] = useState<Problem | null>(null);
  const mayStart = useMay("operator");
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
      const given = isObject(value) ? value : {};
      const run = await startRun({ workflow: path, inputs: given, mode, globalMode });
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
        <p className="muted">This workflow takes none.</p>
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
          help="Nothing that changes anything outside is done."
          checked={globalMode === "PLANNING"}
          onChange={(on) => setGlobalMode(on ? "PLANNING" : "IMPLEMENTATION")}
        />
      </fieldset>
      {refused !== null && <ProblemBox problem={refused} />}
      <Button type="submit" look="primary" busy={starting} disabled={!mayStart} className="start-go">
        <Icon name="start" size={14} />
        Start run
      </Button>
      {!mayStart && <p className="muted small">You may look at runs, not start them: that takes the role operator.</p>}
    </form>
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
    const own = isObject(port.schema as Json) ? (port.schema as JsonObject) : {};
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
