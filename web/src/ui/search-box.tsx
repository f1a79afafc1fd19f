/** A field to search by; the key that leads to it may be shown in it. */
import type { InputHTMLAttributes, Ref } from "react";
import { Icon } from "./icon";
import "./search-box.css";

interface Props extends InputHTMLAttributes<HTMLInputElement> {
  /** What is searched; also what is written in it while it is empty. */
  label: string;
  shortcut?: string;
  input?: Ref<HTMLInputElement>;
}

export function SearchBox({ label, shortcut, input, className = "", ...rest }: Props) {
  return (
    <label className={`search ${className}`}>
      <Icon name="search" />
      <span className="unseen">{label}</span>
      <input
        ref={input}
        type="search"
        placeholder={label}
        onKeyDown={(event) => event.key === "Escape" && event.currentTarget.blur()}
        {...rest}
      />
      {shortcut !== undefined && <kbd aria-hidden="true">{shortcut}</kbd>}
    </label>
  );
}
