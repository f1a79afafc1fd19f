/** A node, looked at closely: beside the graph, in panels; the address says which node and which panel. */
import { useMemo, useState } from "react";
import { setSearch, useSearch } from "../../navigation/router";
import { useShortcuts } from "../../app/shortcuts";
import { useNode, useRunPart } from "../../live/hooks";
import { modeOf, nodeLabel } from "../../model/labels";
import type { RunState } from "../../model/run-store";
import { ModeBadge, StatusBadge } from "../../ui/badge";
import { IconButton } from "../../ui/button";
import { Icon } from "../../ui/icon";
import { Empty } from "../../ui/notice";
import { TabPanel, Tabs } from "../../ui/tabs";
import { copy } from "../../ui/clipboard";
import { NodeActions } from "../node-actions";
import { PANELS } from "./panels";
import { useArtifacts } from "./use-artifacts";
import type { Node } from "../../api/types";
import "./inspector.css";
import "./panel.css";
import "./lists.css";

interface Props {
  id: string;
  nodeKey: string;
  onClose: () => void;
}

const hasEnded = ({ run }: RunState) => run !== null && run.ending !== null;

/** The panel looked at last is shown first of the next node too. */
let lastPanel: string | null = null;

export default function Inspector({ id, nodeKey, onClose }: Props) {
  const node = useNode(id, nodeKey);
  const runEnded = useRunPart(id, hasEnded);
  const [wide, setWide] = useState(false);
  const keys = useMemo(() => [{ keys: "Escape", what: "Close the node", group: "Node", run: onClose }], [onClose]);
  useShortcuts(keys);
  return (
    <aside className={wide ? "inspector inspector-wide" : "inspector"} aria-label={`Node ${nodeKey}`}>
      <header className="inspector-head">
        <div className="inspector-title">
          {node !== null && <ModeBadge mode={modeOf(node)} />}
          <h2>{node?.label ?? nodeKey}</h2>
          {node !== null && <StatusBadge word={nodeLabel(node, runEnded)} />}
        </div>
        <div className="inspector-tools">
          <IconButton label="Copy the link to this view" onClick={() => void copyLink()}>
            <Icon name="link" />
          </IconButton>
          <IconButton
            label={wide ? "Make it narrow" : "Make it wide"}
            aria-pressed={wide}
            onClick={() => setWide(!wide)}
          >
            <Icon name={wide ? "chevron" : "out"} />
          </IconButton>
          <IconButton label="Close the node" onClick={onClose}>
            <Icon name="close" />
          </IconButton>
        </div>
        {node !== null && node.label !== node.key && <code className="inspector-key">{node.key}</code>}
        {node !== null && (
          <div className="inspector-actions">
            <NodeActions id={id} node={node} />
          </div>
        )}
      </header>
      {node === null ? <Empty title="There is no such node" icon="search" /> : <Panels id={id} node={node} />}
    </aside>
  );
}

function Panels({ id, node }: { id: string; node: Node }) {
  const artifacts = useArtifacts(id, node);
  const asked = useSearch().get("panel") ?? lastPanel;
  const panels = PANELS.filter((panel) => panel.when?.(node, artifacts) ?? true);
  const panel = panels.find((one) => one.id === asked) ?? PANELS[0];
  const choose = (to: string) => {
    lastPanel = to;
    setSearch({ panel: to });
  };
  const tabs = panels.map(({ id: of, name, count }) => ({ id: of, name, count: count?.(node, artifacts) ?? 0 }));
  return (
    <>
      <div className="inspector-tabs">
        <Tabs label="Panels of the node" name="node" tabs={tabs} chosen={panel.id} onChoose={choose} />
      </div>
      <TabPanel name="node" chosen={panel.id} className="inspector-panel">
        <panel.view key={panel.id} id={id} node={node} />
      </TabPanel>
    </>
  );
}

function copyLink(): Promise<void> {
  return copy(location.href, "Link copied.");
}
