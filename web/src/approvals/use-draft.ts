/** What a modified answer begins with: the form, and the values in it, asked for where the approval does not hold them. */
import { useCallback } from "react";
import { explainRun, getNode } from "../api/client";
import type { Port } from "../api/explanation";
import { isObject, type Json, type JsonObject } from "../api/json";
import type { Approval } from "../api/types";
import { type RequestState, useRequest } from "../live/use-request";
import { initial, type Schema } from "../model/form";
import { editable } from "../model/approval-kinds";

export interface Draft {
  form: Schema;
  values: Json | undefined;
}

/** The draft of an approval that holds all of it; null where something must be asked for. */
export function draftAtHand(approval: Approval): Draft | null {
  const form = approval.form;
  const isComplete = approval.kind === "call" || !approval.tool.stored; // the form of a call has its arguments
  if (approval.kind === "uncertain" || !isComplete) return null;
  return { form, values: initial(form, editable(approval)) };
}

export function useDraft(approval: Approval): RequestState<Draft> {
  const ask = useCallback((signal: AbortSignal) => draftOf(approval, signal), [approval]);
  return useRequest(ask);
}

async function draftOf(approval: Approval, signal: AbortSignal): Promise<Draft> {
  if (approval.kind === "uncertain") {
    const form = await outputsForm(approval, signal);
    return { form, values: initial(form) };
  }
  const form = approval.form;
  const node = await getNode(approval.runId, approval.nodeId, signal);
  const whole = { ...approval, tool: { ...approval.tool, args: node.inputs ?? {} } };
  return { form, values: initial(form, editable(whole)) };
}

/** A person who says that an effect happened enters its outputs, in the form of the node's contract. */
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
