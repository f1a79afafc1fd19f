/** What an agent's node works with: its agent, permissions and sandbox, its connection, its calls, and its workspace. */
import type { ReactNode } from "react";
import { isObject, type JsonObject } from "../../api/json";
import type { Budget, Fact } from "../../api/types";
import { useRunPart } from "../../live/hooks";
import { useNow } from "../../live/use-now";
import { agentAttempts, callsOf, sessionRows } from "../../model/agent-calls";
import { count, money, relative } from "../../model/amounts";
import { text } from "../../model/facts";
import type { RunState } from "../../model/run-store";
import { CopyButton } from "../../ui/copy-button";
import { Facts, type PanelProps, Section } from "./panel";
import { useWholeNode } from "./use-node-record";

const budgetOf = ({ run }: RunState) => run?.budget ?? null;

export function AgentSummary({ id, node, facts }: PanelProps & { facts: readonly Fact[] }) {
  const now = useNow(10_000);
  const whole = useWholeNode(id, node);
  const budget = useRunPart(id, budgetOf);
  const attempts = agentAttempts(facts);
  const session = attempts.findLast((one) => one.session !== null)?.session ?? null;
  const calls = callsOf(attempts);
  const asked = calls.filter((call) => call.asked !== null).length;
  const denied = calls.filter((call) => call.status === "denied").length;
  const rows: (readonly [string, ReactNode])[] = session === null ? [] : sessionRows(session);
  const workspace = whole.value?.workspace ?? null;
  return (
    <Section title="Agent">
      <Facts
        rows={[
          ...rows,
          ["Connection", connectionWords(node, now)],
          ...capRows(budget),
          ["Calls", `${calls.length}, asked about ${asked}, denied ${denied}`],
          ...(isObject(workspace) ? workspaceRows(workspace) : []),
        ]}
      />
    </Section>
  );
}

function connectionWords(node: PanelProps["node"], now: number): string {
  const { connection } = node;
  if (!connection) return "none";
  const at = connection.lastOutputAt ?? connection.lastHeartbeatAt;
  return at ? `${connection.status}, last active ${relative(at, now)}` : connection.status;
}

/** What the whole run has used of its limits, which stop the agent too; nothing where there is no limit. */
function capRows(budget: Budget | null): [string, string][] {
  const parts: string[] = [];
  const tokens = budget?.tokens;
  const cost = budget?.costUsd;
  if (tokens && tokens.limit !== null) parts.push(`${count(tokens.used)} of ${count(tokens.limit)} tokens`);
  if (cost && cost.limit !== null) parts.push(`${money(cost.used)} of ${money(cost.limit)}`);
  return parts.length === 0 ? [] : [["Budget of the run", parts.join(", ")]];
}

function workspaceRows(workspace: JsonObject): [string, ReactNode][] {
  const path = text(workspace, "path");
  const ports = workspace["ports"];
  const rows: [string, ReactNode][] = [
    ["Workspace", text(workspace, "kind")],
    ["Branch", text(workspace, "branch")],
    [
      "Folder",
      <span key="path">
        <code>{path}</code> <CopyButton text={() => path} what="the path" />
      </span>,
    ],
    ["Ports", Array.isArray(ports) ? ports.map((port) => JSON.stringify(port)).join(", ") : ""],
  ];
  return rows.filter(([, value]) => value !== "");
}
