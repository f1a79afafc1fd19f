/**
 * What is drawn of a run's graph: cards, groups for open sub-workflows, and one line for all edges between the same two.
 *
 * A sub-workflow is the node that stands for it (`parent` of its parts). Open, it is a group around them; closed, one
 * card, and what leads into its parts leads to it.
 */
import type { Edge, Node, Run } from "../../api/types";
import { type Mode, modeOf, type WorkMode } from "../labels";

export type Graph = Pick<Run, "nodes" | "edges">;

export interface ShapeNode {
  id: string;
  key: string;
  label: string;
  mode: Mode;
  /** What the filter by mode goes by: its own mode; of a sub-workflow, the modes of its parts. */
  modes: readonly Mode[];
  /** A group is drawn around its parts; a port is where a sub-workflow takes its inputs. */
  look: "card" | "group" | "port";
  /** The open group it is drawn in. */
  parent: string | null;
  /** All parts of a sub-workflow, drawn or not, itself left out; empty for all others. */
  members: readonly string[];
  /** Of an open foreach: how many of its items are drawn. */
  cells: number;
}

export interface ShapeEdge {
  id: string;
  from: string;
  to: string;
  kind: Edge["kind"];
  /** What is said about it: jumps are drawn with it. */
  label: string;
  /** The edges of the run that it stands for. */
  ids: readonly string[];
}

export interface Shape {
  nodes: readonly ShapeNode[];
  edges: readonly ShapeEdge[];
}

/** So many items of an open foreach are drawn; there is a page of all of them in the inspector. */
export const MOST_CELLS = 96;

/** The shape of a graph in which the sub-workflows of `closed` are closed and the foreach of `open` show their items. */
export function shapeOf(graph: Graph, closed: ReadonlySet<string>, open: ReadonlySet<string>): Shape {
  const parts = partsOf(graph.nodes);
  const shown = new Map<string, string>();
  for (const node of Object.values(graph.nodes)) shown.set(node.id, outermostClosed(graph.nodes, node, closed));
  const nodes = Object.values(graph.nodes)
    .filter((node) => shown.get(node.id) === node.id)
    .map((node) => ({ ...shapeNode(node, parts, closed, open), modes: modesOf(graph.nodes, node, parts) }));
  return { nodes, edges: edgesOf(graph, shown, new Set(nodes.filter(isGroup).map((node) => node.id))) };
}

/** The sub-workflows that have parts. */
export function groupsOf(nodes: Run["nodes"]): string[] {
  return [...partsOf(nodes).keys()];
}

/** How many nodes there are of each mode, and of all together. The frame of a sub-workflow and its ports do no work. */
export function modeCounts(nodes: Run["nodes"]): Record<"all" | WorkMode, number> {
  const counts = { all: 0, ai: 0, deterministic: 0, approval: 0 };
  for (const node of Object.values(nodes)) {
    const mode = modeOf(node);
    if (mode === "dag") continue;
    counts.all += 1;
    counts[mode] += 1;
  }
  return counts;
}

function modesOf(nodes: Run["nodes"], node: Node, parts: ReadonlyMap<string, string[]>): readonly Mode[] {
  const inside = (parts.get(node.id) ?? []).flatMap((id) => nodes[id] ?? []);
  return inside.length === 0 ? [modeOf(node)] : [...new Set(inside.map(modeOf))];
}

const isGroup = (node: Pick<ShapeNode, "look">) => node.look === "group";

function shapeNode(
  node: Node,
  parts: ReadonlyMap<string, string[]>,
  closed: ReadonlySet<string>,
  open: ReadonlySet<string>,
): Omit<ShapeNode, "modes"> {
  const members = parts.get(node.id) ?? [];
  const isPort = node.parent !== null && node.mode === "dag" && node.key.endsWith("/inputs");
  return {
    id: node.id,
    key: node.key,
    label: shortLabel(node),
    mode: modeOf(node),
    look: members.length > 0 && !closed.has(node.id) ? "group" : isPort ? "port" : "card",
    parent: node.parent,
    members,
    cells: open.has(node.id) ? Math.min(node.items?.total ?? 0, MOST_CELLS) : 0,
  };
}

/** Inside of a group, the group's own name says where a part belongs. */
function shortLabel(node: Node): string {
  return node.label === node.key ? (node.key.split("/").at(-1) ?? node.key) : node.label;
}

/** The parts of each sub-workflow, those of its own sub-workflows included. */
function partsOf(nodes: Run["nodes"]): Map<string, string[]> {
  const parts = new Map<string, string[]>();
  for (const node of Object.values(nodes)) {
    for (let at = node.parent; at !== null; at = nodes[at]?.parent ?? null) {
      const known = parts.get(at);
      if (known === undefined) parts.set(at, [node.id]);
      else known.push(node.id);
    }
  }
  return parts;
}

function outermostClosed(nodes: Run["nodes"], node: Node, closed: ReadonlySet<string>): string {
  let found = node.id;
  for (let at = node.parent; at !== null; at = nodes[at]?.parent ?? null) if (closed.has(at)) found = at;
  return found;
}

/** One line for all edges of a kind between the same two; none from a part to the open group around it. */
function edgesOf(graph: Graph, shown: ReadonlyMap<string, string>, groups: ReadonlySet<string>): ShapeEdge[] {
  const lines = new Map<string, { edge: Edge; from: string; to: string; ids: string[]; labels: string[] }>();
  for (const edge of Object.values(graph.edges)) {
    const from = shown.get(edge.from);
    const to = shown.get(edge.to);
    if (from === undefined || to === undefined || (from === to && edge.from !== edge.to)) continue;
    if (groups.has(to) && isInside(graph.nodes, from, to)) continue;
    const id = `${from}>${to}>${edge.kind === "jump" ? edge.label : edge.kind}`;
    const line = lines.get(id);
    if (line === undefined) lines.set(id, { edge, from, to, ids: [edge.id], labels: [edge.label] });
    else {
      line.ids.push(edge.id);
      line.labels.push(edge.label);
    }
  }
  return [...lines].map(([id, { edge, from, to, ids, labels }]) => ({
    id,
    from,
    to,
    kind: edge.kind,
    label: [...new Set(labels)].join(", "),
    ids,
  }));
}

function isInside(nodes: Run["nodes"], inner: string, outer: string): boolean {
  for (let at = nodes[inner]?.parent ?? null; at !== null; at = nodes[at]?.parent ?? null)
    if (at === outer) return true;
  return false;
}

/** True if two graphs have the same shape, whichever groups are open. Otherwise the layout is computed again. */
export function sameGraph(a: Graph | null, b: Graph | null): boolean {
  if (a === b) return true;
  if (a === null || b === null || a.edges !== b.edges) return false;
  if (a.nodes === b.nodes) return true;
  const ids = Object.keys(a.nodes);
  return ids.length === Object.keys(b.nodes).length && ids.every((id) => samePlace(a.nodes[id], b.nodes[id]));
}

function samePlace(a: Node | undefined, b: Node | undefined): boolean {
  if (a === b) return true;
  if (a === undefined || b === undefined) return false;
  return (
    a.key === b.key &&
    a.label === b.label &&
    a.mode === b.mode &&
    a.parent === b.parent &&
    (a.items?.total ?? -1) === (b.items?.total ?? -1)
  );
}
