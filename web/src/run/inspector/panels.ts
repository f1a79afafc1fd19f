/** The panels of the inspector, and which of them say something about a node. */
import type { ComponentType } from "react";
import type { Artifact, Node } from "../../api/types";
import { modeOf } from "../../model/labels";
import { Attempts } from "./attempts";
import { Changes } from "./changes";
import { Conversation } from "./conversation";
import { Checks } from "./gates";
import { Data } from "./inputs-outputs";
import { Files } from "./files";
import { Items } from "./items";
import { isLog, Logs } from "./logs";
import { Messages } from "./messages";
import type { PanelProps } from "./panel";
import { Prompt } from "./prompt";
import { Receipts } from "./receipts";
import { Summary } from "./summary";
import { Tools } from "./tools";

export interface Panel {
  id: string;
  name: string;
  view: ComponentType<PanelProps>;
  /** Left out: always. */
  when?: (node: Node, artifacts: readonly Artifact[]) => boolean;
  count?: (node: Node, artifacts: readonly Artifact[]) => number;
}

const isModel = (node: Node) => modeOf(node) === "ai";
const isAgent = (node: Node) => node.kind === "agent";
/** Nodes of a live graph have a role of their own; those of blocks and plans have their mode or op. */
const isTalkedTo = (node: Node) => isModel(node) || (node.op === null && node.roleTemplate !== node.mode);

export const PANELS: readonly [Panel, ...Panel[]] = [
  { id: "summary", name: "Summary", view: Summary },
  { id: "conversation", name: "Conversation", view: Conversation, when: isAgent },
  { id: "data", name: "Data", view: Data },
  {
    id: "items",
    name: "Items",
    view: Items,
    when: (node) => node.items !== null,
    count: (node) => node.items?.total ?? 0,
  },
  { id: "attempts", name: "Attempts", view: Attempts, count: (node) => node.attempts },
  {
    id: "checks",
    name: "Checks",
    view: Checks,
    count: (node) => node.verdicts.filter((one) => one["passed"] === false).length,
  },
  { id: "prompt", name: "Prompt", view: Prompt, when: isModel },
  { id: "messages", name: "Messages", view: Messages, when: (node) => isTalkedTo(node) && !isAgent(node) },
  {
    id: "tools",
    name: "Tools",
    view: Tools,
    when: (node) => isAgent(node) || (!isModel(node) && modeOf(node) !== "approval"),
  },
  {
    id: "changes",
    name: "Changes",
    view: Changes,
    when: (node) => node.outcome === "succeeded" || isAgent(node),
  },
  { id: "files", name: "Files", view: Files, when: (_, made) => made.length > 0, count: (_, made) => made.length },
  {
    id: "logs",
    name: "Logs",
    view: Logs,
    when: (node, made) => node.kind === "handler" || made.some(isLog),
    count: (_, made) => made.filter(isLog).length,
  },
  { id: "receipts", name: "Receipts", view: Receipts },
];
