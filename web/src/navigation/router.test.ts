import { expect, it } from "vitest";
import { paths } from "./paths";
import { match } from "./router";

it.each([
  ["/", "/", {}],
  ["/runs/:id", "/runs/7", { id: "7" }],
  ["/runs/:id", "/runs/7/", { id: "7" }],
  ["/runs/:id", "/runs", null],
  ["/runs/:id", "/runs/7/nodes", null],
  ["/runs/:id/nodes/*key", "/runs/7/nodes/outer/in%20ner", { id: "7", key: "outer/in ner" }],
  ["/runs/:id/nodes/*key", "/runs/7/nodes", null],
  ["/runs/:id", "/runs/100%", { id: "100%" }],
])("%s and %s", (pattern, path, params) => {
  expect(match(pattern, path)).toEqual(params);
});

it("finds again what an address was made of", () => {
  expect(match("/runs/:id/nodes/*key", paths.node("r", "a b/c%d"))).toEqual({ id: "r", key: "a b/c%d" });
  expect(match("/start/*workflow", paths.startOf("flows/é.yaml"))).toEqual({ workflow: "flows/é.yaml" });
});
