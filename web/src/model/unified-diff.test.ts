import { expect, test } from "vitest";
import { highlight } from "./highlight";
import { parseDiff } from "./unified-diff";

const DIFF = `diff --git a/x.py b/x.py
index 1..2 100644
--- a/x.py
+++ b/x.py
@@ -1,4 +1,4 @@ def f():
 one
--- two
-three
+++ deux
 four
\\ No newline at end of file
diff --git a/gone.txt b/gone.txt
--- a/gone.txt
+++ /dev/null
@@ -1 +0,0 @@
-all
`;

test("a diff is taken apart by what its hunks promise, so that lines may look like heads", () => {
  const [first, second] = parseDiff(DIFF);
  expect([first?.name, first?.added, first?.removed]).toEqual(["x.py", 1, 2]);
  expect(first?.hunks[0]?.rows.map((row) => [row.before?.text, row.after?.text, row.changed])).toEqual([
    ["one", "one", false],
    ["-- two", "++ deux", true],
    ["three", undefined, true],
    ["four", "four", false],
  ]);
  expect(first?.hunks[0]?.rows.at(-1)?.after?.number).toBe(3);
  expect([second?.name, second?.added, second?.removed]).toEqual(["gone.txt", 0, 1]);
});

test("a hunk that has other lines than it promises is shown as it is", () => {
  const [few] = parseDiff(
    "--- a/x\n+++ b/x\n@@ -1,9 +1,9 @@\n-a\n+b\ndiff --git a/y b/y\n--- a/y\n+++ b/y\n@@ -1 +1 @@\n-c\n+d",
  );
  expect([few?.name, few?.added, few?.removed]).toEqual(["x", 1, 1]);
  const [many] = parseDiff("+++ b/x\n@@ -1 +1 @@\n-a\n+b\n+c\n d");
  expect([many?.added, many?.hunks[0]?.rows.length]).toEqual([2, 3]);
});

test("what is no diff gives no files", () => {
  expect(parseDiff("hello\nworld")).toEqual([]);
  expect(parseDiff("")).toEqual([]);
});

test("code is coloured piece by piece, and the pieces are the whole line", () => {
  const line = "def page(text): return 1 # 'one'";
  const pieces = highlight(line, "py");
  expect(pieces.map((piece) => piece.text).join("")).toBe(line);
  expect(pieces.filter((piece) => piece.kind !== "plain")).toEqual([
    { kind: "word", text: "def" },
    { kind: "name", text: "page" },
    { kind: "word", text: "return" },
    { kind: "number", text: "1" },
    { kind: "comment", text: "# 'one'" },
  ]);
  expect(highlight("x = 'it\\'s' // no", "ts").at(-1)).toEqual({ kind: "comment", text: "// no" });
  expect(highlight("a".repeat(3_000), "ts")).toEqual([{ kind: "plain", text: "a".repeat(3_000) }]);
});
