/** All runs: searched, filtered, live. */
import { useCallback, useMemo, useRef, useState } from "react";
import { paths } from "../navigation/paths";
import { navigate } from "../navigation/router";
import { type Shortcut, useShortcuts } from "../app/shortcuts";
import { useTitle } from "../app/use-title";
import { type RunsList, useRuns } from "../live/use-runs";
import { type Filter, isNarrowed } from "../model/listing";
import { Button, ButtonLink } from "../ui/button";
import { Empty, ProblemBox, Waiting } from "../ui/notice";
import { FilterBar } from "./filter-bar";
import { RunTable } from "./run-table";
import { clearFilter, useFilter } from "./use-filter";
import "./runs.css";

export function RunsPage() {
  useTitle("Runs");
  const filter = useFilter();
  const list = useRuns(filter);
  const search = useRef<HTMLInputElement>(null);
  const [marked, setMarked] = useState<string | null>(null);
  useRowKeys(list, marked, setMarked);
  const find = useMemo<readonly Shortcut[]>(
    () => [{ keys: "/", what: "Search", group: "Runs", run: () => search.current?.focus() }],
    [],
  );
  useShortcuts(find);
  return (
    <div className="page">
      <div className="page-head">
        <h1>Runs</h1>
      </div>
      <FilterBar filter={filter} search={search} />
      {list.problem !== null && <ProblemBox problem={list.problem} again={list.again} />}
      <Content list={list} filter={filter} marked={marked} />
    </div>
  );
}

function Content({ list, filter, marked }: { list: RunsList; filter: Filter; marked: string | null }) {
  if (list.rows.length > 0) {
    return (
      <>
        <RunTable rows={list.rows} marked={marked} />
        {list.more !== null && (
          <div className="runs-more">
            <Button onClick={list.more} busy={list.loadingMore}>
              Show older runs
            </Button>
          </div>
        )}
      </>
    );
  }
  if (list.problem !== null) return null;
  if (list.loading) return <Waiting what="Loading runs" />;
  return isNarrowed(filter) ? <NothingFound list={list} /> : <NoRuns />;
}

function NothingFound({ list }: { list: RunsList }) {
  return (
    <div className="card">
      <Empty
        icon="search"
        title="No run matches"
        action={
          <div className="runs-choices">
            <Button onClick={clearFilter}>Clear the filters</Button>
            {list.more !== null && (
              <Button onClick={list.more} busy={list.loadingMore}>
                Look further back
              </Button>
            )}
          </div>
        }
      >
        Other words, or fewer filters, may find it.
      </Empty>
    </div>
  );
}

function NoRuns() {
  return (
    <div className="card">
      <Empty
        icon="start"
        title="No runs yet"
        action={
          <ButtonLink to={paths.start()} look="primary">
            Choose a workflow
          </ButtonLink>
        }
      >
        Start one here, or with <code>skelo run FILE</code> in this project. It appears on this page by itself.
      </Empty>
    </div>
  );
}

/** j and k go through the rows, Enter opens the marked one. */
function useRowKeys(list: RunsList, marked: string | null, mark: (id: string) => void): void {
  const rows = list.rows;
  const step = useCallback(
    (by: number) => {
      const at = rows.findIndex((row) => row.id === marked);
      const next = rows[Math.min(rows.length - 1, Math.max(0, at === -1 ? 0 : at + by))];
      if (next !== undefined) mark(next.id);
    },
    [rows, marked, mark],
  );
  const keys = useMemo<readonly Shortcut[]>(
    () => [
      { keys: "j", what: "Next run", group: "Runs", run: () => step(1) },
      { keys: "k", what: "Previous run", group: "Runs", run: () => step(-1) },
      { keys: "o", what: "Open the marked run", group: "Runs", run: () => marked && navigate(paths.run(marked)) },
    ],
    [step, marked],
  );
  useShortcuts(keys);
}
