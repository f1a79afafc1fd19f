/** An open sub-workflow, drawn around its parts; and the place where it takes its inputs. */
import { memo } from "react";
import { Link } from "../navigation/link";
import { paths } from "../navigation/paths";
import { ModeBadge } from "../ui/badge";
import type { ShapeNode } from "../model/graph/shape";
import { Taken, Toggle, useStanding } from "./card";
import { openNode } from "./open-node";
import { countRender } from "./render-count";
import { useGraph, useLook } from "./view-state";

interface Props {
  data: { node: ShapeNode };
}

export const Group = memo(function Group({ data: { node } }: Props) {
  countRender(node.key);
  const { runId } = useGraph();
  const standing = useStanding(runId, node);
  const look = useLook(node);
  if (standing === null) return null;
  return (
    <div className={`node-group ${look}`} data-key={node.key} data-status={standing.word.text}>
      <div className="node-head">
        <ModeBadge mode={node.mode} />
        <Link to={paths.node(runId, node.key)} className="node-link-plain" draggable={false}>
          {node.label}
        </Link>
        <span className={`node-word word-${standing.word.tone}`}>
          <i className="node-dot" aria-hidden="true" />
          {standing.word.text}
        </span>
        <Taken standing={standing} />
        <Toggle node={node} standing={standing} />
      </div>
    </div>
  );
});

export const Port = memo(function Port({ data: { node } }: Props) {
  countRender(node.key);
  const { runId } = useGraph();
  const look = useLook(node);
  return (
    <div className={`node-port ${look}`} data-key={node.key} onClick={(event) => openNode(event, runId, node.key)}>
      <Link to={paths.node(runId, node.key)} className="node-link" draggable={false}>
        {node.label}
      </Link>
    </div>
  );
});
