/** The picture of the graph: cards where the layout has put them, lines below, zoom, minimap. Nothing in it is moved by hand. */
import { MiniMap, type Node as FlowNode, ReactFlow, useReactFlow, ViewportPortal, type Viewport } from "@xyflow/react";
import "@xyflow/react/dist/base.css";
import { memo, useCallback, useEffect, useMemo, useRef } from "react";
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
/** Below the first, small words cannot be read: cards show their colour and name. Below the second, only colour. */
const FAR = 0.42;
const TINY = 0.2;
const MIN_ZOOM = 0.05;
const MAX_ZOOM = 1.75;
export const FIT = { padding: 0.12, maxZoom: 1, minZoom: MIN_ZOOM } as const;

export const Canvas = memo(function Canvas({ shape, layout, pulses, look }: Props) {
  const frame = useRef<HTMLDivElement>(null);
  const nodes = useFlowNodes(shape, layout);
  useLookAt(look, layout, nodes.length);
  const onMove = useCallback((_: unknown, { zoom }: Viewport) => {
    const distance = zoom < TINY ? "tiny" : zoom < FAR ? "far" : "near";
    if (frame.current !== null && frame.current.dataset["zoom"] !== distance) frame.current.dataset["zoom"] = distance;
  }, []);
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

/** Bring a node into sight when it is the one to look at, and it is not there yet. */
function useLookAt(id: string | null, layout: Layout, ready: number): void {
  const flow = useReactFlow();
  const seen = useRef<string | null>(null);
  useEffect(() => {
    const box = id === null ? undefined : layout.boxes.get(id);
    if (id === seen.current || ready === 0) return;
    seen.current = id;
    if (box === undefined) return;
    const center = { x: box.x + box.width / 2, y: box.y + Math.min(box.height, 200) / 2 };
    const timer = setTimeout(() => {
      if (isInSight(flow.flowToScreenPosition(center))) return;
      void flow.setCenter(center.x, center.y, { zoom: Math.max(flow.getZoom(), 0.7), duration: slow(250) });
    }, 60); // after the inspector has taken its room
    return () => clearTimeout(timer);
  }, [id, layout, ready, flow]);
}

function isInSight({ x, y }: { x: number; y: number }): boolean {
  const frame = document.querySelector(".graph-canvas")?.getBoundingClientRect();
  if (frame === undefined) return true;
  return x > frame.left + 60 && x < frame.right - 60 && y > frame.top + 60 && y < frame.bottom - 60;
}

/** Movement takes no time for those who want none. */
export function slow(ms: number): number {
  return window.matchMedia("(prefers-reduced-motion: reduce)").matches ? 0 : ms;
}
