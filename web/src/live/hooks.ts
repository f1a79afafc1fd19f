/** Hooks that follow live data: a run, a part of it, a node, all runs, open approvals, the connection. */
import { useCallback, useEffect, useMemo } from "react";
import type { StreamState } from "../api/stream";
import type { Approval, Node, Run } from "../api/types";
import type { EventListener, RunState } from "../model/run-store";
import * as streams from "./streams";
import { sameParts, useStore } from "./use-store";

function useRunStore(id: string) {
  useEffect(() => streams.follow(id).release, [id]);
  return streams.storeOf(id);
}

/** A part of what is known of a run; the component is drawn again only when that part is another one. */
export function useRunPart<T>(
  id: string,
  select: (state: RunState) => T,
  same: (a: T, b: T) => boolean = Object.is,
): T {
  return useStore(useRunStore(id), select, same);
}

/** One node by its key or its id; drawn again only when that node changes. */
export function useNode(id: string, key: string): Node | null {
  const select = useCallback((state: RunState) => findNode(state.run, key), [key]);
  return useStore(useRunStore(id), select);
}

export function findNode(run: Run | null, key: string): Node | null {
  if (run === null) return null;
  return run.nodes[key] ?? Object.values(run.nodes).find((node) => node.key === key) ?? null;
}

/** What a node's models are saying right now, one text for each message. */
export function usePartialText(id: string, nodeId: string) {
  const select = useCallback(
    (state: RunState) => [...state.said.values()].filter((one) => one.nodeId === nodeId),
    [nodeId],
  );
  return useStore(useRunStore(id), select, sameParts);
}

/** Each batch of events of a run as it comes (null: a snapshot came instead). The listener should be stable. */
export function useRunEvents(id: string, listener: EventListener): void {
  const store = useRunStore(id);
  useEffect(() => store.subscribeEvents(listener), [store, listener]);
}

/** Each batch of events of all runs as it comes. */
export function useAllEvents(listener: EventListener): void {
  useEffect(() => streams.all.subscribeEvents(listener), [listener]);
}

const openOf = (state: { open: ReadonlyMap<string, Approval> }) => state.open;
const loadedOf = (state: { loaded: boolean }) => state.loaded;

/** All open approvals by id, kept current; `loaded` is false until the first list has come. */
export function useApprovals(): { open: ReadonlyMap<string, Approval>; loaded: boolean } {
  const open = useStore(streams.approvals, openOf);
  const loaded = useStore(streams.approvals, loadedOf);
  return useMemo(() => ({ open, loaded }), [open, loaded]);
}

const itself = <T>(value: T) => value;

export function useConnection(): StreamState {
  return useStore(streams.connection, itself);
}
