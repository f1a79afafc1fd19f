/**
 * The rule that every client follows: a snapshot and the events after it give the later snapshot.
 *
 * It mirrors `openskelo/wire/patching.py`; golden files that pytest and vitest both run hold the two together.
 * Nothing is changed in place, and what an event does not touch stays the very same object, so that a view of one node
 * is drawn again only when that node has changed.
 */
import type { Approval, Artifact, Edge, Event, Node, Run } from "../api/types";

export function emptyRun(id: string): Run {
  return { id, seq: 0, nodes: {}, edges: {}, artifacts: {}, approvals: {} } as unknown as Run;
}

/** The run after these events, which must be all that came after it, in order. Given nothing to do, the same object. */
export function fold(run: Run, events: readonly Event[]): Run {
  const draft = new Draft(run);
  for (const event of events) draft.take(event);
  return draft.done();
}

class Draft {
  private fields: Partial<Run> = {};
  private touched = false;
  private nodes: Record<string, Node> | null = null;
  private edges: Record<string, Edge> | null = null;
  private artifacts: Record<string, Artifact> | null = null;
  private approvals: Record<string, Approval> | null = null;

  constructor(private readonly run: Run) {}

  take(event: Event): void {
    switch (event.type) {
      case "run.patch":
        this.touched = true;
        Object.assign(this.fields, event.patch);
        break;
      case "node.patch": {
        const nodes = (this.nodes ??= { ...this.run.nodes });
        nodes[event.nodeId] = { ...nodes[event.nodeId], ...event.patch } as Node;
        break;
      }
      case "node.deleted":
        delete (this.nodes ??= { ...this.run.nodes })[event.nodeId];
        break;
      case "edge.created":
        (this.edges ??= { ...this.run.edges })[event.edge.id] = event.edge;
        break;
      case "edge.deleted":
        delete (this.edges ??= { ...this.run.edges })[event.edgeId];
        break;
      case "artifact.created":
        (this.artifacts ??= { ...this.run.artifacts })[event.artifact.id] = event.artifact;
        break;
      case "approval.requested":
        (this.approvals ??= { ...this.run.approvals })[event.approval.id] = event.approval;
        break;
      case "approval.resolved":
        delete (this.approvals ??= { ...this.run.approvals })[event.approvalId];
        break;
      default:
        break; // it tells what happened; what it changed is said by the patches beside it
    }
  }

  done(): Run {
    const maps = {
      ...(this.nodes && { nodes: this.nodes }),
      ...(this.edges && { edges: this.edges }),
      ...(this.artifacts && { artifacts: this.artifacts }),
      ...(this.approvals && { approvals: this.approvals }),
    };
    if (!this.touched && Object.keys(maps).length === 0) return this.run;
    return { ...this.run, ...this.fields, ...maps };
  }
}
