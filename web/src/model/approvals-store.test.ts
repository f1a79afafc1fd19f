import { expect, it } from "vitest";
import type { Approval, Event } from "../api/types";
import { ApprovalsStore } from "./approvals-store";

const approval = (id: string) => ({ id }) as Approval;
const asked = (id: string) => ({ type: "approval.requested", approval: approval(id) }) as Event;
const answered = (id: string) => ({ type: "approval.resolved", approvalId: id }) as Event;
const open = (store: ApprovalsStore) => [...store.get().open.keys()];

it("has what was listed, what was asked since, and not what was answered", () => {
  const store = new ApprovalsStore();
  expect(store.get().loaded).toBe(false);
  store.replace([approval("a"), approval("b")]);
  store.take([asked("c"), answered("a")]);
  expect([store.get().loaded, open(store)]).toEqual([true, ["b", "c"]]);
});

it("is not fooled by a list that is older than the events", () => {
  const store = new ApprovalsStore();
  store.take([asked("b"), answered("a")]);
  store.replace([approval("a")], [approval("b")]);
  expect(open(store)).toEqual(["b"]);
});
