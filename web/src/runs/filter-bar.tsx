/** Search and filters above the list. */
import { type RefObject, useEffect, useState } from "react";
import { listWorkflows } from "../api/client";
import type { RunStatus } from "../api/types";
import { useRequest } from "../live/use-request";
import { type Filter, isNarrowed } from "../model/listing";
import { endingLabel, runLabel } from "../model/labels";
import { Button } from "../ui/button";
import { SearchBox } from "../ui/search-box";
import { changeFilter, clearFilter, ENDINGS } from "./use-filter";

/** Typing is over when nothing was typed for so long. */
const PAUSE_MS = 200;
const SHOWN: readonly (RunStatus | null)[] = [null, "running", "paused", "completed", "failed"];
const askWorkflows = (signal: AbortSignal) => listWorkflows(signal);

export function FilterBar({ filter, search }: { filter: Filter; search: RefObject<HTMLInputElement | null> }) {
  return (
    <div className="filters" role="search" aria-label="Runs">
      <Words text={filter.text} input={search} />
      <div className="segments" role="group" aria-label="Status">
        {SHOWN.map((status) => (
          <button
            key={status ?? "all"}
            type="button"
            className="segment"
            aria-pressed={filter.status === status}
            onClick={() => changeFilter({ status, ending: null })}
          >
            {status === null ? "All" : runLabel({ status, ending: null }).text}
          </button>
        ))}
      </div>
      {(filter.status === "failed" || filter.ending !== null) && <EndingChoice filter={filter} />}
      <WorkflowChoice filter={filter} />
      {isNarrowed(filter) && (
        <Button look="quiet" onClick={clearFilter}>
          Clear
        </Button>
      )}
    </div>
  );
}

function Words({ text, input }: { text: string; input: RefObject<HTMLInputElement | null> }) {
  const [typed, setTyped] = useState(text);
  useEffect(() => setTyped(text), [text]);
  useEffect(() => {
    const timer = setTimeout(() => changeFilter({ q: typed.trim() }), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [typed]);
  return (
    <SearchBox
      label="Search by name or id"
      shortcut="/"
      input={input}
      value={typed}
      onChange={(event) => setTyped(event.target.value)}
    />
  );
}

function EndingChoice({ filter }: { filter: Filter }) {
  return (
    <select
      className="choice"
      aria-label="Ending"
      value={filter.ending ?? ""}
      onChange={(event) => changeFilter({ ending: event.target.value })}
    >
      <option value="">Any ending</option>
      {ENDINGS.map((ending) => (
        <option key={ending} value={ending}>
          {endingLabel(ending).text}
        </option>
      ))}
    </select>
  );
}

function WorkflowChoice({ filter }: { filter: Filter }) {
  const { value } = useRequest(askWorkflows);
  const names = new Set((value ?? []).map((one) => one.name));
  if (filter.workflow !== null) names.add(filter.workflow);
  return (
    <select
      className="choice"
      aria-label="Workflow"
      value={filter.workflow ?? ""}
      onChange={(event) => changeFilter({ workflow: event.target.value })}
    >
      <option value="">Any workflow</option>
      {[...names].sort().map((name) => (
        <option key={name} value={name}>
          {name}
        </option>
      ))}
    </select>
  );
}
