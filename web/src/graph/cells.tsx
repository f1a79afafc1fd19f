/** The items of an open foreach, one small square each, coloured by its state. */
import { useCallback } from "react";
import { listItems } from "../api/client";
import { useAsked } from "../live/use-asked";
import type { ShapeNode } from "../model/graph/shape";
import { useGraph } from "./view-state";

export function Cells({ node, done }: { node: ShapeNode; done: number }) {
  const { runId } = useGraph();
  const ask = useCallback(
    async (signal: AbortSignal) => (await listItems(runId, node.id, null, signal)).items,
    [runId, node.id, done],
  );
  const { value } = useAsked(ask);
  return (
    <div className="node-cells" role="img" aria-label={`${done} of ${node.cells} items are done`}>
      {Array.from({ length: node.cells }, (_, index) => (
        <i key={index} className={`cell cell-${value?.[index]?.state ?? "ready"}`} />
      ))}
    </div>
  );
}
