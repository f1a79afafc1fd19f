import { expect, test } from "vitest";
import { check, formatOf, initial, kindOf, properties } from "./form";

const FORM = {
  type: "object",
  required: ["text", "count"],
  properties: {
    text: { type: "string", minLength: 2, maxLength: 10 },
    count: { type: "integer", minimum: 1, default: 3 },
    urgent: { type: "boolean" },
    tone: { enum: ["dry", "warm"] },
    tags: { type: "array", maxItems: 2, items: { type: "string", minLength: 1 } },
    extra: { anyOf: [{ type: "string" }, { type: "null" }] },
  },
};

test("a form begins with what is given, then with defaults", () => {
  expect(initial(FORM, { text: "hello" })).toEqual({ text: "hello", count: 3 });
  expect(initial(FORM)).toEqual({ count: 3 });
});

test("each schema has a field to be drawn as", () => {
  const kinds = Object.entries(FORM.properties).map(([name, schema]) => [name, kindOf(schema, undefined)]);
  expect(Object.fromEntries(kinds)).toEqual({
    text: "text",
    count: "number",
    urgent: "boolean",
    tone: "choice",
    tags: "list",
    extra: "json",
  });
  expect(kindOf({ type: "string" }, "two\nlines")).toBe("long-text");
});

test("what is wrong is said at its place", () => {
  const wrong = check(FORM, { text: "x", count: 0.5, tone: "loud", tags: ["", "b", "c"] });
  expect(wrong).toEqual([
    { pointer: "/text", message: "At least 2 characters, please." },
    { pointer: "/count", message: "This must be a whole number." },
    { pointer: "/tone", message: "Choose one from the list." },
    { pointer: "/tags", message: "At most 2 of them, please." },
    { pointer: "/tags/0", message: "Please fill this in." },
  ]);
  expect(check(FORM, { count: 1 })).toEqual([{ pointer: "/text", message: "Please fill this in." }]);
  expect(check(FORM, { text: "fine", count: 1, extra: null })).toEqual([]);
});

test("fields come in the order that the form says, and none is lost", () => {
  const names = (order: unknown) =>
    properties({ properties: { a: {}, b: {}, "1": {} }, "x-order": order as string[] }).map(([name]) => name);
  expect(names(["b", "a", "1"])).toEqual(["b", "a", "1"]);
  expect(names(["b", "gone", 3, "b"])).toEqual(["b", "1", "a"]);
  expect(names(undefined)).toEqual(["1", "a", "b"]);
  expect(names("b")).toEqual(["1", "a", "b"]);
});

test("a type that may also be null, a constant and a format have fields that people can fill in", () => {
  expect(kindOf({ type: ["string", "null"] }, undefined)).toBe("text");
  expect(kindOf({ type: ["null", "integer"] }, null)).toBe("number");
  expect(kindOf({ type: ["string", "integer"] }, undefined)).toBe("json");
  expect(kindOf({ const: 5 }, undefined)).toBe("choice");
  expect(check({ const: 5 }, 6)).toEqual([{ pointer: "", message: "Choose one from the list." }]);
  expect(check({ type: ["string", "null"], minLength: 2 }, null)).toEqual([]);
  expect(formatOf({ type: ["string", "null"], format: "date" })).toBe("A date, such as 2026-01-31");
  expect(formatOf({ type: "integer", format: "date" })).toBeNull();
});
