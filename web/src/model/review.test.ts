import { expect, test } from "vitest";
import { isOutdated, messageOf, ReviewStore, shownLines } from "./review";

function storage(items = new Map<string, string>()) {
  return {
    getItem: (key: string) => items.get(key) ?? null,
    setItem: (key: string, value: string) => void items.set(key, value),
  };
}

const COMMENT = { file: "a.py", from: 2, to: 3, lines: ["two", "three"], text: "Why?" };
const diff = (third: string) => `--- a/a.py\n+++ b/a.py\n@@ -1,2 +1,3 @@\n one\n two\n+${third}\n`;

test("drafts are there after a reload, become sent together, and can be removed", () => {
  const kept = storage();
  const first = new ReviewStore(kept);
  first.add("node", COMMENT);
  first.add("node", { ...COMMENT, text: "And this?" });
  first.remove("node", "1");
  const again = new ReviewStore(kept);
  expect(again.get().get("node")).toEqual([{ ...COMMENT, text: "And this?", id: "2", sent: null }]);
  again.send("node", "node");
  again.add("node", COMMENT);
  expect(
    again
      .get()
      .get("node")
      ?.map((one) => one.sent),
  ).toEqual(["node", null]);
  again.removeSent("node");
  expect(
    again
      .get()
      .get("node")
      ?.map((one) => one.id),
  ).toEqual(["3"]);
  expect(new ReviewStore(storage(new Map([["skelo:review", "{"]]))).get()).toEqual(new Map());
});

test("the message has file, lines and their text", () => {
  const one = { ...COMMENT, id: "1", sent: null };
  expect(messageOf([one, { ...one, to: 2, lines: ["two"] }])).toBe(
    "Comments on your changes:\n\na.py:2-3\n> two\n> three\nWhy?\n\na.py:2\n> two\nWhy?",
  );
});

test("a comment is outdated when its lines have changed, or are no longer shown", () => {
  const comment = { ...COMMENT, id: "1", sent: null };
  expect(isOutdated(comment, shownLines([diff("three")]))).toBe(false);
  expect(isOutdated(comment, shownLines([diff("tree")]))).toBe(true);
  expect(isOutdated(comment, shownLines([]))).toBe(true);
});
