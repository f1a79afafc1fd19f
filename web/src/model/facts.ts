/** The lines of a run's log, read with care: a pruned line has no data, and a newer program may say more. */
import { isObject, type Json, type JsonObject } from "../api/json";
import type { Fact } from "../api/types";
import { duration } from "./amounts";

const NONE: JsonObject = {};

export function dataOf(fact: Fact): JsonObject {
  return fact.data ?? NONE;
}

export function text(data: JsonObject, name: string): string {
  const value = data[name];
  return typeof value === "string" ? value : "";
}

export function number(data: JsonObject, name: string): number {
  const value = data[name];
  return typeof value === "number" ? value : 0;
}

export function object(data: JsonObject, name: string): JsonObject {
  const value = data[name];
  return isObject(value) ? value : NONE;
}

/** Which place in the run a fact is about: node, visit and item, as one name. */
export function placeOf(data: JsonObject): string {
  const item: Json | undefined = data["item"];
  return `${text(data, "node")}#${number(data, "visit")}#${typeof item === "number" ? item : ""}`;
}

/** How a fact sounds: an end is as good as its ending. */
export function factTone(fact: Fact): "bad" | "human" | "ok" | "plain" {
  const ending = text(dataOf(fact), "ending");
  if (/failed|denied|stalled|interrupted/.test(fact.type)) return "bad";
  if (ending !== "" && ending !== "ok") return ending === "cancelled" ? "plain" : "bad";
  if (/^approval/.test(fact.type)) return "human";
  return /succeeded|finished|ended/.test(fact.type) ? "ok" : "plain";
}

/** A few words about a fact, for one line of a list. */
export function summaryOf(fact: Fact): string {
  const data = dataOf(fact);
  const parts: string[] = [];
  if (number(data, "visit") > 1) parts.push(`visit ${number(data, "visit")}`);
  if (number(data, "attempt") > 0) parts.push(`attempt ${number(data, "attempt")}`);
  if (typeof data["item"] === "number") parts.push(`item ${data["item"]}`);
  for (const name of ["next", "reason", "ending", "workflow", "prompt", "by", "routeTo", "outcome"]) {
    if (text(data, name) !== "") parts.push(text(data, name));
  }
  const resolution = object(data, "resolution");
  if (resolution["status"] !== undefined) parts.unshift(text(resolution, "status"));
  const error = object(data, "error");
  if (error["code"] !== undefined) parts.push(`${text(error, "code")}: ${text(error, "message")}`);
  const artifact = object(data, "artifact");
  if (artifact["name"] !== undefined) parts.push(text(artifact, "name"));
  const call = object(data, "call");
  if (call["tool"] !== undefined) parts.push(text(call, "tool"), text(object(call, "gate"), "why"));
  if (number(data, "durationMs") > 0) parts.push(text(data, "status"), duration(number(data, "durationMs")));
  return parts
    .filter((part) => part !== "")
    .join(" · ")
    .replaceAll(/\s+/g, " ");
}
