/** What models are saying right now, by message: deltas make it longer, the end of the message takes it away. */
import type { Streaming } from "../api/messages";
import type { Event } from "../api/types";

/** By message id. Replaced as a whole when anything changes. */
export type Said = ReadonlyMap<string, Streaming>;

export function saidAtFirst(streaming: readonly Streaming[]): Said {
  return new Map(streaming.map((one) => [one.messageId, one]));
}

export function foldSaid(said: Said, events: readonly Event[]): Said {
  let found: Map<string, Streaming> | null = null;
  for (const event of events) {
    if (event.type === "message.assistant.delta") {
      found ??= new Map(said);
      const before = found.get(event.messageId);
      found.set(event.messageId, extended(before, event));
    } else if (event.type === "message.assistant.final" && (found ?? said).has(event.messageId)) {
      found ??= new Map(said);
      found.delete(event.messageId);
    }
  }
  return found ?? said;
}

type Delta = Extract<Event, { type: "message.assistant.delta" }>;

/** At offset 0 the text begins anew, else it goes on; offsets count UTF-16 units, as strings here do. */
function extended(before: Streaming | undefined, delta: Delta): Streaming {
  const { nodeId, messageId, visit, attempt, offset } = delta;
  const item = delta.item ?? null;
  if (before === undefined || offset <= before.offset) {
    return { nodeId, messageId, visit, attempt, item, offset, text: delta.delta };
  }
  return { ...before, text: before.text.slice(0, offset - before.offset) + delta.delta };
}
