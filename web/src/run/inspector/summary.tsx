/** The node at a glance: what came of it, what it took, who was asked. */
import { type ReactNode, useCallback } from "react";
import { Link } from "../../navigation/link";
import { paths } from "../../navigation/paths";
import type { Fact } from "../../api/types";
import { useRunPart } from "../../live/hooks";
import { sameParts } from "../../live/use-store";
import { clock, count, duration, moment, money } from "../../model/amounts";
import { attemptName } from "../../model/attempts";
import { dataOf, number, object, text } from "../../model/facts";
import { elapsedMs, summaryOf, tookMs } from "../../model/graph/node-status";
import type { RunState } from "../../model/run-store";
import { isRunning, MODE_NAMES, modeOf } from "../../model/labels";
import { Took } from "../../ui/time";
import { AgentSummary } from "./agent-summary";
import { Answer, Facts, Nothing, type PanelProps, Section } from "./panel";
import { useNodeFacts } from "./use-node-record";

const NO_FACTS: readonly Fact[] = [];

export function Summary({ id, node }: PanelProps) {
  const facts = useNodeFacts(id, node);
  const summary = summaryOf(node, useRunPart(id, hasEnded));
  return (
    <>
      {node.error !== null && (
        <div className="panel-fault" role="note">
          <code>{node.error.code}</code>
          <p>{node.error.message}</p>
        </div>
      )}
      {node.error === null && summary !== "" && <p className="panel-lead">{summary}</p>}
      <Facts rows={rowsOf(node)} />
      {node.kind === "agent" && <AgentSummary id={id} node={node} facts={facts.value ?? NO_FACTS} />}
      <Neighbours id={id} node={node} />
      <Section title="What happened">
        <Answer asked={facts}>{(found) => <Story facts={found} />}</Answer>
      </Section>
    </>
  );
}

const hasEnded = ({ run }: RunState) => run !== null && run.ending !== null;

/** How long it took, and beside it the time from its start to its end if much of that was waiting. */
function Taken({ node }: { node: PanelProps["node"] }) {
  const worked = tookMs(node);
  const elapsed = elapsedMs(node.startedAt, node.endedAt);
  if (node.startedAt === null) return null;
  if (worked === null || elapsed === null) return <Took from={node.startedAt} to={null} />;
  const [work, whole] = [duration(worked), duration(elapsed)];
  return <span className="number">{work === whole ? work : `${work} of work, ${whole} from start to end`}</span>;
}

function rowsOf(node: PanelProps["node"]): (readonly [string, ReactNode])[] {
  const rows: (readonly [string, ReactNode])[] = [
    ["Mode", modeWords(node)],
    ["Effect", node.effect],
    ["Attempts", node.visits > 1 ? `${node.attempts} in ${node.visits} visits` : String(node.attempts)],
  ];
  if (node.startedAt !== null) {
    rows.push(["Started", moment(node.startedAt)]);
    const goesOn = node.endedAt === null && isRunning(node);
    if (goesOn || node.endedAt !== null) rows.push(["Took", <Taken key="took" node={node} />]);
  }
  if (node.items !== null) rows.push(["Items", itemsOf(node.items)]);
  if (node.usage.totalTokens > 0) {
    rows.push(["Tokens", `${count(node.usage.promptTokens)} in, ${count(node.usage.completionTokens)} out`]);
    rows.push(["Cost", costWords(node)]);
  }
  if (node.inboxCount > 0) rows.push(["Inbox", `${node.inboxCount} waiting`]);
  return rows;
}

function modeWords(node: PanelProps["node"]): string {
  const name = node.kind === "agent" ? "Agent" : MODE_NAMES[modeOf(node)];
  return node.op === null ? name : `${name} · ${node.op}`;
}

/** A cost of 0 with tokens is one that the agent has not told. */
function costWords(node: PanelProps["node"]): string {
  if (node.usage.costUnknown === true) return "USD unknown (own log-in)";
  const isUntold = node.kind === "agent" && node.usage.costUsd === 0;
  return isUntold ? "not known: the agent reports none" : money(node.usage.costUsd);
}

function itemsOf({ done, total, kept, failed }: NonNullable<PanelProps["node"]["items"]>): string {
  const parts = [`${count(done)} of ${count(total)}`];
  if (failed) parts.push(`${count(failed)} of them failed`);
  if (kept) parts.push(`${count(kept)} of them done in the run it was forked from`);
  return parts.join(", ");
}

/** Where its inputs come from and where its outputs go. */
function Neighbours({ id, node }: PanelProps) {
  const select = useCallback(
    ({ run }: RunState) => {
      const edges = Object.values(run?.edges ?? {});
      const keyOf = (of: string) => run?.nodes[of]?.key ?? "";
      const before = edges.filter((edge) => edge.to === node.id).map((edge) => `<${keyOf(edge.from)}\n${edge.label}`);
      const after = edges.filter((edge) => edge.from === node.id).map((edge) => `>${keyOf(edge.to)}\n${edge.label}`);
      return [...before, ...after];
    },
    [node.id],
  );
  const lines = useRunPart(id, select, sameParts);
  if (lines.length === 0) return null;
  const some = (mark: string) => lines.filter((line) => line.startsWith(mark)).map((line) => line.slice(1).split("\n"));
  return (
    <Facts
      rows={[
        ["Comes after", <Links id={id} edges={some("<")} />],
        ["Leads to", <Links id={id} edges={some(">")} />],
      ]}
    />
  );
}

function Links({ id, edges }: { id: string; edges: readonly string[][] }) {
  if (edges.length === 0) return "nothing";
  return (
    <ul className="panel-links">
      {edges.map(([key = "", label = ""]) => (
        <li key={`${key} ${label}`}>
          <Link to={paths.node(id, key)} className="text-link">
            {key}
          </Link>
          <code>{label.replace(">", " → ")}</code>
        </li>
      ))}
    </ul>
  );
}

const TOLD: Record<string, (fact: Fact) => string> = {
  "node.kept": () => "Kept from the run it was forked from",
  "node.unjudged": () => "Done in the run it was forked from, and only judged here",
  "items.kept": (fact) => `Items done in the run it was forked from: ${kept(fact)}`,
  "node.skipped": (fact) => `Skipped: ${text(dataOf(fact), "reason")}`,
  "node.bounced": (fact) => `Sent back to ${text(dataOf(fact), "routeTo")}`,
  "run.stalled": () => "Stalled: no progress",
  "approval.requested": (fact) => `Asked: ${text(dataOf(fact), "prompt")}`,
  "approval.resolved": (fact) => answered(fact),
  "approval.withdrawn": () => "The question was withdrawn",
  "attempt.started": (fact) => `${attemptOf(fact)} started`,
  "attempt.succeeded": (fact) => `${attemptOf(fact)} succeeded`,
  "attempt.failed": (fact) => `${attemptOf(fact)} failed: ${text(object(dataOf(fact), "error"), "message")}`,
  "attempt.interrupted": (fact) => `Interrupted: ${text(dataOf(fact), "reason")}`,
  "attempt.cancelled": (fact) => `Cancelled: ${text(dataOf(fact), "reason")}`,
  "node.finished": () => "All items are done",
  "item.failed": (fact) =>
    `Item ${number(dataOf(fact), "item")} failed: ${text(object(dataOf(fact), "error"), "message")}`,
  "node.failed": (fact) => `Failed: ${text(object(dataOf(fact), "error"), "message")}`,
  "message.received": () => "A message was received",
};

function kept(fact: Fact): string {
  const items = dataOf(fact)["items"];
  return count(Array.isArray(items) ? items.length : 0);
}

function attemptOf(fact: Fact): string {
  const data = dataOf(fact);
  const item = data["item"];
  return attemptName({
    visit: number(data, "visit"),
    attempt: number(data, "attempt"),
    item: typeof item === "number" ? item : null,
  });
}

function answered(fact: Fact): string {
  const data = dataOf(fact);
  const reason = text(data, "reason");
  return `${text(object(data, "resolution"), "status")} by ${text(data, "by")}${reason === "" ? "" : `: ${reason}`}`;
}

/** The last so many; attempts of a foreach are many. */
const SHOWN = 40;

function Story({ facts }: { facts: readonly Fact[] }) {
  const told = facts.filter((fact) => fact.type in TOLD);
  if (told.length === 0) return <Nothing>Nothing yet.</Nothing>;
  return (
    <>
      {told.length > SHOWN && (
        <p className="muted small">
          The last {SHOWN} of {count(told.length)}.
        </p>
      )}
      <ol className="panel-story">
        {told.slice(-SHOWN).map((fact) => (
          <li key={fact.seq}>
            <Link to={paths.event(fact.runId, fact.seq)} className="number" title={`Event ${fact.seq}`}>
              {clock(fact.ts).slice(0, 8)}
            </Link>
            <span>{TOLD[fact.type]?.(fact)}</span>
          </li>
        ))}
      </ol>
    </>
  );
}
