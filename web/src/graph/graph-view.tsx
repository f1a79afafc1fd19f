/** The graph of a run, live. */
import { ReactFlowProvider } from "@xyflow/react";
import { useCallback, useEffect, useMemo, useState } from "react";
import { setSearch, useSearch } from "../navigation/router";
import type { Event } from "../api/types";
import { useRunEvents, useRunPart } from "../live/hooks";
import { useStore } from "../live/use-store";
import type { Layout } from "../model/graph/elk";
import { failedPath, type FailedPath } from "../model/graph/failed-path";
import { type Graph, groupsOf, modeCounts, sameGraph, type Shape, shapeOf } from "../model/graph/shape";
import { Cell } from "../model/observable";
import type { RunState } from "../model/run-store";
import { Empty, Waiting } from "../ui/notice";
import { Canvas } from "./canvas";
import { layOut, warmUp } from "./layout";
import { PulseStore } from "./pulses";
import { Toolbar } from "./toolbar";
import { type Filter, firstState, GraphProvider, type GraphView as View, type ViewState } from "./view-state";
import "./graph.css";
import "./lines.css";
import "./distance.css";
import "./tools.css";

/** A graph with more nodes than this begins with its sub-workflows closed. */
const MANY = 60;

export default function GraphView({ id, selected }: { id: string; selected: string | null }) {
  const graph = useRunPart(id, graphOf, sameGraph);
  useEffect(warmUp, []);
  if (graph === null) return <Waiting what="Loading the run" />;
  if (Object.keys(graph.nodes).length === 0) return <Empty title="This run has no nodes yet" />;
  return (
    <ReactFlowProvider>
      <Drawn key={id} id={id} graph={graph} selected={selected} />
    </ReactFlowProvider>
  );
}

const graphOf = ({ run }: RunState): Graph | null => run;
const kindOf = ({ run }: RunState) => run?.kind ?? null;

function Drawn({ id, graph, selected }: { id: string; graph: Graph; selected: string | null }) {
  const kind = useRunPart(id, kindOf);
  const [pulses] = useState(() => new PulseStore());
  const folds = useFolds(graph);
  const shape = useMemo(() => shapeOf(graph, folds.closed, folds.open), [graph, folds.closed, folds.open]);
  const laid = useLayout(shape, kind === "plan" || isNarrow() ? "DOWN" : "RIGHT");
  const view = useView(id, folds.toggle);
  const path = useRunPart(id, pathIn, samePath);
  const state = useViewState(view, selected, path);
  const onEvents = useCallback((events: readonly Event[] | null) => pulses.take(events ?? []), [pulses]);
  useRunEvents(id, onEvents);
  useEffect(() => pulses.setShape(shape), [pulses, shape]);
  const counts = useMemo(() => modeCounts(graph.nodes), [graph]);
  const failed = useMemo(
    () => (path === null ? null : { shown: state.path !== null, toggle: () => togglePath(state.path === null) }),
    [path, state.path],
  );
  if (laid.error !== null) throw laid.error;
  if (laid.layout === null || laid.shape === null) return <Waiting what="Drawing the graph" />;
  return (
    <GraphProvider value={view}>
      <div className={`graph graph-filter-${state.filter}`}>
        <Canvas shape={laid.shape} layout={laid.layout} pulses={pulses} look={lookAt(graph, selected, state.path)} />
        <Toolbar
          filter={state.filter}
          counts={counts}
          onFilter={(filter) => setSearch({ show: filter === "all" ? null : filter })}
          failed={failed}
          groups={folds.groups}
        />
      </div>
    </GraphProvider>
  );
}

/** On a phone there is more room below than beside. */
function isNarrow(): boolean {
  return window.innerWidth < 768;
}

function togglePath(show: boolean): void {
  setSearch({ path: show ? "failed" : null });
}

/** What to have in sight: the chosen node, else the cause of a failed path that is shown. */
function lookAt(graph: Graph, selected: string | null, path: FailedPath | null): string | null {
  const chosen = selected === null ? null : Object.values(graph.nodes).find((node) => node.key === selected);
  return chosen?.id ?? path?.cause ?? null;
}

/** Which sub-workflows are closed and which foreach are open. */
interface Folds {
  closed: ReadonlySet<string>;
  open: ReadonlySet<string>;
}

function useFolds(graph: Graph) {
  const all = useMemo(() => groupsOf(graph.nodes), [graph]);
  const [folds, setFolds] = useState<Folds>(() => ({
    closed: new Set(Object.keys(graph.nodes).length > MANY ? all : []),
    open: new Set(),
  }));
  const toggle = useCallback(
    (id: string) =>
      setFolds(({ closed, open }) =>
        all.includes(id) ? { closed: toggled(closed, id), open } : { closed, open: toggled(open, id) },
      ),
    [all],
  );
  const groups = useMemo(() => {
    const allOpen = folds.closed.size === 0;
    const change = () => setFolds(({ open }) => ({ closed: new Set(allOpen ? all : []), open }));
    return all.length === 0 ? null : { allOpen, toggle: change };
  }, [all, folds.closed]);
  return { ...folds, toggle, groups };
}

function toggled(set: ReadonlySet<string>, id: string): ReadonlySet<string> {
  const found = new Set(set);
  if (!found.delete(id)) found.add(id);
  return found;
}

interface Laid {
  shape: Shape | null;
  layout: Layout | null;
  error: Error | null;
}

/** The newest layout there is; while the next one is made, the last one stays. */
function useLayout(shape: Shape, direction: "RIGHT" | "DOWN"): Laid {
  const [laid, setLaid] = useState<Laid>({ shape: null, layout: null, error: null });
  useEffect(() => {
    let current = true;
    layOut(shape, direction).then(
      (layout) => current && setLaid({ shape, layout, error: null }),
      (error: unknown) => {
        const failure = error instanceof Error ? error : new Error(String(error));
        if (current) setLaid({ shape: null, layout: null, error: failure });
      },
    );
    return () => {
      current = false;
    };
  }, [shape, direction]);
  return laid;
}

function useView(runId: string, toggle: (id: string) => void): View {
  const [state] = useState(() => new Cell<ViewState>(firstState()));
  return useMemo(() => ({ runId, state, toggle }), [runId, state, toggle]);
}

/** The view's state follows the address, so that a link shows the same. */
function useViewState(view: View, selected: string | null, path: FailedPath | null): ViewState {
  const search = useSearch();
  const filter = filterOf(search.get("show"));
  const shown = search.get("path") === "failed" ? path : null;
  useEffect(() => view.state.set({ selected, filter, path: shown }), [view.state, selected, filter, shown]);
  return useStore(view.state, itself);
}

const itself = (state: ViewState) => state;

function filterOf(text: string | null): Filter {
  return text === "ai" || text === "deterministic" || text === "approval" ? text : "all";
}

const pathIn = ({ run }: RunState) =>
  run === null || run.ending === "ok" || run.ending === null ? null : failedPath(run);

function samePath(a: FailedPath | null, b: FailedPath | null): boolean {
  return a === b || (a !== null && b !== null && a.cause === b.cause && a.nodes.size === b.nodes.size);
}
