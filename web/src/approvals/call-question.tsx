/** A call that an agent wants to make: which tool, why a person is asked, and exactly with what; an edit as a diff. */
import { useCallback } from "react";
import { getApproval } from "../api/client";
import { isObject, type Json, type JsonObject } from "../api/json";
import type { Approval } from "../api/types";
import { useRequest } from "../live/use-request";
import { bytes } from "../model/amounts";
import { isAgentQuestion, ruleOf, ruleWords } from "../model/approval-kinds";
import { KIND_WORDS } from "../model/agent-calls";
import { DiffView } from "../ui/diff-view";
import { ProblemBox, Waiting } from "../ui/notice";
import "./approval-question.css";
import "./call-question.css";

export function CallQuestion({ approval, isOpen = true }: { approval: Approval; isOpen?: boolean }) {
  if (isAgentQuestion(approval)) return <p className="muted small">The agent waits for the answer, and goes on.</p>;
  if (!approval.tool.stored) return <Call approval={approval} />;
  if (isOpen) return <LargeCall approval={approval} bytes={approval.tool.stored.bytes} />;
  return (
    <>
      <CallFacts approval={approval} />
      <p className="muted small">
        Its arguments are too large to be shown here ({bytes(approval.tool.stored.bytes)}); they are in the record as{" "}
        {approval.tool.stored.blob}.
      </p>
    </>
  );
}

/** Arguments that are too large to travel along are asked for when they are looked at. */
function LargeCall({ approval, bytes: size }: { approval: Approval; bytes: number }) {
  const ask = useCallback((signal: AbortSignal) => getApproval(approval.id, signal), [approval.id]);
  const { value, problem, again } = useRequest(ask);
  if (problem !== null) return <ProblemBox problem={problem} again={again} />;
  return value === null ? <Waiting what={`Loading ${bytes(size)}`} /> : <Call approval={value} />;
}

function Call({ approval }: { approval: Approval }) {
  const call = approval.call ?? {};
  const diff = call["diff"];
  return (
    <div className="call-question">
      <CallFacts approval={approval} />
      {call["unreadable"] === true && (
        <p className="call-unreadable" role="note">
          The arguments of this call could not be read. If you allow it, you allow what you cannot see.
        </p>
      )}
      {typeof diff === "string" ? (
        <>
          <DiffView text={diff} />
          <details className="call-exact">
            <summary>Exact arguments</summary>
            <LiteralValues values={approval.tool.args} />
          </details>
        </>
      ) : (
        call["unreadable"] !== true && <LiteralValues values={approval.tool.args} />
      )}
    </div>
  );
}

function CallFacts({ approval }: { approval: Approval }) {
  const call = approval.call ?? {};
  const rule = ruleOf(approval);
  const kind = textAt(call, "kind");
  const folder = textAt(call, "folder");
  const rows: [string, string][] = [
    ["Agent", textAt(call, "agent")],
    ["Tool", approval.tool.name],
    ["Kind", KIND_WORDS[kind] ?? kind],
    ["Folder", folder === "." ? "" : folder],
    ["Why you are asked", textAt(call, "why")],
    ["Allowed for longer", rule === null ? "only once: there is no rule for calls like it" : ruleWords(rule)],
  ];
  return (
    <dl className="question-facts call-facts">
      {rows
        .filter(([, value]) => value !== "")
        .map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
    </dl>
  );
}

function textAt(values: JsonObject, name: string): string {
  const value = values[name];
  return typeof value === "string" ? value : "";
}

/** Values exactly as they are: no text of an agent is taken for Markdown. */
export function LiteralValues({ values }: { values: Json }) {
  const entries = isObject(values) ? Object.entries(values) : [["", values] as const];
  if (entries.length === 0) return <p className="muted small">Without arguments.</p>;
  return (
    <dl className="arguments">
      {entries.map(([name, value]) => (
        <div key={name}>
          {name !== "" && <dt>{name}</dt>}
          <dd>
            <pre className="argument-json" tabIndex={0}>
              {typeof value === "string" ? value : JSON.stringify(value, null, 2)}
            </pre>
          </dd>
        </div>
      ))}
    </dl>
  );
}
