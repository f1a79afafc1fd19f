import fc from "fast-check";
import { expect, test } from "vitest";
import { lineDiff, textOf, textsOf } from "./line-diff";

const text = fc.array(fc.constantFrom("a", "b", "c", ""), { maxLength: 12 }).map((lines) => lines.join("\n"));

test("both texts can be read off a difference, whatever they are", () => {
  fc.assert(
    fc.property(text, text, (before, after) => {
      const lines = lineDiff(before, after);
      const side = (not: string) => lines.filter((line) => line.kind !== not).map((line) => line.text);
      expect(side("new").join("\n")).toBe(before);
      expect(side("gone").join("\n")).toBe(after);
    }),
  );
});

test("one changed line is one gone and one new", () => {
  const kinds = lineDiff("one\ntwo\nthree", "one\n2\nthree").map((line) => line.kind);
  expect(kinds).toEqual(["same", "gone", "new", "same"]);
});

test("texts that have nothing in common are shown whole, and fast", () => {
  const many = (word: string) => Array.from({ length: 3_000 }, (_, at) => `${word} ${at}`).join("\n");
  expect(lineDiff(many("a"), many("b"))).toHaveLength(6_000);
});

test("the order of keys makes no difference", () => {
  expect(textOf({ b: 1, a: [{ d: 1, c: 2 }] })).toBe(textOf({ a: [{ c: 2, d: 1 }], b: 1 }));
});

test("what is not there has no lines", () => {
  expect(lineDiff(null, "a\nb").map((line) => line.kind)).toEqual(["new", "new"]);
  expect(lineDiff("", null).map((line) => line.kind)).toEqual(["gone"]);
});

test.each([
  ["a", "b", ["a", "b"]],
  ["", undefined, ["", null]],
  ["4", 4, ['"4"', "4"]],
  [undefined, { b: 1, a: 2 }, [null, '{\n  "a": 2,\n  "b": 1\n}']],
] as const)("values that differ have texts that do: %j and %j", (before, after, texts) => {
  expect(textsOf(before, after)).toEqual(texts);
});
