/** What a page says when it has nothing to show: that it is empty, that it waits, or what went wrong and what to do. */
import type { ReactNode } from "react";
import type { Problem } from "../api/types";
import { Button } from "./button";
import { Icon, type IconName } from "./icon";
import "./notice.css";

interface EmptyProps {
  icon?: IconName;
  title: string;
  children?: ReactNode;
  /** What to do next. */
  action?: ReactNode;
}

export function Empty({ icon = "runs", title, children, action }: EmptyProps) {
  return (
    <div className="notice">
      <span className="notice-icon">
        <Icon name={icon} size={22} />
      </span>
      <h2>{title}</h2>
      {children !== undefined && <div className="notice-text">{children}</div>}
      {action}
    </div>
  );
}

export function ProblemBox({ problem, again }: { problem: Problem; again?: () => void }) {
  return (
    <div className="problem" role="alert">
      <Icon name="warning" size={18} />
      <div className="problem-words">
        <strong>{problem.detail}</strong>
        {problem.hint && <p className="muted">{problem.hint}</p>}
        {problem.errors && problem.errors.length > 0 && (
          <ul className="problem-parts">
            {problem.errors.map((part) => (
              <li key={`${part.pointer} ${part.message}`}>
                <code>{part.pointer === "" ? "/" : part.pointer}</code> {part.message}
              </li>
            ))}
          </ul>
        )}
        <code className="problem-code">{problem.code}</code>
      </div>
      {again !== undefined && <Button onClick={again}>Try again</Button>}
    </div>
  );
}

/** Said at once to those who cannot see it, shown only when the wait is long enough to be noticed. */
export function Waiting({ what }: { what: string }) {
  return (
    <div className="waiting" role="status">
      <span className="button-spin" aria-hidden="true" />
      {what}
    </div>
  );
}
