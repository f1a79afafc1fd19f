/** What the node changed: its diffs, and those of its outputs that are one. Lines can be commented on, see `review.tsx`. */
import { type ReactNode, useCallback, useMemo, useState } from "react";
import { getChanges, getContent } from "../../api/client";
import { isObject, type Json } from "../../api/json";
import type { Artifact, Node } from "../../api/types";
import { review, useComments } from "../../live/use-review";
import { useRequest } from "../../live/use-request";
import { attemptName } from "../../model/attempts";
import { isDiff } from "../../model/approval-kinds";
import { reviewKey, shownLines, type ShownLines } from "../../model/review";
import { type Comments, DiffView } from "../../ui/diff-view";
import { Answer, Nothing, type PanelProps, Section } from "./panel";
import { Review, useTakesComments } from "./review";
import { useArtifacts } from "./use-artifacts";
import { useWholeNode } from "./use-node-record";

export function Changes(props: PanelProps) {
  return props.node.kind === "agent" ? <AgentChanges {...props} /> : <NodeChanges {...props} />;
}

/** The diffs of a node that is no agent. */
function NodeChanges({ id, node }: PanelProps) {
  const diffs = useArtifacts(id, node).filter((one) => one.kind === "diff");
  const whole = useWholeNode(id, node);
  const takesComments = useTakesComments(id, node);
  const comments = useDrafts(id, node);
  const outputs = useMemo(() => diffsIn(whole.value?.outputs ?? null), [whole.value]);
  const shown = useMemo(() => shownLines(outputs.map(([, text]) => text)), [outputs]);
  const given = takesComments ? comments : null;
  return (
    <>
      {takesComments && <Review id={id} node={node} shown={whole.value === null ? null : shown} />}
      {[...diffs].reverse().map((one) => (
        <Section key={one.id} title={`${attemptName(one)}: ${one.name}`}>
          <Kept id={id} artifact={one} comments={given} />
        </Section>
      ))}
      <Answer asked={whole}>
        {() => {
          if (outputs.length === 0 && diffs.length === 0) return <Nothing>No changes.</Nothing>;
          return outputs.map(([name, text]) => (
            <Section key={name} title={`Output ${name}`}>
              <DiffView text={text} comments={given} />
            </Section>
          ));
        }}
      </Answer>
    </>
  );
}

type Scope = "turn" | "node" | "all";

const SCOPES: readonly (readonly [Scope, string])[] = [
  ["turn", "Last turn"],
  ["node", "Since it began"],
  ["all", "Each turn"],
];

const GONE: { diff: string | null } = { diff: null };

/** The diffs of an agent: of its last turn, of all its turns together, or each one. */
function AgentChanges({ id, node }: PanelProps) {
  const [scope, setScope] = useState<Scope>("turn");
  const diffs = useArtifacts(id, node).filter((one) => one.kind === "diff");
  const last = diffs.at(-1) ?? null;
  const turn = useRequest(
    useCallback(async (signal: AbortSignal) => (last === null ? "" : getContent(id, last.id, signal)), [id, last]),
  );
  const whole = useWholeNode(id, node);
  const since = useRequest(
    useCallback(
      async (signal: AbortSignal) => {
        const isHere = whole.value?.workspace ?? null; // asked for again with the node: it may have changed more
        return isHere === null ? GONE : { diff: (await getChanges(id, node.id, signal)).diff };
      },
      [id, node.id, whole.value],
    ),
  );
  const comments = useDrafts(id, node);
  const shown = useShownLines(turn.value, since.value?.diff ?? null);
  return (
    <>
      <div className="panel-tools">
        <div className="segments" role="group" aria-label="Which changes">
          {SCOPES.map(([of, name]) => (
            <button key={of} type="button" className="segment" aria-pressed={scope === of} onClick={() => setScope(of)}>
              {name}
            </button>
          ))}
        </div>
      </div>
      <Review id={id} node={node} shown={shown} />
      {scope === "turn" && last === null && <Nothing>No turn has ended yet.</Nothing>}
      {scope === "turn" && last !== null && (
        <Section title={titleOf(last)}>
          <Answer asked={turn}>{(text) => <Patch text={text} comments={comments} />}</Answer>
        </Section>
      )}
      {scope === "node" && (
        <Answer asked={since}>
          {({ diff }) =>
            diff === null ? (
              <Nothing>The workspace is not here (any more). The changes of each turn are kept.</Nothing>
            ) : (
              <Patch text={diff} comments={comments} />
            )
          }
        </Answer>
      )}
      {scope === "all" &&
        diffs.toReversed().map((one) => (
          <Section key={one.id} title={titleOf(one)}>
            <Kept id={id} artifact={one} comments={one === last ? comments : null} />
          </Section>
        ))}
    </>
  );
}

/** Null until both diffs are there, or are known not to be: until then no comment is called outdated. */
function useShownLines(turn: string | null, since: string | null): ShownLines | null {
  return useMemo(() => {
    const diffs = [turn, since].filter((one) => one !== null);
    return turn === null ? null : shownLines(diffs);
  }, [turn, since]);
}

function titleOf(artifact: Artifact): string {
  const metadata: Json | undefined = artifact.metadata ?? undefined;
  const summary = isObject(metadata) ? metadata["summary"] : null;
  const partial = artifact.name.includes("partial") ? ", which did not end well" : "";
  return `${attemptName(artifact)}${partial}${typeof summary === "string" ? `: ${summary}` : ""}`;
}

function Patch({ text, comments }: { text: string; comments: Comments | null }): ReactNode {
  if (text.trim() === "") return <Nothing>No changes.</Nothing>;
  return <DiffView text={text} comments={comments} />;
}

/** Outputs that are a unified diff. */
export function diffsIn(outputs: Json): [string, string][] {
  if (!isObject(outputs)) return [];
  return Object.entries(outputs).filter(
    (pair): pair is [string, string] => typeof pair[1] === "string" && isDiff(pair[1]),
  );
}

function Kept({ id, artifact, comments }: { id: string; artifact: Artifact; comments: Comments | null }) {
  const content = useRequest(
    useCallback((signal: AbortSignal) => getContent(id, artifact.id, signal), [id, artifact.id]),
  );
  return <Answer asked={content}>{(text) => <Patch text={text} comments={comments} />}</Answer>;
}

/** The drafts on the node's lines, for the diffs that are shown. */
function useDrafts(id: string, node: Node): Comments {
  const all = useComments(id, node.id);
  return useMemo(() => {
    const of = reviewKey(id, node.id);
    return {
      drafts: all.filter((one) => one.sent === null),
      add: (comment) => review.add(of, comment),
      remove: (draft) => review.remove(of, draft),
    };
  }, [all, id, node.id]);
}
