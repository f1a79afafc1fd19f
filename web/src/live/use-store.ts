/** Follows a store from a component, which is drawn again only when its selection changes. */
import { useCallback, useRef, useSyncExternalStore } from "react";
import type { Observable } from "../model/observable";

type Same<T> = (a: T, b: T) => boolean;

export function useStore<S, T>(store: Observable<S>, select: (state: S) => T, same: Same<T> = Object.is): T {
  const last = useRef<{ store: Observable<S>; value: T } | null>(null);
  const get = useCallback(() => {
    const value = select(store.get());
    const before = last.current;
    if (before !== null && before.store === store && same(before.value, value)) return before.value;
    last.current = { store, value };
    return value;
  }, [store, select, same]);
  return useSyncExternalStore(store.subscribe, get);
}

/** Whether two lists or flat objects have the same parts, for selectors that make a new one each time. */
export function sameParts<T extends object>(a: T, b: T): boolean {
  const keys = Object.keys(a) as (keyof T)[];
  return keys.length === Object.keys(b).length && keys.every((key) => Object.is(a[key], b[key]));
}
