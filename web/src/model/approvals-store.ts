/** The open approvals of all runs: asked for once, then kept by the events of the stream of all runs. */
import type { Approval, Event } from "../api/types";
import { Cell, type Observable } from "./observable";

export interface ApprovalsState {
  readonly open: ReadonlyMap<string, Approval>;
  readonly loaded: boolean;
}

export class ApprovalsStore implements Observable<ApprovalsState> {
  private readonly cell = new Cell<ApprovalsState>({ open: new Map(), loaded: false });
  /** Answered since the last list was asked for: such a list may still have them. */
  private readonly answered = new Set<string>();
  readonly get = this.cell.get;
  readonly subscribe = this.cell.subscribe;

  /** A whole list has come; what events told meanwhile counts more. */
  replace(listed: readonly Approval[], asked: readonly Approval[] = []): void {
    const open = new Map<string, Approval>();
    for (const one of [...listed, ...asked]) if (!this.answered.has(one.id)) open.set(one.id, one);
    this.answered.clear();
    this.cell.set({ open, loaded: true });
  }

  take(events: readonly Event[]): void {
    const state = this.cell.get();
    let open: Map<string, Approval> | null = null;
    for (const event of events) {
      if (event.type === "approval.requested") {
        (open ??= new Map(state.open)).set(event.approval.id, event.approval);
      } else if (event.type === "approval.resolved") {
        this.answered.add(event.approvalId);
        (open ??= new Map(state.open)).delete(event.approvalId);
      }
    }
    if (open !== null) this.cell.set({ ...state, open });
  }
}
