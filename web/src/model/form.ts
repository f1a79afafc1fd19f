/** What a form needs to know about a JSON Schema: which field to draw, what to begin with, what is wrong. */
import { isObject, type Json, type JsonObject } from "../api/json";

export type Schema = JsonObject;

export interface FieldProblem {
  /** JSON pointer into the value. */
  pointer: string;
  message: string;
}

export type FieldKind = "text" | "long-text" | "number" | "boolean" | "choice" | "list" | "object" | "json";

/** How a text is to be written, for formats that people do not know by heart. */
const FORMATS: Record<string, string> = {
  date: "A date, such as 2026-01-31",
  "date-time": "A date and time, such as 2026-01-31T12:00:00Z",
  time: "A time, such as 12:00:00Z",
  duration: "A duration, such as P1DT2H",
  email: "An email address",
  uri: "An address, such as https://example.org",
  uuid: "A UUID",
};

/** A text field gets several lines when what it holds may be long. */
const LONG = 120;

export function schemaOf(value: Json | undefined): Schema {
  return isObject(value) ? value : {};
}

/** The fields, in their author's order: `x-order` says it where JSON that was kept with sorted names does not. */
export function properties(schema: Schema): [string, Schema][] {
  const found = schemaOf(schema["properties"]);
  const said = Array.isArray(schema["x-order"]) ? schema["x-order"] : [];
  const first = said.filter((name): name is string => typeof name === "string" && Object.hasOwn(found, name));
  return [...new Set([...first, ...Object.keys(found)])].map((name) => [name, schemaOf(found[name])]);
}

export function isRequired(schema: Schema, name: string): boolean {
  const required = schema["required"];
  return Array.isArray(required) && required.includes(name);
}

/** The values to choose from; null where any will do. */
export function choicesOf(schema: Schema): readonly Json[] | null {
  if (schema["const"] !== undefined) return [schema["const"]];
  return Array.isArray(schema["enum"]) ? schema["enum"] : null;
}

/** The one type that a value has, if it has any: `null` beside another means that there may be none. */
export function typeOf(schema: Schema): Json | undefined {
  const type = schema["type"];
  if (!Array.isArray(type)) return type;
  const some = type.filter((one) => one !== "null");
  return some.length === 1 ? some[0] : type;
}

export function isNullable(schema: Schema): boolean {
  return Array.isArray(schema["type"]) && schema["type"].includes("null");
}

/** What to say about how a field is filled in; null where that is plain. */
export function formatOf(schema: Schema): string | null {
  const format = schema["format"];
  return typeOf(schema) === "string" && typeof format === "string" ? (FORMATS[format] ?? null) : null;
}

export function kindOf(schema: Schema, value: Json | undefined): FieldKind {
  if (choicesOf(schema) !== null) return "choice";
  switch (typeOf(schema)) {
    case "string":
      return isLong(schema, value) ? "long-text" : "text";
    case "integer":
    case "number":
      return "number";
    case "boolean":
      return "boolean";
    case "array":
      return isObject(schema["items"]) && schema["prefixItems"] === undefined ? "list" : "json";
    case "object":
      return isObject(schema["properties"]) ? "object" : "json";
    default:
      return "json";
  }
}

function isLong(schema: Schema, value: Json | undefined): boolean {
  if (typeof value === "string" && (value.includes("\n") || value.length > LONG)) return true;
  const most = schema["maxLength"];
  return typeof most === "number" && most > 2 * LONG;
}

/** What a field begins with: what is given, else its default, else what its type has when it is empty. */
export function initial(schema: Schema, given?: Json): Json | undefined {
  const kind = kindOf(schema, given);
  if (kind === "object") {
    const base = isObject(given) ? given : schemaOf(schema["default"]);
    const found: JsonObject = { ...base };
    for (const [name, inner] of properties(schema)) {
      const value = initial(inner, base[name]);
      if (
        value !== undefined &&
        (base[name] !== undefined || inner["default"] !== undefined || isRequired(schema, name))
      )
        found[name] = value;
    }
    return found;
  }
  if (given !== undefined) return given;
  if (schema["default"] !== undefined) return schema["default"];
  if (kind === "list") return [];
  return kind === "boolean" ? false : undefined;
}

/** What is wrong with a value, as far as it can be told here; the server has the last word. */
export function check(schema: Schema, value: Json | undefined, pointer = ""): FieldProblem[] {
  const wrong = (message: string): FieldProblem[] => [{ pointer, message }];
  if (value === undefined) return [];
  const choices = choicesOf(schema);
  if (choices !== null) {
    const known = choices.some((one) => JSON.stringify(one) === JSON.stringify(value));
    return known ? [] : wrong("Choose one from the list.");
  }
  if (!fitsType(schema["type"], value)) return wrong(`This must be ${named(schema["type"])}.`);
  if (typeof value === "string") return checkText(schema, value).flatMap(wrong);
  if (typeof value === "number") return checkNumber(schema, value).flatMap(wrong);
  if (Array.isArray(value)) return checkList(schema, value, pointer);
  return isObject(value) ? checkObject(schema, value, pointer) : [];
}

function fitsType(type: Json | undefined, value: Json): boolean {
  if (Array.isArray(type)) return type.some((one) => fitsType(one, value));
  switch (type) {
    case "string":
    case "boolean":
      return typeof value === type;
    case "number":
      return typeof value === "number";
    case "integer":
      return Number.isInteger(value);
    case "array":
      return Array.isArray(value);
    case "object":
      return isObject(value);
    case "null":
      return value === null;
    default:
      return true;
  }
}

function named(type: Json | undefined): string {
  const names: Record<string, string> = { integer: "a whole number", array: "a list", object: "an object" };
  return typeof type === "string" ? (names[type] ?? `a ${type}`) : "of another type";
}

function checkText(schema: Schema, value: string): string[] {
  const { minLength, maxLength, pattern } = schema;
  const length = [...value].length;
  if (typeof minLength === "number" && length < minLength)
    return [length === 0 ? "Please fill this in." : `At least ${minLength} characters, please.`];
  if (typeof maxLength === "number" && length > maxLength)
    return [`At most ${maxLength} characters; it has ${length}.`];
  if (typeof pattern === "string" && !matches(pattern, value)) return [`This must match ${pattern}`];
  return [];
}

/** The server's patterns are RE2; one that this browser cannot read is left to the server. */
function matches(pattern: string, value: string): boolean {
  try {
    return new RegExp(pattern, "u").test(value);
  } catch {
    return true;
  }
}

function checkNumber(schema: Schema, value: number): string[] {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf } = schema;
  if (typeof minimum === "number" && value < minimum) return [`At least ${minimum}.`];
  if (typeof maximum === "number" && value > maximum) return [`At most ${maximum}.`];
  if (typeof exclusiveMinimum === "number" && value <= exclusiveMinimum) return [`More than ${exclusiveMinimum}.`];
  if (typeof exclusiveMaximum === "number" && value >= exclusiveMaximum) return [`Less than ${exclusiveMaximum}.`];
  if (typeof multipleOf === "number" && Math.abs(value / multipleOf - Math.round(value / multipleOf)) > 1e-9)
    return [`A multiple of ${multipleOf}.`];
  return [];
}

function checkList(schema: Schema, value: Json[], pointer: string): FieldProblem[] {
  const { minItems, maxItems } = schema;
  const found: FieldProblem[] = [];
  if (typeof minItems === "number" && value.length < minItems)
    found.push({ pointer, message: `At least ${minItems} of them, please.` });
  if (typeof maxItems === "number" && value.length > maxItems)
    found.push({ pointer, message: `At most ${maxItems} of them, please.` });
  const items = schemaOf(schema["items"]);
  return found.concat(value.flatMap((one, at) => check(items, one, `${pointer}/${at}`)));
}

function checkObject(schema: Schema, value: JsonObject, pointer: string): FieldProblem[] {
  const missing = (Array.isArray(schema["required"]) ? schema["required"] : [])
    .filter((name): name is string => typeof name === "string" && value[name] === undefined)
    .map((name) => ({ pointer: `${pointer}/${escaped(name)}`, message: "Please fill this in." }));
  const inner = properties(schema).flatMap(([name, of]) => check(of, value[name], `${pointer}/${escaped(name)}`));
  return missing.concat(inner);
}

/** A name as a part of a JSON pointer (RFC 6901). */
export function escaped(name: string): string {
  return name.replaceAll("~", "~0").replaceAll("/", "~1");
}
