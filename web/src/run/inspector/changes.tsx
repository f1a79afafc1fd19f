/** What the node changed: its diffs, and those of its outputs that are one. Comments go to the node, if it reads any. */
import { useCallback } from "react";
import { getContent, sayToNode } from "../../api/client";
import { isObject, type Json } from "../../api/json";
import type { Artifact, Node } from "../../api/types";
import { useRunPart } from "../../live/hooks";
import { useAsked } from "../../live/use-asked";
import { attemptName } from "../../model/attempts";
import { isDiff } from "../../model/questions";
import type { RunState } from "../../model/run-store";
import { DiffView, type OnComment } from "../../ui/diff-view";
import { done, failed } from "../../ui/toasts";
import { Answer, Nothing, type PanelProps, Section } from "./panel";
import { useArtifacts } from "./use-artifacts";
import { useWholeNode } from "./use-node-record";

const isLive = ({ run }: RunState) => run?.kind === "graph" && run.ending === null;

export function Changes({ id, node }: PanelProps) {
  const diffs = useArtifacts(id, node).filter((one) => one.kind === "diff");
  const whole = useWholeNode(id, node);
  const onComment = useComments(id, node);
  return (
    <>
      {[...diffs].reverse().map((one) => (
        <Section key={one.id} title={`${attemptName(one)}: ${one.name}`}>
          <Kept id={id} artifact={one} onComment={onComment} />
        </Section>
      ))}
      <Answer asked={whole}>
        {(found) => {
          const texts = diffsIn(found.outputs ?? null);
          if (texts.length === 0 && diffs.length === 0) return <Nothing>It has changed nothing.</Nothing>;
          return texts.map(([name, text]) => (
            <Section key={name} title={`Output ${name}`}>
              <DiffView text={text} onComment={onComment} />
            </Section>
          ));
        }}
      </Answer>
    </>
  );
}

/** Outputs that are a unified diff. */
export function diffsIn(outputs: Json): [string, string][] {
  if (!isObject(outputs)) return [];
  return Object.entries(outputs).filter(
    (pair): pair is [string, string] => typeof pair[1] === "string" && isDiff(pair[1]),
  );
}

function Kept({ id, artifact, onComment }: { id: string; artifact: Artifact; onComment: OnComment }) {
  const content = useAsked(
    useCallback((signal: AbortSignal) => getContent(id, artifact.id, signal), [id, artifact.id]),
  );
  return <Answer asked={content}>{(text) => <DiffView text={text} onComment={onComment} />}</Answer>;
}

/** A node of a live graph reads what is said about its lines in its next turn. */
function useComments(id: string, node: Node): OnComment {
  const live = useRunPart(id, isLive);
  const comment = useCallback(
    (file: string, line: number, text: string) =>
      sayToNode(id, node.id, `On ${file}, line ${line}:\n${text}`).then(() => done("The node will read it."), failed),
    [id, node.id],
  );
  return live ? comment : null;
}
