/** Two runs node by node: where they gave the same, where they part, and what it took. */
import { useCallback, useMemo, useState } from "react";
import { getRun, listReceipts } from "../api/client";
import type { Node, Run } from "../api/types";
import { Link } from "../app/link";
import { paths } from "../app/paths";
import { navigate, type Params } from "../app/router";
import { useTitle } from "../app/use-title";
import { useAsked } from "../live/use-asked";
import { count, duration, money } from "../model/amounts";
import { compare, isSame, type Pair, type Side, VERDICT_NAMES } from "../model/comparison";
import { modeOf, nodeWord, runWord } from "../model/words";
import { ModeBadge, StatusBadge } from "../ui/badge";
import { Button } from "../ui/button";
import { Icon } from "../ui/icon";
import { ProblemBox, Waiting } from "../ui/notice";
import { OutputsDiff, RunDiff } from "./outputs-diff";
import "./compare-page.css";

async function side(id: string, signal: AbortSignal): Promise<Side> {
  const [run, { receipts }] = await Promise.all([getRun(id, signal), listReceipts(id, signal)]);
  return { run, receipts };
}

export default function ComparePage({ params }: { params: Params }) {
  const a = params["a"] ?? "";
  const b = params["b"] ?? "";
  const ask = useCallback((signal: AbortSignal) => Promise.all([side(a, signal), side(b, signal)]), [a, b]);
  const { value, problem, again } = useAsked(ask);
  useTitle("Compare two runs");
  if (problem !== null)
    return (
      <div className="page">
        <ProblemBox problem={problem} again={again} />
      </div>
    );
  if (value === null) return <Waiting what="Comparing" />;
  return <Compared first={value[0]} second={value[1]} />;
}

function Compared({ first, second }: { first: Side; second: Side }) {
  const pairs = useMemo(() => compare(first, second), [first, second]);
  const [all, setAll] = useState(false);
  const parted = pairs.filter((pair) => !isSame(pair));
  const shown = all ? pairs : parted;
  return (
    <div className="page compare">
      <header className="page-head">
        <h1>Compare two runs</h1>
        <Button look="quiet" onClick={() => navigate(paths.compare(second.run.id, first.run.id), { replace: true })}>
          <Icon name="retry" size={14} /> Swap
        </Button>
      </header>
      <div className="compare-sides">
        <RunCard name="First" run={first.run} other={second.run} />
        <RunCard name="Second" run={second.run} other={first.run} />
      </div>
      {first.run.workflowHash !== second.run.workflowHash && (
        <p className="compare-note">The two runs have different workflows: what has the same key is compared.</p>
      )}
      <RunDiff first={first.run} second={second.run} />
      <div className="compare-head">
        <h2>{parted.length === 0 ? "All nodes gave the same" : `${parted.length} of ${pairs.length} nodes differ`}</h2>
        <label className="compare-all">
          <input className="check" type="checkbox" checked={all} onChange={(event) => setAll(event.target.checked)} />{" "}
          Show all nodes
        </label>
      </div>
      <ul className="compare-list card">
        {shown.map((pair) => (
          <NodePair key={pair.key} pair={pair} first={first.run} second={second.run} />
        ))}
        {shown.length === 0 && <li className="compare-none muted">Nothing differs between the nodes.</li>}
      </ul>
    </div>
  );
}

function RunCard({ name, run, other }: { name: string; run: Run; other: Run }) {
  const took = Date.parse(run.updatedAt) - Date.parse(run.createdAt);
  return (
    <section className="card compare-run" aria-label={`${name} run`}>
      <div className="question-head">
        <span className="muted small">{name}</span>
        <StatusBadge word={runWord(run)} />
        {run.parent?.runId === other.id && <span className="muted small">forked at {run.parent.node}</span>}
      </div>
      <Link className="text-link compare-name" to={paths.run(run.id)}>
        {run.name} <code>{run.id.slice(0, 8)}</code>
      </Link>
      <p className="muted small number">
        {duration(took)} · {count(run.usage.totalTokens)} tokens · {money(run.usage.costUsd)}
      </p>
    </section>
  );
}

function NodePair({ pair, first, second }: { pair: Pair; first: Run; second: Run }) {
  const [open, setOpen] = useState(pair.verdict === "different");
  const node = pair.second ?? pair.first;
  if (node === null) return null;
  const both = pair.first !== null && pair.second !== null;
  return (
    <li className={`compare-pair compare-${pair.verdict}`}>
      <button
        type="button"
        className="compare-row"
        aria-expanded={open}
        disabled={!both}
        onClick={() => setOpen((before) => !before)}
      >
        <Icon name={open && both ? "down" : "chevron"} size={14} />
        <ModeBadge mode={modeOf(node)} />
        <span className="compare-key">{pair.key}</span>
        <span className="compare-verdict">{VERDICT_NAMES[pair.verdict]}</span>
        <Standing node={pair.first} />
        <Standing node={pair.second} />
      </button>
      {open && pair.first !== null && pair.second !== null && (
        <OutputsDiff runs={[first.id, second.id]} nodes={[pair.first.id, pair.second.id]} />
      )}
    </li>
  );
}

function Standing({ node }: { node: Node | null }) {
  if (node === null) return <span className="muted small">–</span>;
  const took =
    node.startedAt === null || node.endedAt === null
      ? ""
      : duration(Date.parse(node.endedAt) - Date.parse(node.startedAt));
  return (
    <span className="muted small number">
      {nodeWord(node).text}
      {took !== "" && ` · ${took}`}
    </span>
  );
}
