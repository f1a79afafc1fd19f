/** The choice which items of a foreach a fork does again. */
import { useId } from "react";
import type { Node } from "../api/types";
import { againOf, type Choice, meaningOf } from "../model/fork-items";

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
  const meaning = meaningOf(choice.which, node.outcome);
  const help = useId();
  return (
    <div className="field dialog-field">
      <label className="field-label" htmlFor={which}>
        Items to do again
      </label>
      <select
        id={which}
        className="input"
        value={choice.which}
        aria-describedby={meaning === null ? undefined : help}
        disabled={disabled}
        onChange={(event) => onChange({ ...choice, which: event.target.value as Choice["which"] })}
      >
        <option value="usual">
          {node.outcome === "succeeded" ? `All ${total}` : "Unfinished items, and items with changes"}
        </option>
        <option value="unfinished">Unfinished items, and items with other inputs</option>
        {node.outcome !== "succeeded" && <option value="all">All {total}</option>}
        <option value="some">Items by their number, and unfinished items</option>
      </select>
      {meaning !== null && (
        <span className="field-help" id={help}>
          {meaning}
        </span>
      )}
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
