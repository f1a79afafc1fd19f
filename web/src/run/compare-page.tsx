/** Two runs node by node: where they gave the same, where they part, and what it took. */
import { useCallback, useMemo, useState } from "react";
import { diffRuns, getRun } from "../api/client";
import type { ComparedNode, Comparison, Node, Run } from "../api/types";
import { Link } from "../navigation/link";
import { paths } from "../navigation/paths";
import { navigate, type Params } from "../navigation/router";
import { useTitle } from "../app/use-title";
import { useRequest } from "../live/use-request";
import { count, duration, money } from "../model/amounts";
import { tally, verdictWord } from "../model/verdicts";
import { modeOf, nodeLabel, runStatusLabel } from "../model/labels";
import { ModeBadge, StatusBadge } from "../ui/badge";
import { Button } from "../ui/button";
import { Icon } from "../ui/icon";
import { ProblemBox, Waiting } from "../ui/notice";
import { OutputsDiff, RunDiff } from "./outputs-diff";
import "./compare-page.css";

/** So many nodes that differ are open at first: each asks for its values. */
const OPEN = 5;
/** So many nodes are listed at a time. */
const LISTED = 200;

interface Both {
  compared: Comparison;
  first: Run;
  second: Run;
}

async function both(a: string, b: string, signal: AbortSignal): Promise<Both> {
  const [compared, first, second] = await Promise.all([diffRuns(a, b, signal), getRun(a, signal), getRun(b, signal)]);
  return { compared, first, second };
}

export default function ComparePage({ params }: { params: Params }) {
  const a = params["a"] ?? "";
  const b = params["b"] ?? "";
  const ask = useCallback((signal: AbortSignal) => both(a, b, signal), [a, b]);
  const { value, problem, loading, again } = useRequest(ask);
  useTitle("Compare two runs");
  if (problem !== null)
    return (
      <div className="page">
        <ProblemBox problem={problem} again={again} />
      </div>
    );
  if (value === null) return <Waiting what="Comparing" />;
  return <Compared found={value} loading={loading} again={again} />;
}

function Compared({ found, loading, again }: { found: Both; loading: boolean; again: () => void }) {
  const { compared, first, second } = found;
  const ended = first.ending !== null && second.ending !== null;
  return (
    <div className="page compare">
      <header className="page-head">
        <h1>Compare two runs</h1>
        <div className="compare-actions">
          {!ended && (
            <Button look="quiet" busy={loading} onClick={again}>
              <Icon name="retry" size={14} /> Compare again
            </Button>
          )}
          <Button look="quiet" onClick={() => navigate(paths.compare(second.id, first.id), { replace: true })}>
            Swap
          </Button>
        </div>
      </header>
      <div className="compare-sides">
        <RunCard name="First" run={first} other={second} />
        <RunCard name="Second" run={second} other={first} />
      </div>
      {!compared.sameWorkflow && (
        <p className="compare-note">The two runs have different workflows: what has the same key is compared.</p>
      )}
      <RunDiff first={first} second={second} />
      <Nodes found={found} />
    </div>
  );
}

function Nodes({ found: { compared, first, second } }: { found: Both }) {
  const [all, setAll] = useState(false);
  const [most, setMost] = useState(LISTED);
  const nodes = useMemo(() => [byKey(first), byKey(second)] as const, [first, second]);
  const opened = useMemo(() => firstToOpen(compared), [compared]);
  const ended = first.ending !== null && second.ending !== null;
  const listed = all ? compared.nodes : compared.nodes.filter((node) => !node.same);
  return (
    <>
      <div className="compare-head">
        <div>
          <h2>{tally(compared)}</h2>
          {compared.sameWork && (
            <p className="muted small">By their receipts, the two have done the same work{ended ? "." : " so far."}</p>
          )}
        </div>
        <label className="compare-all">
          <input className="check" type="checkbox" checked={all} onChange={(event) => setAll(event.target.checked)} />{" "}
          Show all nodes
        </label>
      </div>
      <ul className="compare-list card">
        {listed.length > 0 && (
          <li className="compare-row compare-names muted small" aria-hidden="true">
            <span>First</span>
            <span>Second</span>
          </li>
        )}
        {listed.slice(0, most).map((node) => (
          <NodePair
            key={node.node}
            node={node}
            said={verdictWord(node, compared)}
            sides={[nodes[0].get(node.node) ?? null, nodes[1].get(node.node) ?? null]}
            runs={[first.id, second.id]}
            opened={opened.has(node.node)}
          />
        ))}
        {listed.length === 0 && <li className="compare-none muted">Nothing differs between the nodes.</li>}
      </ul>
      {listed.length > most && (
        <Button onClick={() => setMost((before) => before + LISTED)}>
          Show more of {count(listed.length - most)} other nodes
        </Button>
      )}
    </>
  );
}

function byKey(run: Run): Map<string, Node> {
  return new Map(Object.values(run.nodes).map((node) => [node.key, node]));
}

function firstToOpen(compared: Comparison): Set<string> {
  const parted = compared.nodes.filter((node) => node.verdict === "different");
  return new Set(parted.slice(0, OPEN).map((node) => node.node));
}

function RunCard({ name, run, other }: { name: string; run: Run; other: Run }) {
  const took = Date.parse(run.updatedAt) - Date.parse(run.createdAt);
  return (
    <section className="card compare-run" aria-label={`${name} run`}>
      <div className="question-head">
        <span className="muted small">{name}</span>
        <StatusBadge word={runStatusLabel(run)} />
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

interface PairProps {
  node: ComparedNode;
  said: string;
  sides: readonly [Node | null, Node | null];
  runs: readonly [string, string];
  opened: boolean;
}

function NodePair({ node, said, sides: [before, after], runs, opened }: PairProps) {
  const [open, setOpen] = useState(opened);
  const either = after ?? before;
  if (either === null) return null;
  const inBoth = before !== null && after !== null;
  return (
    <li className={`compare-pair compare-${node.verdict}`}>
      <button
        type="button"
        className="compare-row"
        aria-expanded={open}
        disabled={!inBoth}
        onClick={() => setOpen((was) => !was)}
      >
        <Icon name={open && inBoth ? "down" : "chevron"} size={14} />
        <ModeBadge mode={modeOf(either)} />
        <span className="compare-key">{node.node}</span>
        <span className="compare-verdict">{said}</span>
        <NodeStatus name="First" node={before} />
        <NodeStatus name="Second" node={after} />
      </button>
      {open && inBoth && <OutputsDiff runs={runs} nodes={[before.id, after.id]} />}
    </li>
  );
}

function NodeStatus({ name, node }: { name: string; node: Node | null }) {
  const took =
    node === null || node.startedAt === null || node.endedAt === null
      ? ""
      : duration(Date.parse(node.endedAt) - Date.parse(node.startedAt));
  return (
    <span className="compare-standing muted small number">
      <span className="compare-side">{name}: </span>
      {node === null ? "–" : nodeLabel(node).text}
      {took !== "" && ` · ${took}`}
    </span>
  );
}
