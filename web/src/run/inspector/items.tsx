/** The items of a foreach, page by page, with what each one gave. */
import { useCallback, useState } from "react";
import { listItems } from "../../api/client";
import type { Item } from "../../api/types";
import { useRequest } from "../../live/use-request";
import type { Label } from "../../model/labels";
import { StatusBadge } from "../../ui/badge";
import { Button } from "../../ui/button";
import { JsonTree } from "../../ui/json-tree";
import { Answer, Nothing, type PanelProps } from "./panel";

const WORDS: Record<Item["state"], Label> = {
  ready: { text: "Ready", tone: "still" },
  running: { text: "Running", tone: "busy" },
  waiting: { text: "Waits to be tried again", tone: "warn" },
  asking: { text: "Waiting for a person", tone: "warn" },
  done: { text: "Done", tone: "ok" },
};
const FAILED: Label = { text: "Failed", tone: "bad" };

export function Items({ id, node }: PanelProps) {
  const [after, setAfter] = useState<readonly number[]>([]);
  const from = after.at(-1) ?? null;
  const counted = `${node.items?.done} ${node.items?.running} ${node.items?.total}`;
  const page = useRequest(
    useCallback(
      (signal: AbortSignal) => {
        void counted; // other numbers, other items
        return listItems(id, node.id, from, signal);
      },
      [id, node.id, from, counted],
    ),
  );
  return (
    <Answer asked={page}>
      {({ items, nextAfter }) => (
        <>
          {items.length === 0 && <Nothing>There are no items.</Nothing>}
          <ol className="items">
            {items.map((item) => (
              <One key={item.index} item={item} />
            ))}
          </ol>
          <div className="panel-tools">
            {after.length > 0 && <Button onClick={() => setAfter(after.slice(0, -1))}>Back</Button>}
            {nextAfter !== null && <Button onClick={() => setAfter([...after, nextAfter])}>More items</Button>}
          </div>
        </>
      )}
    </Answer>
  );
}

function One({ item }: { item: Item }) {
  return (
    <li className="item">
      <span className="item-number number">{item.index}</span>
      <StatusBadge word={item.error ? FAILED : WORDS[item.state]} />
      {item.kept && <span className="muted small">in the run it was forked from</span>}
      {item.attempts > 1 && <span className="muted small">{item.attempts} attempts</span>}
      {item.error && (
        <span className="small">
          <code>{item.error.code}</code> {item.error.message}
        </span>
      )}
      {item.outputs && <JsonTree value={item.outputs} label={`Outputs of item ${item.index}`} />}
    </li>
  );
}
