/**
 * The comments on a node's changes, and their way to the node: all drafts in one message.
 *
 * A node of a live graph reads it in its next turn. A block takes no messages: there the comments become the reason of a
 * denial, if its agent asks about a call, or go to the clipboard.
 */
import { useCallback, useState } from "react";
import { sayToNode } from "../../api/client";
import type { Node } from "../../api/types";
import { useRunPart } from "../../live/hooks";
import { review, useComments } from "../../live/use-review";
import { sameParts } from "../../live/use-store";
import { unsentAnswers } from "../../live/use-unsent-answers";
import { headline, isAgentQuestion } from "../../model/approval-kinds";
import type { Label } from "../../model/labels";
import { type Comment, isOutdated, messageOf, placeOfComment, reviewKey, type ShownLines } from "../../model/review";
import type { RunState } from "../../model/run-store";
import { paths } from "../../navigation/paths";
import { navigate } from "../../navigation/router";
import { StatusBadge } from "../../ui/badge";
import { Button } from "../../ui/button";
import { copy } from "../../ui/clipboard";
import { done, failed } from "../../ui/toasts";
import "./review.css";

/** The longest reason that an answer takes. */
const MOST_REASON = 4000;
const isLive = ({ run }: RunState) => run?.kind === "graph" && run.ending === null;

/** Whether comments on the node's changes have a way to it: a live graph's node reads them, an agent is told them. */
export function useTakesComments(id: string, node: Node): boolean {
  return useRunPart(id, isLive) || node.kind === "agent";
}

/** `shown` are the lines as they are now; null as long as they are not known. */
export function Review({ id, node, shown }: { id: string; node: Node; shown: ShownLines | null }) {
  const comments = useComments(id, node.id);
  const of = reviewKey(id, node.id);
  const drafts = comments.filter((one) => one.sent === null);
  if (comments.length === 0) return <p className="muted small">Press the number of a line to comment on it.</p>;
  return (
    <section className="review" aria-label="Comments on the changes">
      <ul>
        {comments.map((one) => (
          <li key={one.id}>
            <code>{placeOfComment(one)}</code>
            <StatusBadge word={stateOf(one)} />
            {shown !== null && isOutdated(one, shown) && <StatusBadge word={OUTDATED} />}
            <p>{one.text}</p>
          </li>
        ))}
      </ul>
      <div className="answer-choices">
        {drafts.length > 0 && <Ways id={id} node={node} drafts={drafts} />}
        {drafts.length < comments.length && (
          <Button look="quiet" onClick={() => review.removeSent(of)}>
            Remove the sent comments
          </Button>
        )}
      </div>
    </section>
  );
}

const OUTDATED: Label = { text: "Outdated: the lines have changed", tone: "warn" };
const STATES: Record<NonNullable<Comment["sent"]> | "draft", Label> = {
  draft: { text: "Draft", tone: "still" },
  node: { text: "Sent to the node", tone: "ok" },
  denial: { text: "In the reason of a denial", tone: "ok" },
  clipboard: { text: "Copied", tone: "ok" },
};

function stateOf(comment: Comment): Label {
  return STATES[comment.sent ?? "draft"];
}

function Ways({ id, node, drafts }: { id: string; node: Node; drafts: readonly Comment[] }) {
  const select = useCallback(
    (state: RunState) => {
      const open = Object.values(state.run?.approvals ?? {});
      const call = open.find((one) => one.nodeId === node.id && one.kind === "call" && !isAgentQuestion(one));
      return { live: isLive(state), call: call ?? null };
    },
    [node.id],
  );
  const { live, call } = useRunPart(id, select, sameParts);
  const [busy, setBusy] = useState(false);
  const of = reviewKey(id, node.id);
  const message = messageOf(drafts);
  const count = drafts.length === 1 ? "1 comment" : `${drafts.length} comments`;
  const send = async () => {
    setBusy(true);
    try {
      await sayToNode(id, node.id, message);
      review.send(of, "node");
      done("The node will read it.");
    } catch (error) {
      failed(error);
    }
    setBusy(false);
  };
  if (live) {
    return (
      <Button look="primary" busy={busy} onClick={() => void send()}>
        Send {count} to the node
      </Button>
    );
  }
  const deny = () => {
    if (call === null) return;
    const begun = unsentAnswers.get().get(call.id);
    const reason = [begun?.reason ?? "", message].filter((part) => part.trim() !== "").join("\n\n");
    unsentAnswers.keep(call.id, { runId: id, question: headline(call), status: "denied", reason });
    review.send(of, "denial");
    navigate(paths.approval(call.id));
  };
  const fits = message.length <= MOST_REASON;
  return (
    <>
      {call !== null && fits && (
        <Button look="primary" title="Opens the call that waits, with the comments as the reason" onClick={deny}>
          Deny the open call with {count}…
        </Button>
      )}
      <Button onClick={() => void copy(message, "Copied.").then(() => review.send(of, "clipboard"))}>
        Copy {count} as one message
      </Button>
      <p className="muted small review-hint">
        {call !== null && fits
          ? "A block takes no messages during a turn: the agent reads the comments as the reason of a denial."
          : call !== null
            ? "They are too long for the reason of a denial."
            : "A block takes no messages. The reason of a denial reaches the agent, when it asks about a call."}
      </p>
    </>
  );
}
