import { describe, expect, it } from "vitest";
import { againOf, hasDoneItems, meaningOf, USUAL } from "./fork-items";

describe("the items that a fork does again", () => {
  it("are left to the server unless the user chooses", () => {
    expect(againOf(USUAL)).toEqual({});
    expect(againOf({ which: "unfinished", typed: "1" })).toEqual({ items: "unfinished" });
    expect(againOf({ which: "some", typed: "1, 4-5" })).toEqual({ items: [1, 4, 5] });
    expect(againOf({ which: "some", typed: "x" })).toBeNull();
  });

  it("are all of them after a change of the code, unless the user keeps the finished ones", () => {
    expect(meaningOf("usual", "failed")).toContain("the code of its handler has changed, all are done again");
    for (const which of ["unfinished", "some"] as const)
      for (const outcome of ["failed", "succeeded", null] as const)
        expect(meaningOf(which, outcome)).toContain("Finished items are kept");
    expect(meaningOf("all", "failed")).toBeNull();
    expect(meaningOf("usual", "succeeded")).toBeNull();
  });

  it("are to be chosen where some are done", () => {
    expect(hasDoneItems({ items: { done: 2, running: 0, total: 3 } })).toBe(true);
    expect(hasDoneItems({ items: { done: 0, running: 0, total: 3 } })).toBe(false);
    expect(hasDoneItems({ items: null })).toBe(false);
  });
});
