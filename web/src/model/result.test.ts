import { expect, test } from "vitest";
import { commandOf } from "./command";
import { parseCsv } from "./csv";
import { partialTexts } from "./partial-json";
import { textKind } from "./text-kinds";

test.each([
  ["Just a sentence, and another one.", "plain"],
  ["# Title\n\nText", "markdown"],
  ["- one\n- two", "markdown"],
  ["Use **this**", "markdown"],
  ["name,age\nada,36\ngrace,85\n", "csv"],
  ['{"a": 1}', "json"],
  ["{not json", "plain"],
  ["--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n", "diff"],
])("%j is shown as %s", (text, kind) => {
  expect(textKind(text)).toBe(kind);
});

test("CSV fields in quotes keep commas, quotes and line ends", () => {
  expect(parseCsv('a,b\r\n"x, y","say ""hi""\nthere"\n')).toEqual([
    ["a", "b"],
    ["x, y", 'say "hi"\nthere'],
  ]);
});

test("an answer in JSON is read as texts while it comes", () => {
  const whole = '{"title": "Bees \\"up\\"", "n": [1, {"a": "}"}], "text": "City bees\\n\\u00e9", "last": true}';
  expect(partialTexts(whole)).toEqual([
    { name: "title", text: 'Bees "up"' },
    { name: "text", text: "City bees\né" },
  ]);
  expect(partialTexts('{"text": "City be')).toEqual([{ name: "text", text: "City be" }]);
  expect(partialTexts('{"text": "cut \\u00')).toEqual([{ name: "text", text: "cut " }]);
  expect(partialTexts('{"te')).toEqual([]);
  expect(partialTexts("Sure! Here it is: {")).toBe(null);
  for (let end = 0; end <= whole.length; end += 1) partialTexts(whole.slice(0, end));
});

test("a command has the inputs as a shell takes them", () => {
  const inputs = { topic: "it's bees", count: 3, tags: ["a"] };
  expect(commandOf("flows/my flow.yaml", inputs)).toBe(
    `skelo run 'flows/my flow.yaml' --input 'topic=it'\\''s bees' --input count=3 --input 'tags=["a"]'`,
  );
});
