/** What a run has cost: by mode, model and node, beside what its workflow was expected to take. */
import { type ReactNode, useCallback, useMemo } from "react";
import { explainRun } from "../api/client";
import type { Case, Range } from "../api/explanation";
import { Link } from "../navigation/link";
import { paths } from "../navigation/paths";
import { useRunPart } from "../live/hooks";
import { useRequest } from "../live/use-request";
import { useFacts } from "../live/use-facts";
import { count, duration, money } from "../model/amounts";
import type { RunState } from "../model/run-store";
import { type Line, type Spending, spendingOf, type Spent } from "../model/spending";
import { ProblemBox, Waiting } from "../ui/notice";
import "./costs-view.css";

const nodesOf = (state: RunState) => state.run?.nodes ?? null;
const budgetOf = (state: RunState) => state.run?.budget ?? null;

export default function CostsView({ id }: { id: string; selected: string | null }) {
  const { facts, problem, again } = useFacts(id);
  const nodes = useRunPart(id, nodesOf);
  const budget = useRunPart(id, budgetOf);
  const ask = useCallback((signal: AbortSignal) => explainRun(id, signal), [id]);
  const explained = useRequest(ask);
  const found = useMemo(
    () => spendingOf(facts, Object.values(nodes ?? {}), explained.value),
    [facts, nodes, explained.value],
  );
  const notes = explained.value?.totals.notes ?? [];
  if (problem !== null && facts.length === 0) return <ProblemBox problem={problem} again={again} />;
  if (facts.length === 0) return <Waiting what="Adding up" />;
  return (
    <div className="costs">
      <Tiles found={found} limits={{ tokens: budget?.tokens.limit ?? null, costUsd: budget?.costUsd.limit ?? null }} />
      <Table
        title="By mode"
        lines={found.byMode}
        first="Mode"
        expected={(line) => found.byMode.find((one) => one.key === line.key)?.expected ?? null}
      />
      {notes.length > 0 && (
        <ul className="costs-notes muted small">
          {notes.map((note) => (
            <li key={note}>{note}</li>
          ))}
        </ul>
      )}
      {found.byModel.length > 0 && <Table title="By model" lines={found.byModel} first="Model" />}
      <Table
        title="By node"
        lines={found.byNode}
        first="Node"
        name={(line) => (
          <Link className="text-link" to={`${paths.node(id, line.key)}?tab=costs`}>
            {line.name}
          </Link>
        )}
      />
    </div>
  );
}

function Tiles({ found, limits }: { found: Spending; limits: { tokens: number | null; costUsd: number | null } }) {
  const { total, expected } = found;
  const tokens = total.tokensIn + total.tokensOut;
  return (
    <ul className="tiles">
      <Tile name="Cost" value={money(total.costUsd)} limit={limits.costUsd === null ? null : money(limits.costUsd)}>
        {expected && <Against used={total.costUsd} range={expected} pick={(one) => one.costUsd} show={money} />}
      </Tile>
      <Tile name="Tokens" value={count(tokens)} limit={limits.tokens === null ? null : count(limits.tokens)}>
        {expected && <Against used={tokens} range={expected} pick={(one) => one.tokens} show={count} />}
      </Tile>
      <Tile name="Attempts" value={count(total.attempts)} limit={null}>
        {expected && <Against used={total.attempts} range={expected} pick={(one) => one.steps} show={count} />}
      </Tile>
      <Tile name="Time at work" value={duration(total.workMs)} limit={null}>
        {expected && (
          <Against used={total.workMs} range={expected} pick={(one) => one.durationSec * 1_000} show={duration} />
        )}
      </Tile>
    </ul>
  );
}

function Tile(props: { name: string; value: string; limit: string | null; children: ReactNode }) {
  return (
    <li className="tile card">
      <span className="muted small">{props.name}</span>
      <strong className="tile-value number">{props.value}</strong>
      {props.limit !== null && <span className="muted small">of at most {props.limit}</span>}
      {props.children}
    </li>
  );
}

interface AgainstProps {
  used: number;
  range: Range;
  pick: (one: Case) => number;
  show: (value: number) => string;
}

/** Where the amount lies between the least and the most that was expected. */
function Against({ used, range, pick, show }: AgainstProps) {
  const [least, likely, most] = [pick(range.minimum), pick(range.expected), pick(range.worst)];
  if (most === 0) return <span className="muted small">no estimate</span>;
  const end = Math.max(most, used) || 1;
  return (
    <div className="against">
      <div className="against-bar" aria-hidden="true">
        <span
          className={used > most ? "against-used against-over" : "against-used"}
          style={{ width: `${(100 * used) / end}%` }}
        />
        {likely > 0 && <span className="against-mark" style={{ left: `${(100 * likely) / end}%` }} />}
      </div>
      <span className="muted small number">
        {likely === 0 ? `at most ${show(most)}` : `expected ${show(likely)} (${show(least)} to ${show(most)})`}
      </span>
    </div>
  );
}

interface TableProps {
  title: string;
  first: string;
  lines: readonly Line[];
  name?: (line: Line) => ReactNode;
  expected?: (line: Line) => Range | null;
}

function Table({ title, first, lines, name = (line) => line.name, expected }: TableProps) {
  const most = Math.max(...lines.map(weight), 1e-12);
  return (
    <section className="costs-part">
      <h2>{title}</h2>
      <div className="costs-scroll card" tabIndex={0} role="group" aria-label={title}>
        <table className="costs-table">
          <thead>
            <tr>
              <th scope="col">{first}</th>
              <th scope="col">Attempts</th>
              <th scope="col">Tokens in</th>
              <th scope="col">Tokens out</th>
              <th scope="col">Time</th>
              <th scope="col">Cost</th>
              {expected && <th scope="col">Expected</th>}
            </tr>
          </thead>
          <tbody>
            {lines.map((line) => (
              <tr key={line.key}>
                <th scope="row">
                  {name(line)}
                  <span
                    className="costs-share"
                    aria-hidden="true"
                    style={{ width: `${(100 * weight(line)) / most}%` }}
                  />
                </th>
                <td>{count(line.attempts)}</td>
                <td>{count(line.tokensIn)}</td>
                <td>{count(line.tokensOut)}</td>
                <td>{duration(line.workMs)}</td>
                <td>{money(line.costUsd)}</td>
                {expected && <td>{expectedText(expected(line))}</td>}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}

/** What a share is a share of: money where any was spent, else tokens, else time. */
function weight(line: Spent): number {
  return line.costUsd || (line.tokensIn + line.tokensOut) / 1e9 || line.workMs / 1e15;
}

function expectedText(range: Range | null): string {
  if (range === null || range.worst.tokens === 0) return "–";
  return `${count(range.expected.tokens)} tokens, ${money(range.expected.costUsd)}`;
}
