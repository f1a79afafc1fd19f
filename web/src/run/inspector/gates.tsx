/** What is promised about the node, and what its gates said about the last attempt. */
import { type ReactNode, useCallback } from "react";
import { explainRun } from "../../api/client";
import type { OutlineBlock, Port } from "../../api/explanation";
import { isObject, type Json } from "../../api/json";
import { useRequest } from "../../live/use-request";
import { duration } from "../../model/amounts";
import { type Verdict, verdictsOf } from "../../model/attempts";
import { Icon } from "../../ui/icon";
import { JsonTree } from "../../ui/json-tree";
import { Answer, Facts, Nothing, type PanelProps, Section } from "./panel";

export function Checks({ id, node }: PanelProps) {
  const workflow = useRequest(useCallback((signal: AbortSignal) => explainRun(id, signal), [id]));
  const verdicts = verdictsOf(node.verdicts);
  return (
    <>
      <Section title="Gates">
        <Answer asked={workflow}>
          {(found) => {
            const block = found.blocks.find((one) => one.id === node.key);
            const waiting = (block?.gates ?? []).filter((gate) => !verdicts.some((one) => one.gate === gate.name));
            if (verdicts.length === 0 && waiting.length === 0) return <Nothing>This node has no gates.</Nothing>;
            return (
              <>
                <Verdicts verdicts={verdicts} />
                {waiting.length > 0 && (
                  <ul className="verdicts">
                    {waiting.map((gate) => (
                      <li key={gate.name} className="verdict">
                        <span className="verdict-mark verdict-open" />
                        <div>
                          <strong>{gate.name}</strong> <code>{gate.type}</code>
                          <p className="muted small">
                            {node.outcome === null ? "Not judged yet" : "Not judged in the last attempt"};{" "}
                            {gate.when === "pre" ? "before" : "after"} the work.
                          </p>
                        </div>
                      </li>
                    ))}
                  </ul>
                )}
              </>
            );
          }}
        </Answer>
      </Section>
      {workflow.value !== null && <Contract block={workflow.value.blocks.find((one) => one.id === node.key)} />}
    </>
  );
}

export function Verdicts({ verdicts }: { verdicts: readonly Verdict[] }) {
  if (verdicts.length === 0) return null;
  return (
    <ul className="verdicts">
      {verdicts.map((verdict, at) => (
        <li key={`${verdict.gate} ${at}`} className="verdict">
          <Mark passed={verdict.passed} />
          <div>
            <strong>{verdict.gate}</strong> <code>{verdict.type}</code>
            {verdict.tookMs !== null && <span className="muted small"> {duration(verdict.tookMs)}</span>}
            {verdict.reason !== "" && <p className="small">{verdict.reason}</p>}
            {verdict.found !== undefined && <p className="muted small">Found: {shown(verdict.found)}</p>}
            {verdict.evidence !== undefined && <Evidence value={verdict.evidence} gate={verdict.gate} />}
          </div>
        </li>
      ))}
    </ul>
  );
}

function Mark({ passed }: { passed: boolean | null }) {
  if (passed === null)
    return (
      <span className="verdict-mark verdict-open">
        <span className="unseen">Not judged</span>
      </span>
    );
  return (
    <span className={`verdict-mark ${passed ? "verdict-yes" : "verdict-no"}`}>
      <Icon name={passed ? "check" : "close"} size={12} />
      <span className="unseen">{passed ? "Passed" : "Failed"}</span>
    </span>
  );
}

/** What fits on a line is said on one. */
const SHORT = 80;

function Evidence({ value, gate }: { value: Json; gate: string }) {
  const text = JSON.stringify(value);
  if (text.length > SHORT || !isObject(value)) return <JsonTree value={value} label={`Evidence of ${gate}`} />;
  const said = Object.entries(value).map(
    ([name, part]) => `${name}: ${typeof part === "string" ? part : JSON.stringify(part)}`,
  );
  return <p className="muted small">{said.join(", ")}</p>;
}

function shown(value: Json): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

function Contract({ block }: { block: OutlineBlock | undefined }) {
  if (block === undefined) return null;
  const rows: (readonly [string, ReactNode])[] = [["Tries", `${block.maxAttempts} at most`]];
  if (block.timeoutMs !== null) rows.push(["Time", `${duration(block.timeoutMs)} at most`]);
  if (block.when !== null) rows.push(["Only when", <code key="when">{block.when}</code>]);
  if (block.foreach !== null) rows.push(["For each of", <code key="each">{block.foreach.items}</code>]);
  if (block.handler !== null) rows.push(["Handler", <code key="handler">{block.handler}</code>]);
  for (const bounce of block.bounces)
    rows.push([`If ${bounce.gate} fails`, `back to ${bounce.to}, ${bounce.max} times at most`]);
  return (
    <>
      <Section title="Input ports">
        <Ports ports={block.inputs} />
      </Section>
      <Section title="Output ports">
        <Ports ports={block.outputs} />
      </Section>
      <Section title="Rules">
        <Facts rows={rows} />
      </Section>
    </>
  );
}

function Ports({ ports }: { ports: readonly Port[] }) {
  if (ports.length === 0) return <Nothing>None.</Nothing>;
  return (
    <ul className="ports">
      {ports.map((port) => (
        <li key={port.name}>
          <div>
            <code className="port-name">{port.name}</code>
            <span className="muted small">
              {typeOf(port)}
              {port.required ? "" : ", optional"}
            </span>
          </div>
          {isObject(port.schema as Json) && Object.keys(port.schema as object).some((key) => key !== "type") && (
            <JsonTree value={port.schema as Json} label={`Schema of ${port.name}`} />
          )}
        </li>
      ))}
    </ul>
  );
}

function typeOf(port: Port): string {
  const schema = port.schema as Json;
  if (port.kind !== "json") return port.kind;
  return isObject(schema) && typeof schema["type"] === "string" ? schema["type"] : "anything";
}
