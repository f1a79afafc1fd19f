/** The lines between nodes, all in one picture below the cards; what goes along one moves on it. */
import { memo, useCallback, useMemo } from "react";
import { useRunPart } from "../live/hooks";
import { useStore } from "../live/use-store";
import { labelAt, type Layout, pathOf, type Point, type Way } from "../model/graph/elk";
import type { Shape, ShapeEdge } from "../model/graph/shape";
import { type LineState, lineState } from "../model/graph/node-status";
import type { RunState } from "../model/run-store";
import { PULSE_MS, type Pulses, type PulseStore } from "./pulses";
import { useGraph, type ViewState } from "./view-state";

interface Props {
  shape: Shape;
  layout: Layout;
  pulses: PulseStore;
}

export const Lines = memo(function Lines({ shape, layout, pulses }: Props) {
  return (
    <>
      <svg className="graph-lines" aria-hidden="true">
        <defs>
          {(["ahead", "flowing", "gone", "failed"] as const).map((state) => (
            <marker
              key={state}
              id={`arrow-${state}`}
              viewBox="0 0 8 8"
              refX="7"
              refY="4"
              markerWidth="7"
              markerHeight="7"
              orient="auto-start-reverse"
            >
              <path d="M1 1 7 4 1 7" className={`arrow arrow-${state}`} />
            </marker>
          ))}
        </defs>
        {shape.edges.map((edge) => {
          const way = layout.ways.get(edge.id);
          return way === undefined ? null : <Line key={edge.id} edge={edge} way={way} pulses={pulses} />;
        })}
      </svg>
      {shape.edges.filter(isLabelled).map((edge) => (
        <Label key={edge.id} edge={edge} at={labelAt(layout.ways.get(edge.id) ?? [])} />
      ))}
    </>
  );
});

/** Jumps say why they are taken; those to the next step need not. */
const isLabelled = (edge: ShapeEdge) => edge.kind === "jump" && edge.label !== "next";

function Label({ edge, at }: { edge: ShapeEdge; at: Point | null }) {
  if (at === null) return null;
  const place = { transform: `translate(${at.x}px, ${at.y}px) translate(-50%, -50%)` };
  return (
    <span className="line-label" style={place}>
      {edge.label}
    </span>
  );
}

const Line = memo(function Line({ edge, way, pulses }: { edge: ShapeEdge; way: Way; pulses: PulseStore }) {
  const path = useMemo(() => pathOf(way), [way]);
  const state = useLineState(edge);
  const onPath = useOnPath(edge);
  const pulse = useStore(
    pulses.cell,
    useCallback((all: Pulses) => all.get(edge.id) ?? 0, [edge]),
  );
  const look = onPath === "cause" ? "failed" : state;
  return (
    <g className={`line line-${edge.kind} line-${look} ${onPath === "off" ? "is-dim" : ""}`} data-line={edge.id}>
      <path d={path} className="line-path" markerEnd={`url(#arrow-${look})`}>
        <title>{edge.label}</title>
      </path>
      {pulse > 0 && <Pulse key={pulse} path={path} />}
    </g>
  );
});

function Pulse({ path }: { path: string }) {
  return (
    <circle r="5" className="pulse">
      <animateMotion dur={`${PULSE_MS}ms`} path={path} begin="indefinite" fill="freeze" ref={begin} />
    </circle>
  );
}

/** It begins when it is there: the clock of the picture has been running since the page was drawn. */
function begin(element: SVGAnimateMotionElement | null): void {
  element?.beginElement();
}

function useLineState(edge: ShapeEdge): LineState {
  const { runId } = useGraph();
  const select = useCallback(
    ({ run }: RunState): LineState => lineState(run?.nodes[edge.from], run?.nodes[edge.to]),
    [edge],
  );
  return useRunPart(runId, select);
}

/** Whether the failed path goes along it: it does, its end is the cause, it does not; "none" where no path is shown. */
function useOnPath(edge: ShapeEdge): "none" | "on" | "cause" | "off" {
  const { state } = useGraph();
  const select = useCallback(
    ({ path }: ViewState) => {
      if (path === null) return "none";
      if (!path.nodes.has(edge.from) || !path.nodes.has(edge.to)) return "off";
      return path.cause === edge.to ? "cause" : "on";
    },
    [edge],
  );
  return useStore(state, select);
}
