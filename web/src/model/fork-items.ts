/** Which items of a foreach a fork does again: what can be chosen, what it asks for, and what it means. */
import type { ForkBody, Node } from "../api/types";
import { indexesOf } from "./item-ranges";

type Again = NonNullable<ForkBody["items"]>;

/** What was chosen: by whom the fork goes, and the indexes as they were typed. */
export interface Choice {
  which: "usual" | "unfinished" | "all" | "some";
  typed: string;
}

export const USUAL: Choice = { which: "usual", typed: "" };

/** What the choice asks for: nothing in particular, some items, or (null) what cannot be read. */
export function againOf({ which, typed }: Choice): { items?: Again } | null {
  if (which === "usual") return {};
  if (which !== "some") return { items: which };
  const items = indexesOf(typed);
  return items === null ? null : { items };
}

/** Whether some of its items are done, so that there is something to choose. */
export function hasDoneItems(node: Pick<Node, "items">): boolean {
  return (node.items?.done ?? 0) > 0;
}

/** What becomes of the items that are done; null where all of them are done again, as is said already. */
export function meaningOf(which: Choice["which"], outcome: Node["outcome"]): string | null {
  if (which === "all" || (which === "usual" && outcome === "succeeded")) return null;
  if (which === "usual")
    return "If the block or the code of its handler has changed, all are done again (unless their effect happens once).";
  return "Finished items are kept, even if the block or the code of its handler has changed.";
}
