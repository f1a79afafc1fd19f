/**
 * One workflow before it is started: what it will do, what it may take, and the form for its inputs.
 *
 * With `?from=RUN` the form begins with the inputs of that run.
 */
import { useCallback, useState } from "react";
import { explainWorkflow, getRun } from "../api/client";
import type { Explanation } from "../api/explanation";
import type { JsonObject } from "../api/json";
import { Link } from "../navigation/link";
import { paths } from "../navigation/paths";
import { useSearch } from "../navigation/router";
import { useTitle } from "../app/use-title";
import { useRequest } from "../live/use-request";
import { ProblemBox, Waiting } from "../ui/notice";
import { Contracts } from "./block-contracts";
import { EstimateTable } from "./estimate-table";
import { InputForm } from "./input-form";
import { OutlineGraph } from "./outline-graph";

const ITEMS = 10;

export function WorkflowPreview({ path }: { path: string }) {
  const [items, setItems] = useState(ITEMS);
  const explain = useCallback((signal: AbortSignal) => explainWorkflow(path, items, signal), [path, items]);
  const { value, problem, again } = useRequest(explain);
  const from = useSearch().get("from");
  const earlierInputs = useRequest(useCallback((signal: AbortSignal) => inputsOf(from, signal), [from]));
  const failure = problem ?? earlierInputs.problem;
  useTitle(value === null ? "New run" : `New run of ${value.name}`);
  return (
    <div className="page">
      <nav className="crumbs" aria-label="Where this is">
        <Link to={paths.start()} className="text-link">
          New run
        </Link>
        <span aria-hidden="true">/</span>
        <span className="mono">{path}</span>
      </nav>
      {failure !== null && <ProblemBox problem={failure} again={problem === null ? earlierInputs.again : again} />}
      {(value === null || earlierInputs.value === null) && failure === null && <Waiting what="Reading the workflow" />}
      {value !== null && earlierInputs.value !== null && (
        <Explained
          path={path}
          explanation={value}
          given={earlierInputs.value}
          from={from}
          items={items}
          onItems={setItems}
        />
      )}
    </div>
  );
}

async function inputsOf(run: string | null, signal: AbortSignal): Promise<JsonObject> {
  return run === null ? {} : ((await getRun(run, signal)).inputs ?? {});
}

interface Props {
  path: string;
  explanation: Explanation;
  given: JsonObject;
  /** The run whose inputs the form begins with. */
  from: string | null;
  items: number;
  onItems: (items: number) => void;
}

function Explained({ path, explanation, given, from, items, onItems }: Props) {
  const repeats = explanation.blocks.some((block) => block.foreach !== null);
  return (
    <>
      <div className="page-head start-head">
        <div>
          <h1>{explanation.name}</h1>
          {explanation.description !== "" && <p className="muted">{explanation.description}</p>}
        </div>
      </div>
      <div className="start-columns">
        <section className="card start-form" aria-labelledby="start-inputs">
          {from !== null && (
            <p className="start-from small">
              With the inputs of{" "}
              <Link className="text-link" to={paths.run(from)}>
                run {from.slice(0, 8)}
              </Link>
              : change what you like.
            </p>
          )}
          <InputForm path={path} explanation={explanation} given={given} headingId="start-inputs" />
        </section>
        <div className="start-explained">
          <section className="card start-part" aria-labelledby="start-outline">
            <h2 id="start-outline">What it will do</h2>
            <OutlineGraph explanation={explanation} />
          </section>
          <section className="card start-part" aria-labelledby="start-estimate">
            <div className="start-part-head">
              <h2 id="start-estimate">What it may take</h2>
              {repeats && (
                <label className="start-items small muted">
                  items in each list
                  <input
                    type="number"
                    min={0}
                    max={1_000_000}
                    value={items}
                    onChange={(event) => onItems(Math.max(0, Math.min(1_000_000, event.target.valueAsNumber || 0)))}
                  />
                </label>
              )}
            </div>
            <EstimateTable totals={explanation.totals} blocks={explanation.blocks} />
          </section>
          <section className="card start-part" aria-labelledby="start-contracts">
            <h2 id="start-contracts">Inputs, outputs and gates of each block</h2>
            <Contracts blocks={explanation.blocks} />
          </section>
        </div>
      </div>
    </>
  );
}
