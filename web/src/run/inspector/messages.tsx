/** What was said here: answers as they are written, answers that are final, and what people said. */
import type { Event } from "../../api/types";
import { useSaid } from "../../live/hooks";
import { clock } from "../../model/amounts";
import { attemptName } from "../../model/attempts";
import { StatusBadge } from "../../ui/badge";
import { Answer, Nothing, type PanelProps } from "./panel";
import { useNodeEvents } from "./use-node-record";

type Final = Extract<Event, { type: "message.assistant.final" }>;
type Heard = Extract<Event, { type: "message.user" }>;

export function Messages({ id, node }: PanelProps) {
  const events = useNodeEvents(id, node);
  const said = useSaid(id, node.id);
  return (
    <Answer asked={events}>
      {(found) => {
        const told = found.filter(isMessage);
        if (told.length === 0 && said.length === 0) return <Nothing>Nothing has been said yet.</Nothing>;
        return (
          <ol className="messages" aria-live="polite">
            {told.map((event) =>
              event.type === "message.user" ? (
                <Said key={event.id} event={event} />
              ) : (
                <Answered key={event.id} event={event} />
              ),
            )}
            {said.map((one) => (
              <li key={one.messageId} className="message message-live">
                <header>
                  <strong>{attemptName(one)}</strong>
                  <StatusBadge word={{ text: "Writing", tone: "busy" }} />
                </header>
                <pre>
                  {one.text}
                  <span className="message-caret" aria-hidden="true" />
                </pre>
              </li>
            ))}
          </ol>
        );
      }}
    </Answer>
  );
}

function isMessage(event: Event): event is Final | Heard {
  return event.type === "message.assistant.final" || event.type === "message.user";
}

const STATUS = {
  final: { text: "Answered", tone: "ok" },
  failed: { text: "Refused or failed", tone: "bad" },
  interrupted: { text: "Interrupted", tone: "warn" },
} as const;

function Answered({ event }: { event: Final }) {
  return (
    <li className="message">
      <header>
        <strong>{attemptName({ ...event, item: event.item ?? null })}</strong>
        <StatusBadge word={event.cached ? { text: "From the cache", tone: "ok" } : STATUS[event.status]} />
        <time className="number" dateTime={event.ts}>
          {clock(event.ts)}
        </time>
      </header>
      {event.content !== "" && <pre>{pretty(event.content)}</pre>}
      {event.content === "" && (
        <p className="muted small">
          {event.stored
            ? "Too large to travel along: see the outputs."
            : "There is no answer; what was heard is among the files."}
        </p>
      )}
    </li>
  );
}

function Said({ event }: { event: Heard }) {
  return (
    <li className="message message-user">
      <header>
        <strong>{event.message.role === "user" ? "A person" : "The system"}</strong>
        {event.message.interrupt && <StatusBadge word={{ text: "Interrupting", tone: "warn" }} />}
        <time className="number" dateTime={event.ts}>
          {clock(event.ts)}
        </time>
      </header>
      <pre>{event.message.content}</pre>
    </li>
  );
}

/** JSON with room to breathe; all else as it is. */
function pretty(content: string): string {
  if (!/^\s*[[{]/.test(content)) return content;
  try {
    return JSON.stringify(JSON.parse(content), null, 2);
  } catch {
    return content; // a text that only begins like JSON
  }
}
