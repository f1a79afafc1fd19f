/**
 * What the graph is looked at with: the node that is chosen, the modes that are shown, the failed path.
 *
 * It is a store and no props, so that the nodes given to the canvas never change: a card is drawn again only when what is
 * said about itself is another thing than before.
 */
import { createContext, useCallback, useContext } from "react";
import { useStore } from "../live/use-store";
import type { FailedPath } from "../model/graph/failed-path";
import type { ShapeNode } from "../model/graph/shape";
import { Cell } from "../model/observable";
import type { WorkMode } from "../model/labels";

export type Filter = "all" | WorkMode;

export interface ViewState {
  /** The key of the node in the inspector. */
  selected: string | null;
  filter: Filter;
  path: FailedPath | null;
}

export interface GraphView {
  runId: string;
  state: Cell<ViewState>;
  /** Opens or closes a sub-workflow or a foreach. */
  toggle: (id: string) => void;
}

const Context = createContext<GraphView | null>(null);
export const GraphProvider = Context.Provider;

export function useGraph(): GraphView {
  const found = useContext(Context);
  if (found === null) throw new Error("a part of the graph is drawn outside of it");
  return found;
}

export function firstState(): ViewState {
  return { selected: null, filter: "all", path: null };
}

/** The classes that a node has by how it is looked at: `is-selected`, `is-dim`, `is-cause`. */
export function useLook(node: ShapeNode): string {
  const { state } = useGraph();
  const select = useCallback((view: ViewState) => lookOf(view, node), [node]);
  return useStore(state, select);
}

export function lookOf(view: ViewState, node: ShapeNode): string {
  const found: string[] = [];
  if (view.selected === node.key) found.push("is-selected");
  const others = view.filter !== "all" && !node.modes.includes(view.filter) && node.look !== "group";
  const beside = view.path !== null && !isOnPath(view.path, node);
  if (others || beside) found.push("is-dim");
  if (view.path?.cause === node.id) found.push("is-cause");
  return found.join(" ");
}

function isOnPath(path: FailedPath, node: ShapeNode): boolean {
  return path.nodes.has(node.id) || (node.look === "card" && node.members.some((id) => path.nodes.has(id)));
}
