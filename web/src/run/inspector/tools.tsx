/** What was called here, with what, and whether it worked. */
import type { Event, Tool } from "../../api/types";
import { agentAttempts, type Call as AgentCallFacts, callsOf } from "../../model/agent-calls";
import { clock } from "../../model/amounts";
import type { Label } from "../../model/labels";
import { StatusBadge } from "../../ui/badge";
import { JsonTree } from "../../ui/json-tree";
import { Took } from "../../ui/time";
import { Answer, Nothing, type PanelProps } from "./panel";
import { AgentCall } from "./agent-call";
import { useNodeEvents, useNodeFacts } from "./use-node-record";
import "./conversation.css";

interface Call {
  tool: Tool;
  proposedAt: string | null;
  startedAt: string | null;
  endedAt: string | null;
  ok: boolean | null;
  error: { code: string; message: string } | null;
}

const SHOWN = 60;

export function Tools(props: PanelProps) {
  return props.node.kind === "agent" ? <AgentTools {...props} /> : <NodeTools {...props} />;
}

/** The calls of an agent, with what was decided about each, newest first. */
function AgentTools({ id, node }: PanelProps) {
  const facts = useNodeFacts(id, node);
  return (
    <Answer asked={facts}>
      {(found) => {
        const calls = callsOf(agentAttempts(found)).reverse();
        if (calls.length === 0) return <Nothing>No calls yet.</Nothing>;
        return (
          <>
            <p className="muted small">{tally(calls)}</p>
            <ol className="conversation-parts">
              {calls.slice(0, SHOWN).map((call) => (
                <li key={call.id}>
                  <AgentCall call={call} />
                </li>
              ))}
            </ol>
            {calls.length > SHOWN && <Nothing>{calls.length - SHOWN} earlier ones are in the event log.</Nothing>}
          </>
        );
      }}
    </Answer>
  );
}

function tally(calls: readonly AgentCallFacts[]): string {
  const of = (status: AgentCallFacts["status"]) => calls.filter((call) => call.status === status).length;
  const parts: [number, string][] = [
    [of("failed"), "failed"],
    [of("denied"), "denied"],
    [of("asked"), "waiting for a person"],
  ];
  const some = parts.filter(([count]) => count > 0).map(([count, what]) => `${count} ${what}`);
  return [calls.length === 1 ? "1 call" : `${calls.length} calls`, ...some].join(", ");
}

function NodeTools({ id, node }: PanelProps) {
  const events = useNodeEvents(id, node);
  return (
    <Answer asked={events}>
      {(found) => {
        const calls = callsIn(found).reverse();
        if (calls.length === 0) return <Nothing>No calls yet.</Nothing>;
        return (
          <ol className="attempts">
            {calls.slice(0, SHOWN).map((call) => (
              <One key={call.tool.id} call={call} />
            ))}
          </ol>
        );
      }}
    </Answer>
  );
}

function One({ call }: { call: Call }) {
  const at = call.startedAt ?? call.proposedAt;
  return (
    <li className="attempt">
      <header>
        <h3 className="mono">{call.tool.name}</h3>
        <StatusBadge word={labelOf(call)} />
        <span className="attempt-facts number">
          {at !== null && <time dateTime={at}>{clock(at)}</time>}
          {call.startedAt !== null && <Took from={call.startedAt} to={call.endedAt} />}
        </span>
      </header>
      {call.error !== null && (
        <div className="panel-fault">
          <code>{call.error.code}</code>
          <p>{call.error.message}</p>
        </div>
      )}
      {Object.keys(call.tool.args).length > 0 ? (
        <JsonTree value={call.tool.args} label={`Arguments of ${call.tool.name}`} />
      ) : (
        <p className="muted small">Without arguments: it gets the node&rsquo;s inputs.</p>
      )}
    </li>
  );
}

function labelOf(call: Call): Label {
  if (call.ok === true) return { text: "Worked", tone: "ok" };
  if (call.ok === false) return { text: call.startedAt === null ? "Never called" : "Failed", tone: "bad" };
  return call.startedAt === null ? { text: "A person is asked", tone: "warn" } : { text: "Running", tone: "busy" };
}

function callsIn(events: readonly Event[]): Call[] {
  const calls = new Map<string, Call>();
  for (const event of events) {
    if (event.type === "tool.proposed" || event.type === "tool.started") {
      const known = calls.get(event.tool.id);
      const proposed = event.type === "tool.proposed";
      calls.set(event.tool.id, {
        tool: event.tool,
        proposedAt: proposed ? event.ts : (known?.proposedAt ?? null),
        startedAt: proposed ? null : event.ts,
        endedAt: null,
        ok: null,
        error: null,
      });
    } else if (event.type === "tool.completed") {
      const known = calls.get(event.toolId);
      const error = (event.error ?? null) as Call["error"];
      if (known !== undefined) calls.set(event.toolId, { ...known, endedAt: event.ts, ok: event.result.ok, error });
    }
  }
  return [...calls.values()];
}
