import { expect, test } from "vitest";
import { type UnsentAnswer, UnsentAnswerStore } from "./unsent-answers";

function storage(items = new Map<string, string>()) {
  return {
    getItem: (key: string) => items.get(key) ?? null,
    setItem: (key: string, value: string) => void items.set(key, value),
  };
}

const ANSWER: UnsentAnswer = {
  runId: "r",
  question: "Publish?",
  status: "modified",
  values: { text: "x" },
  reason: "",
};

test("an answer that was begun is there after a reload, until it is sent", () => {
  const kept = storage();
  const before = new UnsentAnswerStore(kept);
  before.keep("a", ANSWER);
  before.keep("b", { ...ANSWER, status: null });
  before.drop("b");
  const after = new UnsentAnswerStore(kept);
  expect([...after.get()]).toEqual([["a", ANSWER]]);
  after.drop("a");
  expect(new UnsentAnswerStore(kept).get().size).toBe(0);
});

test("what cannot be read or stored is no error", () => {
  const full = { getItem: () => "{", setItem: () => expect.unreachable() };
  const store = new UnsentAnswerStore({
    ...full,
    setItem: () => {
      throw new Error("full");
    },
  });
  store.keep("a", ANSWER);
  expect(store.get().get("a")).toEqual(ANSWER);
  expect(new UnsentAnswerStore({ ...full, getItem: () => '[["a", 1], 2]' }).get().size).toBe(0);
});
