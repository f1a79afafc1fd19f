/** Which items of a foreach a fork does again. */
import { useId } from "react";
import type { ForkBody, Node } from "../api/types";
import { indexesOf } from "../model/indexes";

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

interface Props {
  node: Node;
  choice: Choice;
  onChange: (choice: Choice) => void;
  disabled: boolean;
}

export function ItemsChoice({ node, choice, onChange, disabled }: Props) {
  const which = useId();
  const typed = useId();
  const total = node.items?.total ?? 0;
  const wrong = choice.typed !== "" && againOf(choice) === null;
  return (
    <div className="field dialog-field">
      <label className="field-label" htmlFor={which}>
        Items to do again
      </label>
      <select
        id={which}
        className="input"
        value={choice.which}
        disabled={disabled}
        onChange={(event) => onChange({ ...choice, which: event.target.value as Choice["which"] })}
      >
        <option value="usual">
          {node.outcome === "succeeded"
            ? `All ${total}`
            : "Those that are not done, and those for which something has changed"}
        </option>
        <option value="unfinished">Those that are not done, and those that are given something else</option>
        {node.outcome !== "succeeded" && <option value="all">All {total}</option>}
        <option value="some">Some by their number, and those that are not done</option>
      </select>
      {choice.which === "some" && (
        <>
          <label className="field-label" htmlFor={typed}>
            Numbers, counted from 0
          </label>
          <input
            id={typed}
            className="input"
            value={choice.typed}
            placeholder="3, 7-9"
            required
            aria-invalid={wrong}
            disabled={disabled}
            onChange={(event) => onChange({ ...choice, typed: event.target.value })}
          />
        </>
      )}
    </div>
  );
}
