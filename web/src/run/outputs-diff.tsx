/** What two nodes, or two runs, were given and gave, and where that parts. */
import { useCallback, useState } from "react";
import { getNode } from "../api/client";
import type { JsonObject } from "../api/json";
import type { Node, Run } from "../api/types";
import { useRequest } from "../live/use-request";
import { textsOf } from "../model/line-diff";
import { Button } from "../ui/button";
import { ProblemBox, Waiting } from "../ui/notice";
import { TextDiff } from "../ui/text-diff";

interface Props {
  runs: readonly [string, string];
  nodes: readonly [string, string];
}

export function OutputsDiff({ runs, nodes }: Props) {
  const [firstRun, secondRun] = runs;
  const [firstNode, secondNode] = nodes;
  const ask = useCallback(
    (signal: AbortSignal) =>
      Promise.all([getNode(firstRun, firstNode, signal), getNode(secondRun, secondNode, signal)]),
    [firstRun, secondRun, firstNode, secondNode],
  );
  const { value, problem, again } = useRequest(ask);
  if (problem !== null) return <ProblemBox problem={problem} again={again} />;
  if (value === null) return <Waiting what="Loading outputs" />;
  const [first, second] = value;
  return (
    <div className="outputs-diff">
      {!isKept(first) && !isKept(second) && (
        <Parts title="Inputs" before={first.inputs ?? {}} after={second.inputs ?? {}} quiet />
      )}
      <Parts title="Outputs" before={first.outputs ?? {}} after={second.outputs ?? {}} />
      {first.error !== null || second.error !== null ? (
        <Parts title="Error" before={fault(first.error)} after={fault(second.error)} />
      ) : null}
    </div>
  );
}

/** A run that has taken a result over does not know what it was made of: there is nothing to compare. */
function isKept(node: Node): boolean {
  return node.visits === 0 && node.outcome === "succeeded";
}

/** What the runs themselves were given and gave. */
export function RunDiff({ first, second }: { first: Run; second: Run }) {
  return (
    <div className="outputs-diff">
      <Parts title="Inputs of the run" before={first.inputs ?? {}} after={second.inputs ?? {}} quiet />
      <Parts title="Outputs of the run" before={first.outputs ?? {}} after={second.outputs ?? {}} quiet />
    </div>
  );
}

function fault(error: { code: string; message: string } | null): JsonObject {
  return error === null ? {} : { code: error.code, message: error.message };
}

/** So many parts that differ are drawn at a time. */
const DRAWN = 20;

/** Each part that differs; with `quiet` nothing at all where none does. */
function Parts(props: { title: string; before: JsonObject; after: JsonObject; quiet?: boolean }) {
  const { title, before, after, quiet = false } = props;
  const [most, setMost] = useState(DRAWN);
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])];
  const parted = names
    .map((name) => ({ name, texts: textsOf(before[name], after[name]) }))
    .filter(({ texts }) => texts[0] !== texts[1]);
  if (parted.length === 0 && quiet) return null;
  return (
    <section>
      <h3 className="question-part">{title}</h3>
      {parted.length === 0 && <p className="muted small">The same in both.</p>}
      {parted.slice(0, most).map(({ name, texts }) => (
        <div key={name} className="outputs-part">
          <code className="muted">{name}</code>
          <TextDiff before={texts[0]} after={texts[1]} />
        </div>
      ))}
      {parted.length > most && (
        <Button onClick={() => setMost((was) => was + DRAWN)}>Show more, of {parted.length - most} others</Button>
      )}
    </section>
  );
}
