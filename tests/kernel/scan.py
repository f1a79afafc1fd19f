"""The sets of owed work, found the slow way: the oracle for those that `apply` keeps."""

from __future__ import annotations

from openskelo.kernel.run import NodeState, Run


def kept(run: Run) -> dict[str, object]:
    """What the run says it owes."""
    return {
        "ready": set(run.ready),
        "resolving": set(run.resolving),
        "finishing": set(run.finishing),
        "in_flight": set(run.in_flight) | set(run.lost),
        "backing_off": run.backing_off,
        "waits": {(key, visit, slot) for _, key, visit, slot in run.timers if _stands(run, key, visit)},
        "next_retry": run.timers[0][1:] if run.timers else None,
        "unfinished": run.unfinished,
        "skipped": set(run.skipped),
        "held": (run.reserved.steps, run.reserved.tokens, run.reserved.cost_nanousd, run.reserved.tool_nanousd),
        "running": {key: node.running for key, node in run.nodes.items()},
        "next_expiry": run.expiries[0][0] if run.expiries else None,
    }


def scanned(run: Run) -> dict[str, object]:
    """What looking at every node, slot, flight and question says it owes.

    In the middle of an append, once an end or a bounce is decided, the sets do not matter until it is carried out.
    """
    if run.ending is not None or run.failed is not None or run.bouncing is not None:
        return kept(run)
    slots = [(key, node.visit, index) for key, node in run.nodes.items() for index in range(len(node.slots))]
    running = {place for place in slots if run.nodes[place[0]].slots[place[2]].state == "running"}
    waits = {place for place in slots if run.nodes[place[0]].slots[place[2]].state == "waiting"}
    flights = [*run.in_flight.values(), *run.lost.values()]
    asked = [asked for asked in run.approvals.values() if asked.kind in ("approval", "ask_human")]
    expiries = [asked.expires_at for asked in run.approvals.values() if asked.expires_at is not None]
    times = [(at, key, visit, slot) for at, key, visit, slot in run.timers if (key, visit, slot) in waits]
    return {
        "ready": {key for key, node in run.nodes.items() if _is_ready(run, node)},
        "resolving": {key for key, node in run.nodes.items() if node.status == "resolving"},
        "finishing": {key for key, node in run.nodes.items() if _is_finishing(run, node)},
        "in_flight": running,
        "backing_off": len(waits),
        "waits": waits,
        "next_retry": min(times)[1:] if times else None,
        "unfinished": _unfinished(run),
        "skipped": {key for key, node in run.nodes.items() if node.outcome == "skipped"},
        "held": (
            len(flights) + len(asked),
            sum(flight.reserve.tokens for flight in flights),
            sum(flight.reserve.cost_nanousd for flight in flights),
            sum(flight.reserve.tool_nanousd for flight in flights),
        ),
        "running": {key: sum(place[0] == key for place in running) for key in run.nodes},
        "next_expiry": min(expiries, default=None),
    }


def _unfinished(run: Run) -> int:
    if run.graph_state is not None or not run.created:
        return 1
    if run.plan_state is not None:
        return 1 if run.plan_state.ended is None else 0
    return sum(node.status != "done" or node.outcome == "failed" for node in run.nodes.values())


def _stands(run: Run, key: str, visit: int) -> bool:
    return key in run.nodes and run.nodes[key].visit == visit and bool(run.nodes[key].slots)


def _is_ready(run: Run, node: NodeState) -> bool:
    foreach = run.workflow.nodes[node.key].foreach
    room = foreach is None or node.running < foreach.concurrency
    return node.status in ("ready", "active") and any(slot.state == "ready" for slot in node.slots) and room


def _is_finishing(run: Run, node: NodeState) -> bool:
    if run.workflow.nodes[node.key].foreach is None or node.status not in ("ready", "active"):
        return False
    return all(slot.state == "done" and (slot.outputs is not None or slot.error is not None) for slot in node.slots)
