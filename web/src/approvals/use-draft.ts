/** What a modified answer begins with: the form, and the values in it, asked for where the approval does not hold them. */
import { useCallback } from "react";
import { explainRun, getNode } from "../api/client";
import type { Port } from "../api/explanation";
import { isObject, type Json, type JsonObject } from "../api/json";
import type { Approval } from "../api/types";
import { type Asked, useAsked } from "../live/use-asked";
import { initial, type Schema } from "../model/form";
import { editable } from "../model/questions";

export interface Draft {
  form: Schema;
  values: Json | undefined;
}

/** The draft of an approval that holds all of it; null where something must be asked for. */
export function draftAtHand(approval: Approval): Draft | null {
  if (approval.kind === "uncertain" || approval.tool.stored) return null;
  const form = approval.form as Schema;
  return { form, values: initial(form, editable(approval)) };
}

export function useDraft(approval: Approval): Asked<Draft> {
  const ask = useCallback((signal: AbortSignal) => draftOf(approval, signal), [approval]);
  return useAsked(ask);
}

async function draftOf(approval: Approval, signal: AbortSignal): Promise<Draft> {
  if (approval.kind === "uncertain") {
    const form = await outputsForm(approval, signal);
    return { form, values: initial(form) };
  }
  const form = approval.form as Schema;
  const node = await getNode(approval.runId, approval.nodeId, signal);
  const whole = { ...approval, tool: { ...approval.tool, args: (node.inputs ?? {}) as JsonObject } };
  return { form, values: initial(form, editable(whole)) };
}

/** Whoever says that an effect happened says with which outputs: those that the node's contract wants. */
async function outputsForm(approval: Approval, signal: AbortSignal): Promise<Schema> {
  const explained = await explainRun(approval.runId, signal);
  const ports = explained.blocks.find((block) => block.id === approval.node)?.outputs ?? [];
  const properties = ports.map((port): [string, Json] => [port.name, schemaOf(port)]);
  return {
    type: "object",
    properties: Object.fromEntries(properties),
    required: ports.filter((port) => port.required).map((port) => port.name),
  };
}

function schemaOf(port: Port): JsonObject {
  const schema = port.schema as Json;
  return isObject(schema) ? schema : {};
}
