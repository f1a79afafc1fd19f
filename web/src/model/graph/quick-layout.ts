/**
 * A layout in no time, for graphs that the layout engine would take minutes for: layers, each as near to what it comes
 * from as it gets. Layers that are too high are wrapped into columns, and chains that are too long into bands.
 */
import { type Box, type Direction, GROUP_HEAD, type Layout, type Point, sizeOf, type Way } from "./elk";
import type { Shape, ShapeEdge, ShapeNode } from "./shape";

/** Past so many nodes, or so many of them that depend on the same ones, the engine takes too long. */
const MOST_NODES = 500;
const MOST_BESIDE = 200;
/** Between layers, and between the nodes of one. */
const APART = 52;
const BESIDE = 28;
const PAD = 20;
/** A layer of so many nodes stays one column; what is wider than high by so much stays one band. */
const COLUMN = 24;
const WIDE = 6;
/** Width to height of a screen, about. */
const SCREEN = 1.7;

/** Everything is reckoned along the direction of the graph, and across it. */
interface Size {
  along: number;
  across: number;
}

interface Spot extends Size {
  id: string;
  at: number;
  aside: number;
}

interface Sheet {
  spots: readonly Spot[];
  size: Size;
}

export function isHeavy(shape: Shape): boolean {
  if (shape.nodes.length > MOST_NODES) return true;
  if (shape.nodes.length <= MOST_BESIDE) return false;
  const layers = layersOf(
    shape.nodes.map((node) => node.id),
    forward(shape.edges),
  );
  return layers.some((layer) => layer.length > MOST_BESIDE);
}

export function quickLayout(shape: Shape, direction: Direction): Layout {
  const inside = new Map<string | null, ShapeNode[]>();
  for (const node of shape.nodes) add(inside, node.parent, node);
  const lines = liftedOf(shape);
  const boxes = new Map<string, Box>();
  const lay = (parent: string | null): Sheet => {
    const sheets = new Map<string, Sheet>();
    const sizes = new Map<string, Size>();
    for (const node of inside.get(parent) ?? []) {
      if (node.look === "group") sheets.set(node.id, lay(node.id));
      sizes.set(node.id, turned(boxSize(node, sheets.get(node.id), direction), direction));
    }
    const own = sheetOf(sizes, lines.get(parent) ?? []);
    return {
      size: own.size,
      spots: own.spots.flatMap((spot) => [spot, ...moved(spot, sheets.get(spot.id), direction)]),
    };
  };
  for (const { id, at, aside, along, across } of lay(null).spots) {
    const [x, y] = direction === "RIGHT" ? [at, aside] : [aside, at];
    const [width, height] = direction === "RIGHT" ? [along, across] : [across, along];
    boxes.set(id, { x, y, width, height });
  }
  return { boxes, ways: waysOf(shape.edges, boxes, direction) };
}

function add<K, V>(to: Map<K, V[]>, key: K, value: V): void {
  const known = to.get(key);
  if (known === undefined) to.set(key, [value]);
  else known.push(value);
}

const turned = ({ width, height }: { width: number; height: number }, direction: Direction): Size =>
  direction === "RIGHT" ? { along: width, across: height } : { along: height, across: width };

function boxSize(node: ShapeNode, sheet: Sheet | undefined, direction: Direction): { width: number; height: number } {
  if (sheet === undefined) return sizeOf(node);
  const { along, across } = sheet.size;
  const [width, height] = direction === "RIGHT" ? [along, across] : [across, along];
  return { width: width + 2 * PAD, height: height + GROUP_HEAD + 12 + PAD };
}

/** What is in a group, where the group is. */
function moved(group: Spot, sheet: Sheet | undefined, direction: Direction): Spot[] {
  const head = turned({ width: PAD, height: GROUP_HEAD + 12 }, direction);
  return (sheet?.spots ?? []).map((spot) => ({
    ...spot,
    at: spot.at + group.at + head.along,
    aside: spot.aside + group.aside + head.across,
  }));
}

type Line = readonly [from: string, to: string];

const forward = (edges: readonly ShapeEdge[]): Line[] =>
  edges.filter((edge) => edge.kind !== "jump" && edge.from !== edge.to).map((edge) => [edge.from, edge.to]);

/** The lines inside each group, and outside of all: between those two there that hold their ends. */
function liftedOf(shape: Shape): Map<string | null, Line[]> {
  const parents = new Map(shape.nodes.map((node) => [node.id, node.parent]));
  const up = (id: string): string[] => {
    const found = [id];
    for (let at = parents.get(id) ?? null; at !== null; at = parents.get(at) ?? null) found.unshift(at);
    return found;
  };
  const lifted = new Map<string | null, Line[]>();
  for (const [from, to] of forward(shape.edges)) {
    const [a, b] = [up(from), up(to)];
    let depth = 0;
    while (a[depth] !== undefined && a[depth] === b[depth]) depth += 1;
    const [first, second] = [a[depth], b[depth]];
    if (first === undefined || second === undefined) continue; // one of them holds the other
    const where = depth === 0 ? null : (a[depth - 1] ?? null);
    add(lifted, where, [first, second]);
  }
  return lifted;
}

/** Each node one layer after the last of those it comes from; a circle is entered at its first node. */
function layersOf(ids: readonly string[], lines: readonly Line[]): string[][] {
  const after = new Map<string, string[]>(ids.map((id) => [id, []]));
  const owed = new Map(ids.map((id) => [id, 0]));
  for (const [from, to] of lines) {
    after.get(from)?.push(to);
    owed.set(to, (owed.get(to) ?? 0) + 1);
  }
  const layer = new Map<string, number>();
  const depth = new Map<string, number>();
  const ready = ids.filter((id) => owed.get(id) === 0);
  let next = 0;
  while (layer.size < ids.length) {
    let id = ready.pop();
    while (id === undefined) {
      const first = ids[next++] as string;
      if (!layer.has(first)) id = first;
    }
    if (layer.has(id)) continue;
    const at = depth.get(id) ?? 0;
    layer.set(id, at);
    for (const to of after.get(id) ?? []) {
      depth.set(to, Math.max(depth.get(to) ?? 0, at + 1));
      const left = (owed.get(to) ?? 0) - 1;
      owed.set(to, left);
      if (left === 0 && !layer.has(to)) ready.push(to);
    }
  }
  const layers: string[][] = [];
  for (const id of ids) (layers[layer.get(id) ?? 0] ??= []).push(id);
  return layers.filter((one) => one !== undefined);
}

function sheetOf(sizes: ReadonlyMap<string, Size>, lines: readonly Line[]): Sheet {
  const before = new Map<string, string[]>();
  for (const [from, to] of lines) add(before, to, from);
  const placed = new Map<string, Wish>();
  const blocks = layersOf([...sizes.keys()], lines).map((layer) => {
    const block = blockOf(layer, sizes, (id) => wishOf((before.get(id) ?? []).map((one) => placed.get(one))));
    for (const [at, { id, aside, across }] of block.entries())
      placed.set(id, { order: at / block.length, aside: aside + across / 2 });
    return block;
  });
  return banded(blocks);
}

/** Where a node would like to be: in which order in its layer, from 0 to 1, and around which place across. */
interface Wish {
  order: number;
  aside: number;
}

function wishOf(sources: readonly (Wish | undefined)[]): Wish | null {
  const found = sources.filter((source) => source !== undefined);
  if (found.length === 0) return null;
  const mean = (part: keyof Wish) => found.reduce((sum, one) => sum + one[part], 0) / found.length;
  return { order: mean("order"), aside: mean("aside") };
}

/** A layer from 0 on along the graph, its nodes in the order of what they come from, and as near to it as may be. */
function blockOf(
  layer: readonly string[],
  sizes: ReadonlyMap<string, Size>,
  wish: (id: string) => Wish | null,
): Spot[] {
  const wishes = new Map(layer.map((id) => [id, wish(id)]));
  const ordered = layer.toSorted((a, b) => (wishes.get(a)?.order ?? 0) - (wishes.get(b)?.order ?? 0));
  const rows = ordered.length <= COLUMN ? ordered.length : Math.ceil(Math.sqrt(ordered.length * SCREEN));
  const spots: Spot[] = [];
  let at = 0;
  for (let first = 0; first < ordered.length; first += rows) {
    let free = -Infinity;
    let longest = 0;
    for (const id of ordered.slice(first, first + rows)) {
      const { along, across } = sizes.get(id) as Size;
      const wanted = rows < ordered.length ? null : (wishes.get(id) ?? null);
      const near = wanted === null ? -Infinity : wanted.aside - across / 2;
      const aside = Math.max(near, free);
      spots.push({ id, at, aside: aside === -Infinity ? 0 : aside, along, across });
      free = (spots.at(-1)?.aside ?? 0) + across + BESIDE;
      longest = Math.max(longest, along);
    }
    at += longest + APART;
  }
  const off = spots.reduce((sum, { id, aside, across }) => sum + (wishes.get(id)?.aside ?? 0) - aside - across / 2, 0);
  return spots.map((spot) => ({ ...spot, aside: spot.aside + off / spots.length }));
}

/** The layers one after the other, in as many bands as make the whole about as wide as a screen. */
function banded(blocks: readonly Spot[][]): Sheet {
  const lengths = blocks.map((block) => Math.max(...block.map((spot) => spot.at + spot.along)) + APART);
  const whole = lengths.reduce((sum, one) => sum + one, 0);
  const spread = extent(blocks.flat());
  const bands = whole <= WIDE * spread.size ? 1 : Math.ceil(Math.sqrt(whole / (SCREEN * (spread.size + 2 * APART))));
  const most = blocks.length <= COLUMN ? Infinity : whole / bands;
  const spots: Spot[] = [];
  let [at, top, longest] = [0, 0, 0];
  let band: Spot[] = [];
  const close = () => {
    const { low, size } = extent(band);
    spots.push(...band.map((spot) => ({ ...spot, aside: spot.aside - low + top })));
    top += size + 2 * APART;
    [at, band] = [0, []];
  };
  for (const [index, block] of blocks.entries()) {
    if (at > 0 && at + (lengths[index] ?? 0) > most + APART) close();
    band.push(...block.map((spot) => ({ ...spot, at: spot.at + at })));
    at += lengths[index] ?? 0;
    longest = Math.max(longest, at - APART);
  }
  close();
  return { spots, size: { along: longest, across: top - 2 * APART } };
}

function extent(spots: readonly Spot[]): { low: number; size: number } {
  let [low, high] = [Infinity, -Infinity];
  for (const spot of spots) {
    low = Math.min(low, spot.aside);
    high = Math.max(high, spot.aside + spot.across);
  }
  return spots.length === 0 ? { low: 0, size: 0 } : { low, size: high - low };
}

function waysOf(edges: readonly ShapeEdge[], boxes: ReadonlyMap<string, Box>, direction: Direction): Map<string, Way> {
  const ways = new Map<string, Way>();
  for (const edge of edges) {
    const [from, to] = [boxes.get(edge.from), boxes.get(edge.to)];
    if (from === undefined || to === undefined) continue;
    const flip = (box: Box): Box => ({ x: box.y, y: box.x, width: box.height, height: box.width });
    const way =
      direction === "RIGHT" ? wayOf(from, to) : wayOf(flip(from), flip(to)).map(({ x, y }) => ({ x: y, y: x }));
    ways.set(edge.id, way);
  }
  return ways;
}

/** Out of the far side of one and into the near side of the other; a way back goes around below. */
function wayOf(from: Box, to: Box): Point[] {
  const out = { x: from.x + from.width, y: from.y + from.height / 2 };
  const into = { x: to.x, y: to.y + to.height / 2 };
  const turn = into.x - APART / 2;
  if (turn >= out.x) return [out, { x: turn, y: out.y }, { x: turn, y: into.y }, into];
  const below = from.y + from.height + BESIDE / 2;
  const bend = out.x + APART / 2;
  return [out, { x: bend, y: out.y }, { x: bend, y: below }, { x: turn, y: below }, { x: turn, y: into.y }, into];
}
