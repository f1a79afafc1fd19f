/**
 * Text that models are generating now, by message: deltas extend it, the final message removes it. A call of an agent, or
 * its question, marks the place in the text at which it came.
 */
import type { Streaming } from "../api/messages";
import type { Event } from "../api/types";

/** A call, or a question, and how much of the text had come before it. */
export interface Break {
  callId: string;
  offset: number;
}

export type Written = Streaming & { breaks?: readonly Break[] };

/** By message id. Replaced as a whole when anything changes. */
export type PartialTexts = ReadonlyMap<string, Written>;

export function initialPartialText(streaming: readonly Streaming[]): PartialTexts {
  return new Map(streaming.map((message) => [message.messageId, message]));
}

export function foldPartialText(texts: PartialTexts, events: readonly Event[]): PartialTexts {
  let changed: Map<string, Written> | null = null;
  for (const event of events) {
    if (event.type === "message.assistant.delta") {
      changed ??= new Map(texts);
      const before = changed.get(event.messageId);
      changed.set(event.messageId, extended(before, event));
    } else if (event.type === "message.assistant.final" && (changed ?? texts).has(event.messageId)) {
      changed ??= new Map(texts);
      changed.delete(event.messageId);
    } else if (event.type === "tool.proposed") {
      for (const text of (changed ?? texts).values()) {
        if (text.nodeId !== event.nodeId) continue;
        changed ??= new Map(texts);
        changed.set(text.messageId, withBreak(text, event.tool.id));
      }
    }
  }
  return changed ?? texts;
}

function withBreak(written: Written, callId: string): Written {
  return { ...written, breaks: [...(written.breaks ?? []), { callId, offset: written.text.length }] };
}

type Delta = Extract<Event, { type: "message.assistant.delta" }>;

/** At offset 0 the text begins anew, else it goes on; offsets count UTF-16 units, as strings here do. */
function extended(before: Written | undefined, delta: Delta): Written {
  const { nodeId, messageId, visit, attempt, offset } = delta;
  const item = delta.item ?? null;
  if (before === undefined || offset <= before.offset) {
    return { nodeId, messageId, visit, attempt, item, offset, text: delta.delta };
  }
  return { ...before, text: before.text.slice(0, offset - before.offset) + delta.delta };
}
