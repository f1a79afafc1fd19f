/** A node on the minimap: the colour of its mode once it is done, until then that of how it stands. */
import type { MiniMapNodeProps } from "@xyflow/react";
import { memo } from "react";
import { useNode } from "../live/hooks";
import { modeOf, nodeLabel } from "../model/labels";
import { useGraph } from "./view-state";

export const MapNode = memo(function MapNode({ id, x, y, width, height }: MiniMapNodeProps) {
  const { runId } = useGraph();
  const node = useNode(runId, id);
  if (node === null) return null;
  const tone = nodeLabel(node).tone;
  const look = tone === "ok" ? `map-${modeOf(node)}` : `map-${tone}`;
  return <rect x={x} y={y} width={width} height={height} className={`map-node ${look}`} />;
});
