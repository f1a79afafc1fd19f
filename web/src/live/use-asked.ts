/** Something asked of the server by a component: the answer, or the problem, and a way to ask again. */
import { useCallback, useEffect, useState } from "react";
import { problemOf } from "../api/refusal";
import type { Problem } from "../api/types";

export interface Asked<T> {
  /** The last answer; it stays while the next one is on its way. */
  value: T | null;
  problem: Problem | null;
  loading: boolean;
  again: () => void;
}

/** Asks when it is first drawn and whenever `ask` is another function: give it through useCallback. */
export function useAsked<T>(ask: (signal: AbortSignal) => Promise<T>): Asked<T> {
  const [state, setState] = useState<Omit<Asked<T>, "again">>({ value: null, problem: null, loading: true });
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
