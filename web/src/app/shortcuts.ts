/** Keys that do something: a component says which while it is there, and the help sheet lists what is said now. */
import { useLayoutEffect } from "react";
import { Cell } from "../model/observable";

export interface Shortcut {
  /** One key, or two one after the other with a space between: "?", "j", "g r". */
  keys: string;
  what: string;
  /** The heading in the help sheet. */
  group: string;
  run: () => void;
}

const SECOND_KEY_MS = 1_200;

/** The newest last: where two say the same key, the newest has it. */
export const shortcuts = new Cell<readonly Shortcut[]>([]);

/** From the moment in which the component is seen. Lists must be stable: made outside of it, or by useMemo. */
export function useShortcuts(mine: readonly Shortcut[]): void {
  useLayoutEffect(() => {
    shortcuts.set([...shortcuts.get(), ...mine]);
    return () => shortcuts.set(shortcuts.get().filter((one) => !mine.includes(one)));
  }, [mine]);
}

/** Begin to listen; the answer ends it. */
export function listenForKeys(): () => void {
  let first: { key: string; at: number } | null = null;
  const onKey = (event: KeyboardEvent) => {
    if (isForSomethingElse(event)) return;
    const before = first !== null && event.timeStamp - first.at < SECOND_KEY_MS ? `${first.key} ` : "";
    first = { key: event.key, at: event.timeStamp };
    const found = find(before + event.key) ?? find(event.key);
    if (found === undefined) return;
    event.preventDefault();
    first = null;
    found.run();
  };
  document.addEventListener("keydown", onKey);
  return () => document.removeEventListener("keydown", onKey);
}

function find(keys: string): Shortcut | undefined {
  return shortcuts.get().findLast((one) => one.keys === keys);
}

function isForSomethingElse(event: KeyboardEvent): boolean {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return true;
  const target = event.target instanceof HTMLElement ? event.target : null;
  if (target?.closest("input, textarea, select, [contenteditable]")) return event.key !== "Escape";
  return document.querySelector("dialog[open]") !== null;
}
