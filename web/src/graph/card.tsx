/** A node of the graph as a card: its mode, its name, how it is doing, and what it took. */
import { memo, useCallback } from "react";
import { Link } from "../navigation/link";
import { paths } from "../navigation/paths";
import { useRunPart } from "../live/hooks";
import { useNow } from "../live/use-now";
import { count, duration, money } from "../model/amounts";
import type { ShapeNode } from "../model/graph/shape";
import { sameNodeStatus, type NodeStatus, nodeStatusOf } from "../model/graph/node-status";
import type { RunState } from "../model/run-store";
import { ModeBadge } from "../ui/badge";
import { Icon } from "../ui/icon";
import { Cells } from "./item-cells";
import { openNode } from "./open-node";
import { countRender } from "./render-count";
import { useGraph, useLook } from "./view-state";

interface Props {
  data: { node: ShapeNode };
}

export const Card = memo(function Card({ data: { node } }: Props) {
  countRender(node.key);
  const { runId } = useGraph();
  const standing = useStanding(runId, node);
  const look = useLook(node);
  if (standing === null) return null;
  const tone = standing.word.tone;
  return (
    <div
      className={`node-card mode-edge-${node.mode} tone-edge-${tone} ${look}`}
      data-key={node.key}
      data-status={standing.word.text}
      onClick={(event) => openNode(event, runId, node.key)}
    >
      <div className="node-head">
        <ModeBadge mode={node.mode} />
        <Link to={paths.node(runId, node.key)} className="node-link" draggable={false}>
          {node.label}
        </Link>
        <Toggle node={node} standing={standing} />
      </div>
      <Middle node={node} standing={standing} />
      <div className="node-foot number">
        <span className={`node-word word-${tone}`}>
          <i className="node-dot" aria-hidden="true" />
          {standing.word.text}
        </span>
        <Taken standing={standing} />
      </div>
      {node.cells > 0 && <Cells node={node} done={standing.done} />}
    </div>
  );
});

/** How the node is doing; the component is drawn again only when that changes. */
export function useStanding(runId: string, node: ShapeNode): NodeStatus | null {
  const select = useCallback(
    ({ run }: RunState) => {
      const found = run?.nodes[node.id];
      return run === null || found === undefined ? null : nodeStatusOf(run, found, node.members);
    },
    [node],
  );
  return useRunPart(runId, select, sameOrNone);
}

function sameOrNone(a: NodeStatus | null, b: NodeStatus | null): boolean {
  return a === b || (a !== null && b !== null && sameNodeStatus(a, b));
}

/** A few words of what it does or did; of many things, how many of them are done. */
function Middle({ node, standing }: { node: ShapeNode; standing: NodeStatus }) {
  if (standing.total === 0) return <div className="node-summary">{standing.summary}</div>;
  const what = node.members.length > 0 ? "steps" : "items";
  return (
    <div className="node-progress">
      <progress max={standing.total} value={standing.done} aria-label={`${what} done of ${node.label}`} />
      <span className="number">
        {count(standing.done)} / {count(standing.total)} {what}
      </span>
    </div>
  );
}

export function Taken({ standing }: { standing: NodeStatus }) {
  const { startedAt, endedAt } = standing;
  const goesOn = startedAt !== null && endedAt === null && standing.word.tone === "busy";
  const now = useNow(1_000, goesOn);
  const took = goesOn ? now - Date.parse(startedAt) : standing.tookMs;
  return (
    <span className="node-taken">
      {standing.attempts > 1 && standing.total === 0 && (
        <span title={`${standing.attempts} attempts`}>
          <Icon name="retry" size={11} />
          {standing.attempts}
        </span>
      )}
      {standing.costUsd > 0 && <span title="Cost">{money(standing.costUsd)}</span>}
      {took !== null && <span title={goesOn ? "Time so far" : "Time at work"}>{duration(took)}</span>}
    </span>
  );
}

/** Opens what is inside. */
export function Toggle({ node, standing }: { node: ShapeNode; standing: NodeStatus }) {
  const { toggle } = useGraph();
  const many = node.members.length === 0 && standing.total > 0;
  if (!many && node.members.length === 0) return null;
  const open = node.look === "group" || node.cells > 0;
  const what = many ? "the items" : "the steps";
  return (
    <button
      type="button"
      className="node-toggle nopan"
      aria-expanded={open}
      aria-label={`${open ? "Close" : "Open"} ${what} of ${node.label}`}
      onClick={() => toggle(node.id)}
    >
      <Icon name={open ? "down" : "chevron"} size={14} />
    </button>
  );
}
