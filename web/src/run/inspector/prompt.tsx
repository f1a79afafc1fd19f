/** The prompt of each attempt, exactly as it was sent: whole, or by the blocks it was made of. */
import { useCallback, useState } from "react";
import { getContent } from "../../api/client";
import { isObject, type Json } from "../../api/json";
import type { Artifact } from "../../api/types";
import { useRequest } from "../../live/use-request";
import { attemptName } from "../../model/attempts";
import { CopyButton } from "../../ui/copy-button";
import { JsonTree } from "../../ui/json-tree";
import { Markdown } from "../../ui/markdown";
import { Answer, Nothing, type PanelProps, Section } from "./panel";
import { attemptOf, useArtifacts } from "./use-artifacts";

const FULL = "prompt.full.txt";
const BLOCKS = "prompt.blocks.json";
const NAMES: Record<string, string> = {
  system: "System",
  role: "Role",
  mode: "Contract",
  task: "Task",
  override: "Correction",
};

export function Prompt({ id, node }: PanelProps) {
  const prompts = useArtifacts(id, node).filter((one) => one.kind === "prompt");
  const [blocks, setBlocks] = useState(true);
  const [chosen, setChosen] = useState<string | null>(null);
  const attempts = [...new Set(prompts.map(attemptOf))];
  const last = attempts.at(-1);
  if (last === undefined) return <Nothing>No prompt has been sent yet.</Nothing>;
  const current = chosen !== null && attempts.includes(chosen) ? chosen : last;
  const found = prompts.filter((one) => attemptOf(one) === current);
  const shown = found.findLast((one) => one.name === (blocks ? BLOCKS : FULL)) ?? found[0];
  return (
    <>
      <div className="panel-tools">
        <select
          aria-label="Attempt"
          className="select"
          value={current}
          onChange={(event) => setChosen(event.target.value)}
        >
          {attempts.map((attempt) => {
            const one = prompts.find((made) => attemptOf(made) === attempt) as Artifact;
            return (
              <option key={attempt} value={attempt}>
                {attemptName(one)}
              </option>
            );
          })}
        </select>
        <div className="segments" role="group" aria-label="How to show the prompt">
          <button type="button" className="segment" aria-pressed={blocks} onClick={() => setBlocks(true)}>
            Blocks
          </button>
          <button type="button" className="segment" aria-pressed={!blocks} onClick={() => setBlocks(false)}>
            Full
          </button>
        </div>
      </div>
      {shown !== undefined && <Sent key={shown.id} id={id} artifact={shown} blocks={shown.name === BLOCKS} />}
      {found
        .filter((one) => one.name !== FULL && one.name !== BLOCKS)
        .map((one) => (
          <Section key={one.id} title={one.name}>
            <Sent id={id} artifact={one} blocks={false} />
          </Section>
        ))}
    </>
  );
}

function Sent({ id, artifact, blocks }: { id: string; artifact: Artifact; blocks: boolean }) {
  const content = useRequest(
    useCallback((signal: AbortSignal) => getContent(id, artifact.id, signal), [id, artifact.id]),
  );
  return (
    <Answer asked={content}>
      {(text) => (blocks ? <Blocks text={text} /> : <Text text={text} what="the prompt" />)}
    </Answer>
  );
}

function Blocks({ text }: { text: string }) {
  const document = JSON.parse(text) as Json;
  if (!isObject(document)) return <Text text={text} what="the prompt" />;
  const texts = Object.keys(NAMES).flatMap((name) => {
    const part = document[name];
    return typeof part === "string" && part !== "" ? [{ name, part }] : [];
  });
  const rest = Object.fromEntries(Object.entries(document).filter(([name]) => !(name in NAMES)));
  return (
    <>
      {texts.map(({ name, part }) => (
        <Section key={name} title={NAMES[name] ?? name}>
          <div className="message-text" tabIndex={0} role="group" aria-label={name}>
            <Markdown text={part} />
          </div>
        </Section>
      ))}
      <Section title="Sent to">
        <JsonTree value={rest} label="Model and parameters" />
      </Section>
    </>
  );
}

export function Text({ text, what }: { text: string; what: string }) {
  return (
    <div className="panel-text">
      <CopyButton text={() => text} what={what} />
      <pre tabIndex={0} role="group" aria-label={what}>
        {text}
      </pre>
    </div>
  );
}
