/** What is asked of the server about a node beside what the stream tells: its values, its facts, its events. */
import { useCallback, useEffect, useState } from "react";
import { getNode, listNodeEvents, listNodeFacts } from "../../api/client";
import type { Event, Fact, Node } from "../../api/types";
import { type RequestState, useRequest } from "../../live/use-request";

/** A busy node changes often; so long nothing is asked again. */
const REST_MS = 400;

/** Changes whenever something happened to the node, but no more often than a person can read. */
function useRevision(node: Node): string {
  const now = `${node.lastActivityAt} ${node.visits} ${node.attempts} ${node.status} ${node.outcome}`;
  const [settled, setSettled] = useState(now);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(now), REST_MS);
    return () => clearTimeout(timer);
  }, [now]);
  return settled;
}

/** The node with its inputs and outputs. */
export function useWholeNode(id: string, node: Node): RequestState<Node> {
  return useAskedOf(
    node,
    useCallback((signal: AbortSignal) => getNode(id, node.id, signal), [id, node.id]),
  );
}

export function useNodeFacts(id: string, node: Node): RequestState<Fact[]> {
  const ask = useCallback(
    (signal: AbortSignal) =>
      allPages(async (since) => {
        const page = await listNodeFacts(id, node.id, since, signal);
        return { found: page.facts, next: page.nextSeq };
      }),
    [id, node.id],
  );
  return useAskedOf(node, ask);
}

export function useNodeEvents(id: string, node: Node): RequestState<Event[]> {
  const ask = useCallback(
    (signal: AbortSignal) =>
      allPages(async (since) => {
        const page = await listNodeEvents(id, node.id, since, signal);
        return { found: page.events, next: page.nextSeq };
      }),
    [id, node.id],
  );
  return useAskedOf(node, ask);
}

/** The request is repeated whenever something happened to the node. */
function useAskedOf<T>(node: Node, ask: (signal: AbortSignal) => Promise<T>): RequestState<T> {
  const revision = useRevision(node);
  const again = useCallback(
    (signal: AbortSignal) => {
      void revision; // another one is another question
      return ask(signal);
    },
    [ask, revision],
  );
  return useRequest(again);
}

async function allPages<T>(ask: (since: number) => Promise<{ found: T[]; next: number | null }>): Promise<T[]> {
  const all: T[] = [];
  for (let since: number | null = 0; since !== null;) {
    const page: { found: T[]; next: number | null } = await ask(since);
    all.push(...page.found);
    since = page.next;
  }
  return all;
}
