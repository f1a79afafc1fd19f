/**
 * A run: its head, one of its views, and beside it the node that is looked at.
 *
 * The page of a run that has ended opens on its result, that of a run that goes on, and of a node, on the graph. It stays
 * where it has opened: a run that ends meanwhile takes no view away from its reader.
 */
import { lazy, Suspense, useCallback, useEffect, useState } from "react";
import { paths } from "../navigation/paths";
import { navigate, type Params, setSearch, useSearch } from "../navigation/router";
import { useTitle } from "../app/use-title";
import { useRunPart } from "../live/hooks";
import type { RunState } from "../model/run-store";
import { ButtonLink } from "../ui/button";
import { Empty, Waiting } from "../ui/notice";
import { TabPanel, Tabs } from "../ui/tabs";
import { Attention } from "./waiting-notice";
import { RunHead } from "./run-head";
import { VIEWS } from "./views";
import "./run-page.css";

const Inspector = lazy(() => import("./inspector/inspector"));

const nameOf = (state: RunState) => state.run?.name ?? null;
const hasEnded = ({ run }: RunState) => run !== null && run.ending !== null;
const streamOf = (state: RunState) => state.stream;

export default function RunPage({ params }: { params: Params }) {
  const id = params["id"] ?? "";
  const selected = params["key"] ?? null;
  const name = useRunPart(id, nameOf);
  const stream = useRunPart(id, streamOf);
  const search = useSearch();
  const aboutGraph = search.has("show") || search.has("path");
  const tab = search.get("tab") ?? (aboutGraph ? "graph" : null);
  useEffect(() => viewNamed(tab ?? "graph").prepare(id), [tab, id]);
  useTitle(selected === null ? (name ?? "Run") : `${selected} · ${name ?? "Run"}`);
  if (name === null) return stream === "gone" ? <Gone /> : <Waiting what="Loading the run" />;
  return <LoadedRun key={id} id={id} selected={selected} tab={tab} />;
}

function LoadedRun({ id, selected, tab }: { id: string; selected: string | null; tab: string | null }) {
  const ended = useRunPart(id, hasEnded);
  const [first] = useState(ended ? "result" : "graph");
  const view = viewNamed(tab ?? (selected === null ? first : "graph"));
  const close = useCallback(() => navigate(`${paths.run(id)}?tab=${view.id}`), [id, view.id]);
  return (
    <div className="run">
      <RunHead id={id} />
      <Attention id={id} />
      <div className="run-tabs">
        <Tabs
          label="Views of the run"
          name="run"
          tabs={VIEWS}
          chosen={view.id}
          onChoose={(to) => setSearch({ tab: to })}
        />
      </div>
      <div className="run-body">
        <TabPanel name="run" chosen={view.id} className="run-view">
          <Suspense fallback={<Waiting what="Loading" />}>
            <view.view id={id} selected={selected} />
          </Suspense>
        </TabPanel>
        {selected !== null && (
          <Suspense fallback={null}>
            <Inspector key={selected} id={id} nodeKey={selected} onClose={close} />
          </Suspense>
        )}
      </div>
    </div>
  );
}

function viewNamed(id: string) {
  return VIEWS.find((view) => view.id === id) ?? VIEWS[0];
}

function Gone() {
  return (
    <Empty icon="search" title="There is no such run" action={<ButtonLink to={paths.runs()}>All runs</ButtonLink>}>
      It may have been removed, or the address may be wrong.
    </Empty>
  );
}
