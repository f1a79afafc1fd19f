/** A form made from a JSON Schema: one field for each property, nested ones inside, anything unusual as JSON. */
import { useId } from "react";
import { isObject, type Json } from "../api/json";
import {
  choicesOf,
  escaped,
  type FieldProblem,
  formatOf,
  isNullable,
  isRequired,
  kindOf,
  properties,
  type Schema,
  typeOf,
} from "../model/form";
import { JsonField } from "./json-field";
import { ListField } from "./list-field";
import "./schema-form.css";

interface Props {
  schema: Schema;
  value: Json | undefined;
  onChange: (value: Json | undefined) => void;
  /** What to say at fields; from `check` or from the server. */
  problems: readonly FieldProblem[];
  disabled?: boolean;
}

/** Whether everything that was typed can be read, so that nothing else is sent than what is seen; else it is shown where. */
export function isReadable(form: HTMLFormElement): boolean {
  return form.reportValidity();
}

/** Lead to the first field that something is wrong with, once that is drawn: a long form hides it from who sends it. */
export function showWrong(form: HTMLFormElement): void {
  requestAnimationFrame(() => {
    const field = form.querySelector(".field-wrong")?.closest(".field");
    field?.querySelector<HTMLElement>("input, textarea, select, button")?.focus({ preventScroll: true });
    field?.scrollIntoView({ block: "nearest" });
  });
}

/** The fields of an object's schema; anything else is one field. The caller has the form element and its buttons. */
export function SchemaForm({ schema, value, onChange, problems, disabled = false }: Props) {
  return (
    <div className="fields">
      <Inside schema={schema} value={value} onChange={onChange} problems={problems} disabled={disabled} pointer="" />
    </div>
  );
}

export interface FieldProps {
  schema: Schema;
  value: Json | undefined;
  onChange: (value: Json | undefined) => void;
  problems: readonly FieldProblem[];
  disabled: boolean;
  pointer: string;
}

export function Inside(props: FieldProps) {
  const { schema, value, onChange, pointer } = props;
  if (kindOf(schema, value) !== "object") return <Field {...props} name="Value" required={false} />;
  const current = isObject(value) ? value : {};
  const change = (name: string, to: Json | undefined) => {
    const { [name]: _, ...rest } = current;
    onChange(to === undefined ? rest : { ...current, [name]: to });
  };
  return properties(schema).map(([name, inner]) => (
    <Field
      {...props}
      key={name}
      name={name}
      schema={inner}
      value={current[name]}
      onChange={(to) => change(name, to)}
      pointer={`${pointer}/${escaped(name)}`}
      required={isRequired(schema, name)}
    />
  ));
}

interface NamedProps extends FieldProps {
  name: string;
  required: boolean;
}

export function Field(props: NamedProps) {
  const { name, schema, value, problems, pointer, required } = props;
  const id = useId();
  const kind = kindOf(schema, value);
  const title = typeof schema["title"] === "string" ? schema["title"] : name;
  const help = typeof schema["description"] === "string" ? schema["description"] : formatOf(schema);
  const wrong = problems.filter((one) => one.pointer === pointer);
  const hints = [help === null ? "" : `${id}-help`, wrong.length > 0 ? `${id}-wrong` : ""].filter(Boolean).join(" ");
  const grouped = kind === "object" || kind === "list";
  const Box = grouped ? "fieldset" : "div";
  const Label = grouped ? "legend" : "label";
  return (
    <Box className={`field field-${kind}`}>
      <Label className="field-label" {...(grouped ? {} : { htmlFor: id })}>
        {title}
        <Aside optional={!required && kind !== "boolean"} json={kind === "json"} />
      </Label>
      {help !== null && (
        <p className="field-help" id={`${id}-help`}>
          {help}
        </p>
      )}
      {kind === "object" ? (
        <div className="fields">
          <Inside {...props} onChange={(to) => props.onChange(required || !isEmpty(to) ? to : undefined)} />
        </div>
      ) : kind === "list" ? (
        <ListField {...props} name={title} />
      ) : kind === "json" ? (
        <JsonField {...props} id={id} hints={hints} wrong={wrong.length > 0} />
      ) : (
        <Control {...props} id={id} hints={hints} wrong={wrong.length > 0} />
      )}
      {wrong.length > 0 && (
        <p className="field-wrong" id={`${id}-wrong`}>
          {wrong.map((one) => one.message).join(" ")}
        </p>
      )}
    </Box>
  );
}

/** An object that may be left out is left out when nothing is in it any more. */
function isEmpty(value: Json | undefined): boolean {
  return isObject(value) && Object.values(value).every((one) => one === "" || one === null);
}

function Aside({ optional, json }: { optional: boolean; json: boolean }) {
  if (!optional && !json) return null;
  const words = [...(optional ? ["optional"] : []), ...(json ? ["as JSON"] : [])];
  return <span className="field-optional"> {words.join(", ")}</span>;
}

export interface ControlProps extends NamedProps {
  id: string;
  hints: string;
  wrong: boolean;
}

function Control(props: ControlProps) {
  const { id, schema, value, onChange, required, disabled, hints, wrong } = props;
  const known = { id, disabled, "aria-describedby": hints || undefined, "aria-invalid": wrong || undefined };
  const none = !required ? undefined : isNullable(schema) ? null : "";
  const missing = none === "" ? undefined : none;
  const takeText = (text: string) => onChange(text === "" ? none : text);
  switch (kindOf(schema, value)) {
    case "long-text":
      return (
        <textarea
          {...known}
          className="input"
          rows={Math.min(14, Math.max(4, (typeof value === "string" ? value : "").split("\n").length + 1))}
          value={typeof value === "string" ? value : ""}
          onChange={(event) => takeText(event.target.value)}
        />
      );
    case "number":
      return (
        <input
          {...known}
          className="input input-number number"
          type="number"
          step={typeOf(schema) === "integer" ? 1 : "any"}
          value={typeof value === "number" ? value : ""}
          onChange={(event) =>
            onChange(Number.isNaN(event.target.valueAsNumber) ? missing : event.target.valueAsNumber)
          }
        />
      );
    case "boolean":
      return (
        <input
          {...known}
          className="check"
          type="checkbox"
          checked={value === true}
          onChange={(event) => onChange(event.target.checked)}
        />
      );
    case "choice":
      return <Choice {...props} />;
    default:
      return (
        <input
          {...known}
          className="input"
          type={schema["format"] === "date" ? "date" : "text"}
          value={typeof value === "string" ? value : ""}
          onChange={(event) => takeText(event.target.value)}
        />
      );
  }
}

function Choice({ id, schema, value, onChange, disabled, hints, wrong }: ControlProps) {
  const choices = choicesOf(schema) ?? [];
  const at = choices.findIndex((one) => JSON.stringify(one) === JSON.stringify(value));
  return (
    <select
      id={id}
      className="input"
      disabled={disabled}
      aria-describedby={hints || undefined}
      aria-invalid={wrong || undefined}
      value={at}
      onChange={(event) => onChange(choices[Number(event.target.value)])}
    >
      <option value={-1}>Choose…</option>
      {choices.map((one, index) => (
        <option key={JSON.stringify(one)} value={index}>
          {typeof one === "string" ? one : JSON.stringify(one)}
        </option>
      ))}
    </select>
  );
}
