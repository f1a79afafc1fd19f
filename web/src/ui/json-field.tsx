/** A value that has no field of its own, written as JSON; what cannot be read yet is kept as it is typed. */
import { useState } from "react";
import type { Json } from "../api/json";
import type { ControlProps } from "./schema-form";

export function JsonField({ id, value, onChange, disabled, hints, wrong }: ControlProps) {
  const [text, setText] = useState(() => (value === undefined ? "" : JSON.stringify(value, null, 2)));
  const [unreadable, setUnreadable] = useState(false);
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
        className="input mono"
        rows={Math.min(12, Math.max(3, text.split("\n").length))}
        spellCheck={false}
        value={text}
        disabled={disabled}
        aria-describedby={hints || undefined}
        aria-invalid={wrong || unreadable || undefined}
        onChange={(event) => take(event.target.value)}
      />
      {unreadable && <p className="field-wrong">This is not JSON yet; the last value that was is kept.</p>}
    </>
  );
}
