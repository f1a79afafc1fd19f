/** The workflow files of the project, to choose one from. */
import { useState } from "react";
import { listWorkflows } from "../api/client";
import type { WorkflowFile } from "../api/types";
import { Link } from "../navigation/link";
import { paths } from "../navigation/paths";
import { useTitle } from "../app/use-title";
import { useRequest } from "../live/use-request";
import { Empty, ProblemBox, Waiting } from "../ui/notice";
import { SearchBox } from "../ui/search-box";

/** With fewer workflows there is no search box. */
const SEARCHED_FROM = 6;
const KINDS: Record<WorkflowFile["kind"], string> = { blocks: "Blocks", plan: "Plan", pipeline: "Pipeline" };
const ask = (signal: AbortSignal) => listWorkflows(signal);

export function Choose() {
  useTitle("New run");
  const { value, problem, again } = useRequest(ask);
  const [text, setText] = useState("");
  const found = (value ?? []).filter((one) => matches(one, text));
  return (
    <div className="page page-narrow">
      <div className="page-head">
        <div>
          <h1>New run</h1>
          <p className="muted">
            Choose a workflow of this project. Nothing starts before you have seen what it will do.
          </p>
        </div>
      </div>
      {problem !== null && <ProblemBox problem={problem} again={again} />}
      {value === null && problem === null && <Waiting what="Loading workflows" />}
      {value !== null && value.length >= SEARCHED_FROM && (
        <SearchBox
          label="Search workflows"
          className="start-search"
          value={text}
          onChange={(event) => setText(event.target.value)}
        />
      )}
      {value?.length === 0 && <NoWorkflows />}
      {found.length > 0 && (
        <ul className="card start-list">
          {found.map((one) => (
            <li key={one.path} className="start-item">
              <div className="start-item-head">
                <Link to={paths.startOf(one.path)} className="start-link">
                  {one.name}
                </Link>
                <span className="mono muted small">{one.path}</span>
                <span className="start-kind">{KINDS[one.kind]}</span>
              </div>
              {one.description !== "" && <p className="muted">{one.description}</p>}
            </li>
          ))}
        </ul>
      )}
      {value !== null && value.length > 0 && found.length === 0 && (
        <Empty icon="search" title="No workflow matches">
          Other words may find it.
        </Empty>
      )}
    </div>
  );
}

function NoWorkflows() {
  return (
    <div className="card">
      <Empty icon="file" title="This project has no workflow files">
        <p>
          Workflows are YAML or JSON files in the folder that <code>skelo serve</code> was started in.{" "}
          <code>skelo init</code> makes one to begin with.
        </p>
      </Empty>
    </div>
  );
}

function matches(one: WorkflowFile, text: string): boolean {
  const words = text.toLowerCase();
  return [one.name, one.path, one.description].some((part) => part.toLowerCase().includes(words));
}
