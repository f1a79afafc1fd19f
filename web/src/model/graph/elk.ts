/** A shape as the layout engine wants it, and its answer as places and ways. Pure: the engine itself is in a worker. */
import type { Shape, ShapeEdge, ShapeNode } from "./shape";

export interface Box {
  x: number;
  y: number;
  width: number;
  height: number;
}

export interface Point {
  x: number;
  y: number;
}

/** Where a line goes, from its source on. */
export type Way = readonly Point[];

export interface Layout {
  boxes: ReadonlyMap<string, Box>;
  ways: ReadonlyMap<string, Way>;
}

export type Direction = "RIGHT" | "DOWN";

export interface ElkNode {
  id: string;
  x?: number;
  y?: number;
  width?: number;
  height?: number;
  layoutOptions?: Record<string, string>;
  children?: ElkNode[];
  edges?: ElkEdge[];
}

export interface ElkEdge {
  id: string;
  sources: string[];
  targets: string[];
  sections?: { id: string; startPoint: Point; endPoint: Point; bendPoints?: Point[] }[];
}

export const CARD = { width: 224, height: 86 } as const;
export const GROUP_HEAD = 44;
/** Items of an open foreach: so many in a row, each so large with its gap. */
export const CELLS_IN_ROW = 12;
export const CELL = 17;
const PORT = { width: 92, height: 30 };
const PAD = 20;

export function sizeOf(node: ShapeNode): { width: number; height: number } {
  if (node.look === "port") return PORT;
  const rows = Math.ceil(node.cells / CELLS_IN_ROW);
  return rows === 0 ? CARD : { width: CARD.width, height: CARD.height + rows * CELL + 10 };
}

export function elkGraph(shape: Shape, direction: Direction): ElkNode {
  const children = new Map<string | null, ShapeNode[]>();
  for (const node of shape.nodes) children.set(node.parent, [...(children.get(node.parent) ?? []), node]);
  const made = (node: ShapeNode): ElkNode =>
    node.look === "group"
      ? {
          id: node.id,
          children: (children.get(node.id) ?? []).map(made),
          layoutOptions: { "elk.padding": `[top=${GROUP_HEAD + 12},left=${PAD},bottom=${PAD},right=${PAD}]` },
        }
      : { id: node.id, ...sizeOf(node) };
  return {
    id: "run",
    children: (children.get(null) ?? []).map(made),
    edges: shape.edges.map(elkEdge),
    layoutOptions: optionsFor(direction, shape),
  };
}

function optionsFor(direction: Direction, shape: Shape): Record<string, string> {
  const large = shape.nodes.length > 150; // the engine is to be done in a second
  return {
    "elk.algorithm": "layered",
    "elk.direction": direction,
    "elk.hierarchyHandling": "INCLUDE_CHILDREN",
    "elk.edgeRouting": "ORTHOGONAL",
    "elk.json.shapeCoords": "ROOT",
    "elk.json.edgeCoords": "ROOT",
    "elk.layered.considerModelOrder.strategy": "NODES_AND_EDGES",
    "elk.layered.cycleBreaking.strategy": "MODEL_ORDER",
    "elk.layered.nodePlacement.strategy": large ? "BRANDES_KOEPF" : "NETWORK_SIMPLEX",
    "elk.layered.thoroughness": large ? "1" : "7",
    "elk.layered.spacing.nodeNodeBetweenLayers": direction === "DOWN" ? "60" : "52",
    "elk.layered.spacing.edgeNodeBetweenLayers": "22",
    "elk.spacing.nodeNode": "28",
    "elk.spacing.edgeNode": "20",
    "elk.spacing.edgeEdge": "14",
    "elk.spacing.componentComponent": "56",
  };
}

function elkEdge(edge: ShapeEdge): ElkEdge {
  return { id: edge.id, sources: [edge.from], targets: [edge.to] };
}

export function layoutOf(answer: ElkNode): Layout {
  const boxes = new Map<string, Box>();
  const visit = (node: ElkNode) => {
    for (const child of node.children ?? []) {
      const { x = 0, y = 0, width = CARD.width, height = CARD.height } = child;
      boxes.set(child.id, { x, y, width, height });
      visit(child);
    }
  };
  visit(answer);
  return { boxes, ways: new Map((answer.edges ?? []).map((edge) => [edge.id, wayOf(edge)])) };
}

function wayOf(edge: ElkEdge): Way {
  return (edge.sections ?? []).flatMap((part) => [part.startPoint, ...(part.bendPoints ?? []), part.endPoint]);
}

/** How far from its source a line is labelled. */
const LABELLED_AT = 20;

/** Where the label of a jump stands: on the line, close to where it leaves. */
export function labelAt(way: Way): Point | null {
  const [first, second] = way;
  return first === undefined || second === undefined ? null : toward(first, second, LABELLED_AT);
}

/** An SVG path along the points, with round corners. */
export function pathOf(points: readonly Point[], radius = 8): string {
  const first = points[0];
  if (first === undefined) return "";
  let path = `M${first.x} ${first.y}`;
  for (let i = 1; i < points.length; i++) {
    const here = points[i] as Point;
    const next = points[i + 1];
    if (next === undefined) path += `L${here.x} ${here.y}`;
    else path += corner(points[i - 1] as Point, here, next, radius);
  }
  return path;
}

function corner(before: Point, here: Point, after: Point, radius: number): string {
  const from = toward(here, before, radius);
  const to = toward(here, after, radius);
  return `L${from.x} ${from.y}Q${here.x} ${here.y} ${to.x} ${to.y}`;
}

function toward(here: Point, there: Point, radius: number): Point {
  const length = Math.hypot(there.x - here.x, there.y - here.y);
  if (length === 0) return here;
  const share = Math.min(radius, length / 2) / length;
  return { x: here.x + (there.x - here.x) * share, y: here.y + (there.y - here.y) * share };
}
