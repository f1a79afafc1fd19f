/** The inputs, outputs, gates and effects of each block, collapsed at first. */
import type { ReactNode } from "react";
import type { OutlineBlock, Port } from "../api/explanation";
import { isObject, type Json } from "../api/json";
import { duration } from "../model/amounts";
import { modeOf } from "../model/labels";
import { ModeBadge } from "../ui/badge";
import { Icon } from "../ui/icon";

const EFFECTS: Record<string, string> = {
  pure: "Changes nothing outside",
  idempotent: "Changes things outside; doing it twice is like doing it once",
  once: "Changes things outside; must never be done twice",
};

export function Contracts({ blocks }: { blocks: readonly OutlineBlock[] }) {
  return (
    <div className="contracts">
      {blocks.map((block) => (
        <details key={block.id} className="contract">
          <summary>
            <Icon name="chevron" size={14} />
            <ModeBadge mode={modeOf(block)} />
            <span className="contract-name">{block.name}</span>
            {block.effect !== "pure" && <span className={`effect effect-${block.effect}`}>{block.effect}</span>}
            <span className="contract-who muted small">{block.op ?? block.handler ?? model(block)}</span>
          </summary>
          <Inside block={block} />
        </details>
      ))}
    </div>
  );
}

function Inside({ block }: { block: OutlineBlock }) {
  return (
    <dl className="contract-inside">
      <Row name="About">{block.description !== "" && block.description}</Row>
      <Row name="Takes">{block.inputs.length > 0 && <Ports ports={block.inputs} />}</Row>
      <Row name="Gives">{block.outputs.length > 0 && <Ports ports={block.outputs} />}</Row>
      <Row name="Gates">
        {block.gates.length > 0 && (
          <ul>
            {block.gates.map((gate) => (
              <li key={`${gate.when} ${gate.name}`}>
                <code>{gate.name}</code> {gate.type}, {gate.when === "pre" ? "before it works" : "on what it gave"}
              </li>
            ))}
          </ul>
        )}
      </Row>
      <Row name="Effect">{EFFECTS[block.effect] ?? block.effect}</Row>
      <Row name="Only when">{block.when !== null && <code>{block.when}</code>}</Row>
      <Row name="For each">{block.foreach !== null && <code>{block.foreach.items}</code>}</Row>
      <Row name="Tries">{block.maxAttempts > 1 && `up to ${block.maxAttempts}`}</Row>
      <Row name="Time limit">{block.timeoutMs !== null && duration(block.timeoutMs)}</Row>
      <Row name="Sends back">
        {block.bounces.length > 0 && block.bounces.map((one) => `to ${one.to}, at most ${one.max} times`).join("; ")}
      </Row>
    </dl>
  );
}

/** Nothing to say is not said. */
function Row({ name, children }: { name: string; children: ReactNode }) {
  if (children === false || children === null) return null;
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

function Ports({ ports }: { ports: readonly Port[] }) {
  return (
    <ul>
      {ports.map((port) => (
        <li key={port.name}>
          <code>{port.name}</code> <span className="muted">{typeName(port)}</span>
          {!port.required && <span className="muted"> optional</span>}
        </li>
      ))}
    </ul>
  );
}

/** A schema in a few words: its type and the bounds that matter most. */
function typeName(port: Port): string {
  const schema = port.schema as Json;
  if (!isObject(schema)) return port.kind;
  const type = Array.isArray(schema["type"])
    ? schema["type"].map(compact).join(" or ")
    : compact(schema["type"] ?? port.kind);
  const items = isObject(schema["items"]) ? ` of ${compact(schema["items"]["type"] ?? "anything")}` : "";
  const choices = Array.isArray(schema["enum"]) ? `: ${schema["enum"].map(compact).join(", ")}` : "";
  return type + items + choices;
}

/** A word of a schema, or a value of its `enum`, as text. */
function compact(value: Json): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

function model(block: OutlineBlock): string {
  const names = block.experts.map((expert) =>
    [expert["provider"], expert["model"]].filter((name) => typeof name === "string").join(" "),
  );
  return names.join(", ");
}
