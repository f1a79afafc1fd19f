/** A request that a component makes: its result or error, and a function that repeats it. */
import { useCallback, useEffect, useState } from "react";
import { problemOf } from "../api/errors";
import type { Problem } from "../api/types";

export interface RequestState<T> {
  /** The last answer; it stays while the next one is on its way. */
  value: T | null;
  problem: Problem | null;
  loading: boolean;
  again: () => void;
}

/** Asks when it is first drawn and whenever `ask` is another function: give it through useCallback. */
export function useRequest<T>(ask: (signal: AbortSignal) => Promise<T>): RequestState<T> {
  const [state, setState] = useState<Omit<RequestState<T>, "again">>({ value: null, problem: null, loading: true });
  const [round, setRound] = useState(0);
  useEffect(() => {
    const controller = new AbortController();
    setState((before) => ({ ...before, loading: true }));
    ask(controller.signal).then(
      (value) => setState({ value, problem: null, loading: false }),
      (error: unknown) => {
        if (controller.signal.aborted) return;
        setState((before) => ({ ...before, problem: problemOf(error), loading: false }));
      },
    );
    return () => controller.abort();
  }, [ask, round]);
  const again = useCallback(() => setRound((count) => count + 1), []);
  return { ...state, again };
}
