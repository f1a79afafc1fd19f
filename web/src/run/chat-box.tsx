/** Says something to a node of a live graph: it waits for the node's next turn, or stops the turn under way. */
import { type FormEvent, type KeyboardEvent, useId, useState } from "react";
import { sayToNode } from "../api/client";
import type { Node } from "../api/types";
import { isRunning } from "../model/labels";
import { Button } from "../ui/button";
import { done, failed } from "../ui/toasts";
import "./acting.css";

export function ChatBox({ id, node }: { id: string; node: Node }) {
  const [content, setContent] = useState("");
  const [busy, setBusy] = useState(false);
  const name = useId();
  const working = isRunning(node);
  const say = async (interrupt: boolean) => {
    if (content.trim() === "" || busy) return;
    setBusy(true);
    try {
      await sayToNode(id, node.id, content.trim(), interrupt);
      setContent("");
      done(
        interrupt ? "Its turn is stopped; it reads this now." : working ? "It reads this in its next turn." : "Sent.",
      );
    } catch (error) {
      failed(error);
    }
    setBusy(false);
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    void say(false);
  };
  const onKey = (event: KeyboardEvent) => {
    if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    void say(event.shiftKey && working);
  };
  return (
    <form className="chat-box" onSubmit={submit}>
      <label className="field-label" htmlFor={name}>
        Say something to {node.label}
        {node.inboxCount > 0 && <span className="field-optional"> {node.inboxCount} waiting to be read</span>}
      </label>
      <textarea
        id={name}
        className="input"
        rows={2}
        value={content}
        onChange={(event) => setContent(event.target.value)}
        onKeyDown={onKey}
      />
      <div className="node-actions">
        <Button type="submit" look="primary" busy={busy} disabled={content.trim() === ""}>
          {working ? "Queue" : "Send"}
        </Button>
        {working && (
          <Button look="danger" busy={busy} disabled={content.trim() === ""} onClick={() => void say(true)}>
            Interrupt
          </Button>
        )}
      </div>
    </form>
  );
}
