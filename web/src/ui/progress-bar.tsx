/** How far something has come, as a bar in parts and in words. */
import type { Progress } from "../model/progress";
import "./progress-bar.css";

const PARTS = ["done", "failed", "running", "blocked"] as const;

export function ProgressBar({ progress }: { progress: Progress }) {
  if (progress.total === 0) return null;
  const over = progress.done + progress.failed;
  return (
    <span className="progress">
      <span className="progress-bar" aria-hidden="true">
        {PARTS.map((part) => (
          <span
            key={part}
            className={`progress-part progress-${part}`}
            style={{ width: `${(100 * progress[part]) / progress.total}%` }}
          />
        ))}
      </span>
      <span className="number">
        {over}
        <span className="progress-of"> of {progress.total}</span>
      </span>
    </span>
  );
}
