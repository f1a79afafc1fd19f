/** Lays graphs out by the layout engine, which is large and slow: it is loaded when first needed, and has a worker. */
import type { ELK as Engine } from "elkjs/lib/elk-api.js";
import { type Direction, type ElkNode, elkGraph, type Layout, layoutOf } from "../model/graph/elk";
import { isHeavy, quickLayout } from "../model/graph/quick-layout";
import type { Shape } from "../model/graph/shape";

let engine: Promise<Engine> | null = null;

function started(): Promise<Engine> {
  engine ??= Promise.all([import("elkjs/lib/elk-api.js"), import("elkjs/lib/elk-worker.min.js?url")]).then(
    ([{ default: Elk }, { default: url }]) => new Elk({ workerUrl: url, workerFactory: (at) => new Worker(at ?? url) }),
  );
  return engine;
}

/** Begin to load it: the first layout comes sooner. */
export function warmUp(): void {
  started().catch(() => {
    engine = null; // the next layout tries again; this one fails with the error
  });
}

export async function layOut(shape: Shape, direction: Direction): Promise<Layout> {
  if (shape.nodes.length === 0) return { boxes: new Map(), ways: new Map() };
  if (isHeavy(shape)) return quickLayout(shape, direction);
  const elk = await started();
  return layoutOf(await elk.layout<ElkNode>(elkGraph(shape, direction)));
}
