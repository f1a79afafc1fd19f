/** The items of an open foreach, one small square each, coloured by its state. */
import { useCallback } from "react";
import { listItems } from "../api/client";
import type { Item } from "../api/types";
import { useRequest } from "../live/use-request";
import type { ShapeNode } from "../model/graph/shape";
import { useGraph } from "./view-state";

export function Cells({ node, done }: { node: ShapeNode; done: number }) {
  const { runId } = useGraph();
  // `done` is no input of the request, but the items are asked for again when it changes.
  const ask = useCallback(
    async (signal: AbortSignal) => (await listItems(runId, node.id, null, signal)).items,
    // eslint-disable-next-line react-hooks/exhaustive-deps
    [runId, node.id, done],
  );
  const { value } = useRequest(ask);
  return (
    <div className="node-cells" role="img" aria-label={`${done} of ${node.cells} items are done`}>
      {Array.from({ length: node.cells }, (_, index) => (
        <i key={index} className={`cell cell-${stateOf(value?.[index])}`} />
      ))}
    </div>
  );
}

function stateOf(item: Item | undefined): string {
  return item?.error ? "failed" : (item?.state ?? "ready");
}
