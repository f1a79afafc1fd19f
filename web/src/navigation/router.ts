/** Where we are, from the address: patterns such as /runs/:id, links that do not load the page anew. */
import { useSyncExternalStore } from "react";

const CHANGED = "skelo:navigated";

export type Params = Record<string, string>;

export function navigate(to: string, options: { replace?: boolean } = {}): void {
  if (to === here()) return;
  history[options.replace === true ? "replaceState" : "pushState"](null, "", to);
  window.dispatchEvent(new window.Event(CHANGED));
}

function here(): string {
  return location.pathname + location.search + location.hash;
}

function subscribe(listener: () => void): () => void {
  window.addEventListener("popstate", listener);
  window.addEventListener(CHANGED, listener);
  return () => {
    window.removeEventListener("popstate", listener);
    window.removeEventListener(CHANGED, listener);
  };
}

export function usePath(): string {
  return useSyncExternalStore(subscribe, () => location.pathname);
}

export function useSearch(): URLSearchParams {
  const text = useSyncExternalStore(subscribe, () => location.search);
  return new URLSearchParams(text);
}

/** Changes parts of the query without a new entry in the history; null or "" takes one away. */
export function setSearch(changes: Record<string, string | null>): void {
  const found = new URLSearchParams(location.search);
  for (const [name, value] of Object.entries(changes)) {
    if (value === null || value === "") found.delete(name);
    else found.set(name, value);
  }
  const text = found.toString();
  navigate(location.pathname + (text === "" ? "" : `?${text}`) + location.hash, { replace: true });
}

/** The values of a pattern's :names, or null where the path is another one; `*name` takes the rest, slashes included. */
export function match(pattern: string, path: string): Params | null {
  const wanted = pattern.split("/").filter(Boolean);
  const found = path.split("/").filter(Boolean);
  const params: Params = {};
  for (const [index, part] of wanted.entries()) {
    if (part.startsWith("*")) {
      if (index >= found.length) return null;
      params[part.slice(1)] = found.slice(index).map(decoded).join("/");
      return params;
    }
    const value = found[index];
    if (value === undefined) return null;
    if (part.startsWith(":")) params[part.slice(1)] = decoded(value);
    else if (part !== value) return null;
  }
  return found.length === wanted.length ? params : null;
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part; // a lone % in an address is meant as it is
  }
}
