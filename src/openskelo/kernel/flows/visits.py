"""The visits of nodes: how a visit begins, how its slots are queued, and how it fails or is cancelled.

Every scheduler builds on these functions. They keep the sets of owed work in `Run` up to date (`ready`, `resolving`,
`timers`), and are called only while an event is applied.
"""

from __future__ import annotations

import heapq

from openskelo.kernel import definition, events
from openskelo.kernel.json import Json, JsonObject, Stored
from openskelo.kernel.run import NodeState, Run, Slot


def needs_resolution(run: Run, node: definition.Node) -> bool:
    """True if a visit begins with a resolution: expressions to evaluate, a cache to look up or a person to ask."""
    if asks_person(run, node) or node.when is not None or node.foreach is not None or node.cache:
        return True
    return any(binding.transform is not None for binding in node.bindings.values())


def asks_person(run: Run, node: definition.Node) -> bool:
    """True if a person is asked before the node's work, or (for an approval node) instead of it."""
    return node.approval is not None or (run.mode == "INTERACTIVE" and node.effect == "once")


def enter(run: Run, node: NodeState, at: int) -> None:
    """Begin a visit: the node waits for its resolution, or is ready to start (or to be skipped) at once."""
    node.visit += 1
    node.entered_at = at
    node.slots = [Slot(feedback=node.feedback)]
    node.feedback = None
    node.queue = [0]
    if node.key in run.needs_resolution and not is_cut_off(run, node.key):
        node.status = "resolving"
        run.resolving[node.key] = None
    else:
        node.status = "ready"
        run.ready[node.key] = None


def is_cut_off(run: Run, key: str) -> bool:
    """True if the node must be skipped, because nodes that it needs were skipped."""
    return bool(run.skipped) and definition.must_skip(run.dependencies, run.workflow.nodes[key], run.skipped)


def clear(node: NodeState) -> None:
    """Drop the results of the last visit, before the node is entered again."""
    node.outcome = node.outputs = node.inputs = node.error = None
    node.running = node.done_slots = node.failed_slots = 0
    node.granted = node.edited = False


def split(node: NodeState, items: Stored | None, count: int) -> None:
    """Divide the work of a visit that has not started into one slot per item."""
    node.items = items
    feedback = node.slots[0].feedback
    node.slots = [Slot(feedback=feedback) for _ in range(count)]
    node.queue = list(range(count - 1, -1, -1))
    node.done_slots = node.kept_slots = node.failed_slots = 0


def keep_failed_item(run: Run, node: NodeState, index: int, error: JsonObject) -> None:
    """Mark item `index` as done with its error; the other items of the foreach go on."""
    slot = node.slots[index]
    slot.state = "done"
    slot.error = error
    node.done_slots += 1
    node.failed_slots += 1
    go_on_after_item(run, node)


def go_on_after_item(run: Run, node: NodeState) -> None:
    """Let the next item of the foreach start, or the foreach finish, after one of its items is done."""
    if node.done_slots == len(node.slots):
        run.finishing[node.key] = None
    else:
        offer(run, node)


def requeue(run: Run, node: NodeState, index: int) -> None:
    """Let slot `index` of the node start (again)."""
    node.slots[index].state = "ready"
    node.queue.insert(0, index)
    offer(run, node)


def offer(run: Run, node: NodeState) -> None:
    """Mark the node as ready if a slot is queued, no question is open, and its concurrency has room."""
    if not node.queue or node.status in ("resolving", "asking"):
        return
    foreach = run.workflow.nodes[node.key].foreach
    if foreach is None or node.running < foreach.concurrency:
        run.ready[node.key] = None


def ask_again(run: Run, node: NodeState, index: int) -> None:
    """Queue slot `index` until a person has been asked; one question covers all queued slots."""
    node.slots[index].state = "ready"
    node.queue.insert(0, index)
    run.ready.pop(node.key, None)
    node.granted = False
    if node.status != "asking":
        node.status = "resolving"
        run.resolving[node.key] = None


def withdraw(run: Run, key: str) -> None:
    """Take the node out of the sets of nodes that are about to start."""
    run.ready.pop(key, None)
    run.resolving.pop(key, None)


def fail_run(run: Run, node: NodeState, event: events.AttemptFailed | events.NodeFailed) -> None:
    """Fail the node, and with it the run: its ending is the next event."""
    error = event.error
    if isinstance(event, events.AttemptFailed) and event.item is not None and event.ending != "denied":
        error = {**error, "item": event.item}  # a denial is about all items
    node.status = "done"
    node.outcome = "failed"
    node.error = error
    withdraw(run, node.key)
    run.failed = (node.key, error, event.ending or "failed")


def cancel(node: NodeState) -> None:
    """Mark a node that is not done as cancelled: the run ends."""
    if node.status != "done":
        node.status = "done"
        node.outcome = "cancelled"


def drop_obsolete_timers(run: Run) -> None:
    """Remove timers of visits that are over from the head of `timers`, so that the head is always due next."""
    while run.timers:
        _, key, visit, _ = run.timers[0]
        node = run.nodes[key]
        if node.visit == visit and node.slots:
            return
        heapq.heappop(run.timers)


def failed_ending(run: Run, at: int) -> events.RunEnding | None:
    """Return the ending of a run that a failed node or a lack of possible steps has stopped; None if it can go on."""
    if run.failed is not None:
        key, error, ending = run.failed
        return events.RunEnding(at=at, ending=ending, error={**error, "node": key})
    can_move = run.in_flight or run.resolving or run.ready or run.approvals or run.backing_off
    if not run.unfinished or can_move:
        return None
    waiting: list[Json] = [key for key, node in run.nodes.items() if node.status != "done"]
    stuck_error: JsonObject = {"code": "RUN_STUCK", "message": "no node can go on", "waiting": waiting}
    return events.RunEnding(at=at, ending="failed", error=stuck_error)
