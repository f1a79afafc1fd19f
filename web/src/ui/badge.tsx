/** Small labels: how a run or a node is doing, and the mode of a node. */
import { BADGES, type Mode, MODE_NAMES, type Label } from "../model/labels";
import "./badge.css";

export function StatusBadge({ word }: { word: Label }) {
  return (
    <span className={`status tone-${word.tone}`}>
      <span className="status-dot" aria-hidden="true" />
      {word.text}
    </span>
  );
}

export function ModeBadge({ mode }: { mode: Mode }) {
  return (
    <span className={`mode mode-${mode}`} title={MODE_NAMES[mode]}>
      {BADGES[mode]}
    </span>
  );
}

/** A number that wants attention; nothing at zero. */
export function CountBadge({ count, label }: { count: number; label: string }) {
  if (count === 0) return null;
  return (
    <span className="count number">
      {count}
      <span className="unseen"> {label}</span>
    </span>
  );
}
