/** Exactly what is asked: each argument as it would be used; texts as texts, diffs as diffs, all else as JSON. */
import { useCallback } from "react";
import { getNode } from "../api/client";
import type { Json, JsonObject } from "../api/json";
import type { Approval } from "../api/types";
import { useRequest } from "../live/use-request";
import { count } from "../model/amounts";
import { isDiff } from "../model/approval-kinds";
import { Markdown } from "../ui/markdown";
import { ProblemBox, Waiting } from "../ui/notice";
import { UnifiedDiff } from "../ui/text-diff";

export function Arguments({ approval }: { approval: Approval }) {
  if (approval.tool.stored) return <StoredArguments approval={approval} bytes={approval.tool.stored.bytes} />;
  return <Values values={approval.tool.args} />;
}

/** Arguments that are too large to travel along are asked for with their node. */
function StoredArguments({ approval, bytes }: { approval: Approval; bytes: number }) {
  const { runId, nodeId } = approval;
  const ask = useCallback((signal: AbortSignal) => getNode(runId, nodeId, signal), [runId, nodeId]);
  const { value, problem, again } = useRequest(ask);
  if (problem !== null) return <ProblemBox problem={problem} again={again} />;
  if (value === null) return <Waiting what={`Loading ${count(bytes)} bytes`} />;
  return <Values values={value.inputs ?? {}} />;
}

export function Values({ values }: { values: JsonObject }) {
  const names = Object.keys(values);
  if (names.length === 0) return <p className="muted small">The question has no further arguments.</p>;
  return (
    <dl className="arguments">
      {names.map((name) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>
            <Value value={values[name] ?? null} />
          </dd>
        </div>
      ))}
    </dl>
  );
}

function ArgumentText({ text }: { text: string }) {
  return (
    <div className="argument-text">
      <Markdown text={text} />
    </div>
  );
}

function Value({ value }: { value: Json }) {
  if (typeof value === "string") {
    return isDiff(value) ? <UnifiedDiff text={value} /> : <ArgumentText text={value} />;
  }
  if (typeof value !== "object" || value === null) return <code>{JSON.stringify(value)}</code>;
  return (
    <pre className="argument-json" tabIndex={0}>
      {JSON.stringify(value, null, 2)}
    </pre>
  );
}
