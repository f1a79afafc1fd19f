/** The conversation with an agent: each attempt, with what it was sent, what it said, and its calls in their places. */
import { useCallback } from "react";
import { getContent } from "../../api/client";
import type { Artifact } from "../../api/types";
import { usePartialText } from "../../live/hooks";
import { useRequest } from "../../live/use-request";
import { type AgentAttempt, agentAttempts } from "../../model/agent-calls";
import { bytes, clock } from "../../model/amounts";
import { attemptName } from "../../model/attempts";
import { liveParts, type Part, partsOf, type PlanEntry } from "../../model/conversation";
import type { Written } from "../../model/partial-text";
import { StatusBadge } from "../../ui/badge";
import { Markdown } from "../../ui/markdown";
import { AgentCall, AgentQuestion } from "./agent-call";
import { Answer, Nothing, type PanelProps } from "./panel";
import { attemptOf, useArtifacts } from "./use-artifacts";
import { useNodeFacts } from "./use-node-record";
import "./conversation.css";

/** A longer transcript is not read here: the calls are shown from the record. */
const MOST_BYTES = 8_000_000;

export function Conversation({ id, node }: PanelProps) {
  const facts = useNodeFacts(id, node);
  const said = usePartialText(id, node.id);
  const transcripts = useArtifacts(id, node).filter((one) => one.kind === "transcript");
  return (
    <Answer asked={facts}>
      {(found) => {
        const attempts = agentAttempts(found);
        if (attempts.length === 0) return <Nothing>The agent has not been asked yet.</Nothing>;
        return (
          <ol className="conversation" aria-live="polite">
            {attempts.map((attempt) => {
              const written = said.find((one) => isSame(one, attempt)) ?? null;
              const transcript = transcripts.findLast((one) => isSame(one, attempt)) ?? null;
              return <Attempt key={attempt.id} {...{ id, attempt, written, transcript }} />;
            })}
          </ol>
        );
      }}
    </Answer>
  );
}

type Place = { visit: number; attempt: number; item?: number | null };

function isSame(one: Place, other: Place): boolean {
  const [a, b] = [one, other].map((place) => attemptOf({ item: null, ...place } as Artifact));
  return a === b;
}

interface AttemptProps {
  id: string;
  attempt: AgentAttempt;
  written: Written | null;
  transcript: Artifact | null;
}

function Attempt({ id, attempt, written, transcript }: AttemptProps) {
  return (
    <li className="conversation-attempt">
      <header>
        <h3>{attemptName(attempt)}</h3>
        {attempt.endedAt === null && <StatusBadge word={{ text: "Under way", tone: "busy" }} />}
        <time className="number" dateTime={attempt.startedAt}>
          {clock(attempt.startedAt)}
        </time>
      </header>
      {transcript === null ? (
        <Parts parts={liveParts(attempt, written?.text ?? "", written?.breaks ?? [])} />
      ) : transcript.size > MOST_BYTES ? (
        <>
          <Nothing>Its transcript has {bytes(transcript.size)}; see the files. These are its calls.</Nothing>
          <Parts parts={partsOf(attempt, null)} />
        </>
      ) : (
        <Told id={id} attempt={attempt} transcript={transcript} />
      )}
    </li>
  );
}

function Told({ id, attempt, transcript }: { id: string; attempt: AgentAttempt; transcript: Artifact }) {
  const ask = useCallback((signal: AbortSignal) => getContent(id, transcript.id, signal), [id, transcript.id]);
  const content = useRequest(ask);
  return <Answer asked={content}>{(text) => <Parts parts={partsOf(attempt, text)} />}</Answer>;
}

function Parts({ parts }: { parts: readonly Part[] }) {
  if (parts.length === 0) return <Nothing>Nothing yet.</Nothing>;
  return (
    <ol className="conversation-parts">
      {parts.map((part, at) => (
        <li key={part.kind === "call" ? part.call.id : at} data-part={part.kind}>
          <One part={part} />
        </li>
      ))}
    </ol>
  );
}

function One({ part }: { part: Part }) {
  switch (part.kind) {
    case "sent":
      return <Folded name="What it was sent" text={part.text} />;
    case "thought":
      return <Folded name="What it thought" text={part.text} />;
    case "said":
      return (
        <div className="message-text conversation-said" tabIndex={0} role="group" aria-label="What the agent said">
          <Markdown text={part.text} />
        </div>
      );
    case "plan":
      return <Plan entries={part.entries} />;
    case "question":
      return <AgentQuestion asked={part.asked} />;
    case "call":
      return <AgentCall call={part.call} edits={part.edits} />;
  }
}

function Folded({ name, text }: { name: string; text: string }) {
  return (
    <details className="conversation-folded">
      <summary>{name}</summary>
      <pre className="argument-json" tabIndex={0} role="group" aria-label={name}>
        {text}
      </pre>
    </details>
  );
}

const MARKS: Record<string, string> = { completed: "done", in_progress: "now" };

function Plan({ entries }: { entries: readonly PlanEntry[] }) {
  return (
    <section className="conversation-plan" aria-label="Plan of the agent">
      <h4>Plan</h4>
      <ol>
        {entries.map((entry, at) => (
          <li key={`${at} ${entry.content}`} data-status={entry.status}>
            {entry.content} {entry.status in MARKS && <span className="muted small">({MARKS[entry.status]})</span>}
          </li>
        ))}
      </ol>
    </section>
  );
}
