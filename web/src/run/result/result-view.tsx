/** What came of a run: its outputs and files first, then what it was given, what it took, who approved, and the proof. */
import { type ReactNode, useCallback } from "react";
import { getRun } from "../../api/client";
import type { Json, JsonObject } from "../../api/json";
import type { Run } from "../../api/types";
import { useRunPart } from "../../live/hooks";
import { useRequest } from "../../live/use-request";
import { sameParts } from "../../live/use-store";
import { count, duration, moment, money } from "../../model/amounts";
import type { RunState } from "../../model/run-store";
import { CopyButton } from "../../ui/copy-button";
import { ProblemBox, Waiting } from "../../ui/notice";
import { ValueView } from "../../ui/value-view";
import { Again } from "./again";
import { Approvers } from "./approvers";
import { Files } from "./files";
import { Proof } from "./proof";
import "./result.css";

function partsOf({ run }: RunState) {
  return { seq: run?.ending === null ? run.seq : -1, ended: run !== null && run.ending !== null };
}

export default function ResultView({ id }: { id: string; selected: string | null }) {
  const { seq, ended } = useRunPart(id, partsOf, sameParts);
  const ask = useCallback(
    (signal: AbortSignal) => {
      void seq; // a run that goes on has other outputs after each fact
      return getRun(id, signal);
    },
    [id, seq],
  );
  const { value: run, problem, again } = useRequest(ask);
  if (run === null) {
    return problem === null ? <Waiting what="Loading the result" /> : <ProblemBox problem={problem} again={again} />;
  }
  return (
    <div className="result">
      <div className="result-main">
        <Part title="Outputs" aside={<CopyValues what="outputs" values={run.outputs ?? {}} />}>
          <Values values={run.outputs ?? {}} none={noOutputs(run, ended)} />
        </Part>
        <Files id={id} ended={ended} />
        <Part title="Inputs" aside={<CopyValues what="inputs" values={run.inputs ?? {}} />}>
          <Values values={run.inputs ?? {}} none="It takes no inputs." />
        </Part>
      </div>
      <div className="result-side">
        <Part title="What it took">
          <Taken run={run} ended={ended} />
        </Part>
        <Approvers id={run.id} seq={run.seq} />
        <Proof id={id} ended={ended} />
        {run.kind !== "graph" && <Again run={run} />}
      </div>
    </div>
  );
}

export function Part(props: { title: string; aside?: ReactNode; children: ReactNode }) {
  return (
    <section className="card result-part" aria-label={props.title}>
      <header>
        <h2>{props.title}</h2>
        {props.aside}
      </header>
      {props.children}
    </section>
  );
}

function CopyValues({ what, values }: { what: string; values: JsonObject }) {
  return Object.keys(values).length === 0 ? null : (
    <CopyButton text={() => JSON.stringify(values, null, 2)} what={what} />
  );
}

function Values({ values, none }: { values: JsonObject; none: string }) {
  const entries: [string, Json][] = Object.entries(values);
  if (entries.length === 0) return <p className="muted">{none}</p>;
  return (
    <dl className="result-values">
      {entries.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>
            <ValueView value={value} label={name} />
          </dd>
        </div>
      ))}
    </dl>
  );
}

function noOutputs(run: Run, ended: boolean): string {
  if (!ended) return "There are none yet.";
  return run.ending === "ok"
    ? "Its workflow declares no outputs. What each node gave is in the graph."
    : "The run has ended before its outputs were there.";
}

function Taken({ run, ended }: { run: Run; ended: boolean }) {
  const { usage } = run;
  const rows: [string, string][] = [["Started", `${moment(run.createdAt)} by ${run.by}`]];
  if (ended) rows.push(["From start to end", duration(Date.parse(run.updatedAt) - Date.parse(run.createdAt))]);
  rows.push(["Work of its attempts", duration(usage.workMs)]);
  rows.push(["Cost", money(usage.costUsd) + (usage.costUnknown === true ? ", and USD that are not known" : "")]);
  if (usage.totalTokens > 0)
    rows.push(["Tokens", `${count(usage.promptTokens)} in, ${count(usage.completionTokens)} out`]);
  return <FactList rows={rows} />;
}

export function FactList({ rows }: { rows: readonly (readonly [string, ReactNode])[] }) {
  return (
    <dl className="result-facts">
      {rows.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}
