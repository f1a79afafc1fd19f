import { expect, test } from "vitest";
import { planOf } from "./plan-only";

const block = (id: string, effect: string, layer: number) => ({ id, name: id, effect, layer });

test("a run that only plans stops at the first effect", () => {
  const write = { id: "write", name: "write" };
  expect(planOf([block("read", "pure", 0), block("write", "idempotent", 1), block("tell", "pure", 2)])).toEqual({
    stops: [write],
    runs: 1,
  });
  expect(planOf([block("write", "once", 0), block("tell", "pure", 1)])).toEqual({ stops: [write], runs: 0 });
  expect(planOf([block("read", "pure", 0)])).toEqual({ stops: [], runs: 1 });
});
