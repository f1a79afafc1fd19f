/** A run: its head, one of its views, and beside it the node that is looked at. */
import { lazy, Suspense, useCallback, useEffect } from "react";
import { paths } from "../app/paths";
import { navigate, type Params, setSearch, useSearch } from "../app/router";
import { useTitle } from "../app/use-title";
import { useRunPart } from "../live/hooks";
import type { RunState } from "../model/run-store";
import { ButtonLink } from "../ui/button";
import { Empty, Waiting } from "../ui/notice";
import { TabPanel, Tabs } from "../ui/tabs";
import { Attention } from "./attention";
import { RunHead } from "./run-head";
import { VIEWS } from "./views";
import "./run-page.css";

const Inspector = lazy(() => import("./inspector/inspector"));

const nameOf = (state: RunState) => state.run?.name ?? null;
const streamOf = (state: RunState) => state.stream;

export default function RunPage({ params }: { params: Params }) {
  const id = params["id"] ?? "";
  const selected = params["key"] ?? null;
  const name = useRunPart(id, nameOf);
  const stream = useRunPart(id, streamOf);
  const chosen = useSearch().get("tab");
  const view = VIEWS.find((one) => one.id === chosen) ?? VIEWS[0];
  useEffect(() => view.prepare(id), [view, id]);
  useTitle(selected === null ? (name ?? "Run") : `${selected} · ${name ?? "Run"}`);
  const close = useCallback(() => navigate(paths.run(id) + keepingTab()), [id]);
  if (name === null) return stream === "gone" ? <Gone /> : <Waiting what="Loading the run" />;
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
          onChoose={(to) => setSearch({ tab: to === VIEWS[0].id ? null : to })}
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

/** The view stays when a node is closed. */
function keepingTab(): string {
  const tab = new URLSearchParams(location.search).get("tab");
  return tab === null ? "" : `?tab=${encodeURIComponent(tab)}`;
}

function Gone() {
  return (
    <Empty icon="search" title="There is no such run" action={<ButtonLink to={paths.runs()}>All runs</ButtonLink>}>
      It may have been removed, or the address may be wrong.
    </Empty>
  );
}
