/** Buttons, and links that look like them. */
import type { ButtonHTMLAttributes, ReactNode } from "react";
import { Link } from "../navigation/link";
import "./button.css";

type Look = "primary" | "plain" | "quiet" | "danger";

interface Props extends ButtonHTMLAttributes<HTMLButtonElement> {
  look?: Look;
  /** Something is under way: it cannot be pressed again. */
  busy?: boolean;
}

export function Button({ look = "plain", busy = false, className = "", disabled, children, ...rest }: Props) {
  return (
    <button
      type="button"
      className={`button button-${look} ${className}`}
      disabled={disabled === true || busy}
      aria-busy={busy}
      {...rest}
    >
      {busy && <span className="button-spin" aria-hidden="true" />}
      {children}
    </button>
  );
}

export function ButtonLink(props: { to: string; look?: Look; className?: string; children: ReactNode }) {
  const { to, look = "plain", className = "", children } = props;
  return (
    <Link to={to} className={`button button-${look} ${className}`}>
      {children}
    </Link>
  );
}

/** A button that is only a picture: it has a name for those who do not see it, and as a tip. */
export function IconButton({
  label,
  className = "",
  ...rest
}: ButtonHTMLAttributes<HTMLButtonElement> & { label: string }) {
  return <button type="button" className={`icon-button ${className}`} aria-label={label} title={label} {...rest} />;
}
