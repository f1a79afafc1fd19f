/** A value that has no field of its own, written as JSON; what cannot be read is never sent. */
import { useEffect, useRef, useState } from "react";
import type { Json } from "../api/json";
import type { ControlProps } from "./schema-form";

const UNREADABLE = "This is not JSON; texts are in quotes.";

export function JsonField({ id, value, onChange, disabled, hints, wrong }: ControlProps) {
  const [text, setText] = useState(() => (value === undefined ? "" : JSON.stringify(value, null, 2)));
  const [unreadable, setUnreadable] = useState(false);
  const field = useRef<HTMLTextAreaElement>(null);
  useEffect(() => field.current?.setCustomValidity(unreadable ? UNREADABLE : ""), [unreadable]);
  const take = (typed: string) => {
    setText(typed);
    if (typed.trim() === "") {
      setUnreadable(false);
      onChange(undefined);
      return;
    }
    try {
      onChange(JSON.parse(typed) as Json);
      setUnreadable(false);
    } catch {
      setUnreadable(true);
    }
  };
  return (
    <>
      <textarea
        id={id}
        ref={field}
        className="input mono"
        rows={Math.min(12, Math.max(3, text.split("\n").length))}
        spellCheck={false}
        value={text}
        disabled={disabled}
        aria-describedby={hints || undefined}
        aria-invalid={wrong || unreadable || undefined}
        onChange={(event) => take(event.target.value)}
      />
      {unreadable && <p className="field-wrong">{UNREADABLE}</p>}
    </>
  );
}
