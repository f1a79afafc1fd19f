/** What was said here: answers as they are written, answers that are final, and what people said. */
import { isObject, type JsonObject } from "../../api/json";
import type { Event } from "../../api/types";
import { usePartialText } from "../../live/hooks";
import { clock } from "../../model/amounts";
import { attemptName } from "../../model/attempts";
import { partialTexts } from "../../model/partial-json";
import { parsedJson } from "../../model/text-kinds";
import { StatusBadge } from "../../ui/badge";
import { Markdown } from "../../ui/markdown";
import { ValueView } from "../../ui/value-view";
import { Answer, Nothing, type PanelProps } from "./panel";
import { useNodeEvents } from "./use-node-record";

type Final = Extract<Event, { type: "message.assistant.final" }>;
type Heard = Extract<Event, { type: "message.user" }>;

export function Messages({ id, node }: PanelProps) {
  const events = useNodeEvents(id, node);
  const said = usePartialText(id, node.id);
  return (
    <Answer asked={events}>
      {(found) => {
        const told = found.filter(isMessage);
        if (told.length === 0 && said.length === 0) return <Nothing>No messages yet.</Nothing>;
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
                <Written text={one.text} />
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
      {event.content !== "" && <Content content={event.content} />}
      {event.content === "" && (
        <p className="muted small">
          {event.stored
            ? "Too large to show here: see the outputs."
            : "There is no answer. The text that arrived is among the files."}
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
      <div className="message-text">
        <Markdown text={event.message.content} />
      </div>
    </li>
  );
}

/** An answer in JSON by its parts, texts as texts; any other answer as it is. */
function Content({ content }: { content: string }) {
  const value = parsedJson(content);
  if (!isObject(value ?? undefined)) return <MessageText text={content} />;
  return (
    <dl className="message-parts">
      {Object.entries(value as JsonObject).map(([name, part]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd className="message-text">
            <ValueView value={part} label={name} />
          </dd>
        </div>
      ))}
    </dl>
  );
}

/** An answer that is being written: the texts in it as far as they have come, not the JSON around them. */
function Written({ text }: { text: string }) {
  const texts = partialTexts(text) ?? [{ name: "", text }];
  const caret = <span className="message-caret" aria-hidden="true" />;
  if (texts.length === 0) return <div className="message-text">{caret}</div>;
  return (
    <dl className="message-parts">
      {texts.map((part, at) => (
        <div key={part.name}>
          {part.name !== "" && <dt>{part.name}</dt>}
          <dd className="message-text">
            <span className="message-written">{part.text}</span>
            {at === texts.length - 1 && caret}
          </dd>
        </div>
      ))}
    </dl>
  );
}

function MessageText({ text }: { text: string }) {
  return (
    <div className="message-text">
      <Markdown text={text} />
    </div>
  );
}
