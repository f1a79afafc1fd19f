/** One workflow before it is started: what it will do, what it may take, and the form for its inputs. */
import { useCallback, useState } from "react";
import { explainWorkflow } from "../api/client";
import type { Explanation } from "../api/explanation";
import { Link } from "../app/link";
import { paths } from "../app/paths";
import { useTitle } from "../app/use-title";
import { useAsked } from "../live/use-asked";
import { ProblemBox, Waiting } from "../ui/notice";
import { Contracts } from "./contracts";
import { EstimateTable } from "./estimate-table";
import { InputForm } from "./input-form";
import { OutlineGraph } from "./outline-graph";

const ITEMS = 10;

export function Prepare({ path }: { path: string }) {
  const [items, setItems] = useState(ITEMS);
  const ask = useCallback((signal: AbortSignal) => explainWorkflow(path, items, signal), [path, items]);
  const { value, problem, again } = useAsked(ask);
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
      {problem !== null && <ProblemBox problem={problem} again={again} />}
      {value === null && problem === null && <Waiting what="Taking the workflow apart" />}
      {value !== null && <Explained path={path} explanation={value} items={items} onItems={setItems} />}
    </div>
  );
}

interface Props {
  path: string;
  explanation: Explanation;
  items: number;
  onItems: (items: number) => void;
}

function Explained({ path, explanation, items, onItems }: Props) {
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
          <InputForm path={path} inputs={explanation.inputs} headingId="start-inputs" />
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
            <EstimateTable totals={explanation.totals} />
          </section>
          <section className="card start-part" aria-labelledby="start-contracts">
            <h2 id="start-contracts">What each part promises</h2>
            <Contracts blocks={explanation.blocks} />
          </section>
        </div>
      </div>
    </>
  );
}
