/** The picture of the graph: cards where the layout has put them, lines below, zoom, minimap. Nothing in it is moved by hand. */
import { MiniMap, type Node as FlowNode, ReactFlow, useReactFlow, ViewportPortal, type Viewport } from "@xyflow/react";
import "@xyflow/react/dist/base.css";
import { memo, type RefObject, useCallback, useEffect, useMemo, useRef } from "react";
import type { Layout } from "../model/graph/elk";
import type { Shape, ShapeNode } from "../model/graph/shape";
import { Card } from "./card";
import { Group, Port } from "./group";
import { Lines } from "./lines";
import { MapNode } from "./map-node";
import type { PulseStore } from "./pulses";

interface Props {
  shape: Shape;
  layout: Layout;
  pulses: PulseStore;
  /** The id of the node to have in sight. */
  look: string | null;
}

/** None of them is named as a type of the canvas itself, which would bring its own look along. */
const TYPES = { "run-card": Card, "run-group": Group, "run-port": Port };
/** Below each zoom less can be read, so cards say less, larger: no details, then only the name, then only colour. */
const DISTANCES = [
  [0.18, "tiny"],
  [0.34, "far"],
  [0.62, "mid"],
] as const;
const MIN_ZOOM = 0.05;
const MAX_ZOOM = 1.75;
/** Room is left for the tools above. */
export const FIT = {
  padding: { top: "64px", right: "32px", bottom: "32px", left: "32px" },
  maxZoom: 1,
  minZoom: MIN_ZOOM,
} as const;

export const Canvas = memo(function Canvas({ shape, layout, pulses, look }: Props) {
  const frame = useRef<HTMLDivElement>(null);
  const nodes = useFlowNodes(shape, layout);
  const onMoved = useSight(frame, look, layout);
  const onMove = useCallback((_: unknown, { zoom }: Viewport) => {
    const distance = DISTANCES.find(([below]) => zoom < below)?.[1] ?? "near";
    if (frame.current !== null && frame.current.dataset["zoom"] !== distance) frame.current.dataset["zoom"] = distance;
  }, []);
  const onMoveStart = useCallback((event: unknown) => event !== null && onMoved(), [onMoved]);
  return (
    <div className="graph-canvas" ref={frame}>
      <ReactFlow
        nodes={nodes}
        nodeTypes={TYPES}
        fitView
        fitViewOptions={FIT}
        minZoom={MIN_ZOOM}
        maxZoom={MAX_ZOOM}
        nodesDraggable={false}
        nodesConnectable={false}
        nodesFocusable={false}
        edgesFocusable={false}
        elementsSelectable={false}
        disableKeyboardA11y
        deleteKeyCode={null}
        selectionKeyCode={null}
        multiSelectionKeyCode={null}
        zoomActivationKeyCode={null}
        zoomOnDoubleClick={false}
        proOptions={PLAIN}
        onMove={onMove}
        onMoveStart={onMoveStart}
      >
        <ViewportPortal>
          <Lines shape={shape} layout={layout} pulses={pulses} />
        </ViewportPortal>
        <MiniMap
          pannable
          zoomable
          nodeComponent={MapNode}
          ariaLabel="Where the view is in the whole graph"
          className="graph-map"
          style={MAP}
        />
      </ReactFlow>
    </div>
  );
});

const MAP = { width: 160, height: 108 };
const PLAIN = { hideAttribution: true };

/** Nodes that stay the very same objects as long as their place does. */
function useFlowNodes(shape: Shape, layout: Layout): FlowNode[] {
  const before = useRef(new Map<string, FlowNode>());
  return useMemo(() => {
    const found = new Map<string, FlowNode>();
    for (const node of shape.nodes) {
      const made = flowNode(node, layout);
      if (made === null) continue;
      const known = before.current.get(node.id);
      found.set(node.id, known !== undefined && samePlace(known, made) ? known : made);
    }
    before.current = found;
    return [...found.values()];
  }, [shape, layout]);
}

function flowNode(node: ShapeNode, layout: Layout): FlowNode | null {
  const box = layout.boxes.get(node.id);
  if (box === undefined) return null;
  const { x, y, width, height } = box;
  return {
    id: node.id,
    type: `run-${node.look}`,
    position: { x, y },
    width,
    height,
    measured: { width, height },
    zIndex: node.look === "group" ? -2 : 0,
    data: { node },
  };
}

function samePlace(a: FlowNode, b: FlowNode): boolean {
  return (
    a.type === b.type &&
    a.position.x === b.position.x &&
    a.position.y === b.position.y &&
    a.width === b.width &&
    a.height === b.height &&
    sameShape(a.data["node"] as ShapeNode, b.data["node"] as ShapeNode)
  );
}

function sameShape(a: ShapeNode, b: ShapeNode): boolean {
  return (
    a.key === b.key &&
    a.label === b.label &&
    a.mode === b.mode &&
    a.cells === b.cells &&
    a.members.length === b.members.length
  );
}

/**
 * Keeps the selected node in view. Until the user moves the view it shows the whole graph, or, where that would
 * be too small to read, the node to look at; later only a node that is out of sight moves it.
 */
function useSight(frame: RefObject<HTMLDivElement | null>, look: string | null, layout: Layout): () => void {
  const flow = useReactFlow();
  const moved = useRef(false);
  const place = useCallback(() => {
    const box = look === null ? undefined : layout.boxes.get(look);
    const sight = frame.current?.getBoundingClientRect();
    if (sight === undefined || sight.width === 0) return;
    const whole = Math.min(sight.width / extent(layout, "x"), sight.height / extent(layout, "y"));
    if (box === undefined || (!moved.current && whole > READABLE)) {
      if (!moved.current) void flow.fitView(FIT);
      return;
    }
    const center = { x: box.x + box.width / 2, y: box.y + Math.min(box.height, 200) / 2 };
    if (moved.current && isInside(sight, flow.flowToScreenPosition(center))) return;
    void flow.setCenter(center.x, center.y, { zoom: Math.max(flow.getZoom(), 0.7), duration: slow(200) });
  }, [flow, frame, look, layout]);
  useEffect(() => {
    if (frame.current === null) return undefined;
    const watching = new ResizeObserver(() => requestAnimationFrame(place)); // it tells of the first size, too
    watching.observe(frame.current);
    return () => watching.disconnect();
  }, [frame, place]);
  return useCallback(() => {
    moved.current = true;
  }, []);
}

/** Below it the names on the cards of a whole graph are too small. */
const READABLE = 0.34;
/** A node this near to the edge counts as out of sight. */
const EDGE = 110;

function extent(layout: Layout, axis: "x" | "y"): number {
  const length = axis === "x" ? "width" : "height";
  return Math.max(1, ...[...layout.boxes.values()].map((box) => box[axis] + box[length]));
}

function isInside(sight: DOMRect, { x, y }: { x: number; y: number }): boolean {
  return x > sight.left + EDGE && x < sight.right - EDGE && y > sight.top + EDGE / 2 && y < sight.bottom - EDGE / 2;
}

/** Movement takes no time for those who want none. */
export function slow(ms: number): number {
  return window.matchMedia("(prefers-reduced-motion: reduce)").matches ? 0 : ms;
}
