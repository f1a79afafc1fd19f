/** Why a run failed, on its graph: the node that is the cause, and everything that led to it. */
import type { Fault, Node } from "../../api/types";
import type { Graph } from "./shape";

export interface FailedPath {
  cause: string;
  /** The cause, what it was given by, and the sub-workflows around them. */
  nodes: ReadonlySet<string>;
}

export function failedPath(graph: Graph & { error?: Fault | null }): FailedPath | null {
  const cause = causeOf(graph);
  if (cause === null) return null;
  const nodes = new Set<string>([cause.id]);
  const sources = new Map<string, string[]>();
  for (const edge of Object.values(graph.edges)) sources.set(edge.to, [...(sources.get(edge.to) ?? []), edge.from]);
  const waiting = [cause.id];
  for (let id = waiting.pop(); id !== undefined; id = waiting.pop()) {
    for (const source of [...(sources.get(id) ?? []), graph.nodes[id]?.parent ?? null]) {
      if (source === null || nodes.has(source)) continue;
      nodes.add(source);
      if (wasEntered(graph.nodes[source])) waiting.push(source);
    }
  }
  for (const id of nodes) if (!wasEntered(graph.nodes[id]) && !isAround(graph, id, nodes)) nodes.delete(id);
  return { cause: cause.id, nodes };
}

const wasEntered = (node: Node | undefined) => node !== undefined && node.visits > 0;

/** A sub-workflow that a part of the path belongs to, though it has not come to its own end. */
function isAround(graph: Graph, id: string, nodes: ReadonlySet<string>): boolean {
  return [...nodes].some((one) => graph.nodes[one]?.parent === id);
}

/** The node that the run's error names; else the first that failed. */
function causeOf(graph: Graph & { error?: Fault | null }): Node | null {
  const all = Object.values(graph.nodes);
  const named = (graph.error as { node?: unknown } | null | undefined)?.node;
  const found = all.find((node) => node.key === named);
  if (found !== undefined) return found;
  const failed = all.filter((node) => node.outcome === "failed");
  return failed.reduce<Node | null>((first, node) => (first === null || before(node, first) ? node : first), null);
}

function before(a: Node, b: Node): boolean {
  return (a.endedAt ?? "9") < (b.endedAt ?? "9");
}
