/** What the graph is looked at with: modes, the failed path, what is open, zoom. */
import { useReactFlow } from "@xyflow/react";
import { useMemo } from "react";
import { useShortcuts } from "../app/shortcuts";
import { IconButton } from "../ui/button";
import { Icon } from "../ui/icon";
import { FIT, slow } from "./canvas";
import type { Filter } from "./view-state";

interface Props {
  filter: Filter;
  counts: Readonly<Record<Filter, number>>;
  onFilter: (filter: Filter) => void;
  /** Null where nothing has failed. */
  failed: { shown: boolean; toggle: () => void } | null;
  /** Null where there are no sub-workflows. */
  groups: { allOpen: boolean; toggle: () => void } | null;
}

const FILTERS: readonly { id: Filter; name: string }[] = [
  { id: "all", name: "All" },
  { id: "ai", name: "AI" },
  { id: "deterministic", name: "Deterministic" },
  { id: "approval", name: "Approval" },
];

export function Toolbar({ filter, counts, onFilter, failed, groups }: Props) {
  const flow = useReactFlow();
  const keys = useMemo(
    () => [
      {
        keys: "f",
        what: "Fit the graph",
        group: "Graph",
        run: () => void flow.fitView({ ...FIT, duration: slow(250) }),
      },
      { keys: "+", what: "Zoom in", group: "Graph", run: () => void flow.zoomIn() },
      { keys: "-", what: "Zoom out", group: "Graph", run: () => void flow.zoomOut() },
      ...(failed === null ? [] : [{ keys: "x", what: "Show the failed path", group: "Graph", run: failed.toggle }]),
    ],
    [flow, failed],
  );
  useShortcuts(keys);
  return (
    <>
      <div className="graph-tools">
        <div className="segments" role="group" aria-label="Show nodes of a mode">
          {FILTERS.map(({ id, name }) => (
            <button
              key={id}
              type="button"
              className={`segment segment-${id}`}
              aria-pressed={filter === id}
              disabled={id !== "all" && counts[id] === 0}
              onClick={() => onFilter(id)}
            >
              {name}
              <span className="segment-count number">{counts[id]}</span>
            </button>
          ))}
        </div>
        {failed !== null && (
          <button type="button" className="tool tool-failed" aria-pressed={failed.shown} onClick={failed.toggle}>
            <Icon name="warning" size={14} />
            Failed path
          </button>
        )}
        {groups !== null && (
          <button type="button" className="tool" onClick={groups.toggle}>
            <Icon name={groups.allOpen ? "down" : "chevron"} size={14} />
            {groups.allOpen ? "Close sub-workflows" : "Open sub-workflows"}
          </button>
        )}
      </div>
      <div className="graph-zoom" role="group" aria-label="Zoom">
        <IconButton label="Zoom in" onClick={() => void flow.zoomIn()}>
          <Icon name="plus" size={14} />
        </IconButton>
        <IconButton label="Zoom out" onClick={() => void flow.zoomOut()}>
          <Minus />
        </IconButton>
        <IconButton label="Fit the graph" onClick={() => void flow.fitView({ ...FIT, duration: slow(250) })}>
          <Fit />
        </IconButton>
      </div>
    </>
  );
}

function Minus() {
  return <Drawn path="M3 8h10" />;
}

function Fit() {
  return <Drawn path="M2.5 6v-3.500h3.500M10 2.500h3.500v3.500M13.500 10v3.500h-3.500M6 13.500h-3.500v-3.500" />;
}

function Drawn({ path }: { path: string }) {
  return (
    <svg
      width="14"
      height="14"
      viewBox="0 0 16 16"
      fill="none"
      stroke="currentColor"
      strokeWidth="1.5"
      aria-hidden="true"
    >
      <path d={path} strokeLinecap="round" strokeLinejoin="round" />
    </svg>
  );
}
