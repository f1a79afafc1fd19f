"""Entering and leaving nodes: what it means for a node, and for those that wait for it, to begin or to be done."""

from __future__ import annotations

import heapq
from typing import cast

from openskelo.kernel import definition, events
from openskelo.kernel.flows import dag
from openskelo.kernel.json import Json, JsonObject, Stored
from openskelo.kernel.run import NodeState, PendingBounce, Run, Slot


def needs_resolution(run: Run, node: definition.Node) -> bool:
    """Whether a visit begins with a resolution: as its shape says, or as the run's mode does."""
    return asks(run, node) or dag.resolves(node)


def asks(run: Run, node: definition.Node) -> bool:
    """Whether a person is asked before (or, for an approval node, instead of) the node's work."""
    return node.approval is not None or (run.mode == "INTERACTIVE" and node.effect == "once")


# -- entering ---------------------------------------------------------------------------------------------------------


def enter(run: Run, node: NodeState, at: int) -> None:
    """Begin a visit: the node is owed its values, or may start (or be skipped) at once."""
    node.visit += 1
    node.entered_at = at
    node.slots = [Slot(feedback=node.feedback)]
    node.feedback = None
    node.queue = [0]
    key = node.key
    if key in run.resolves and not (run.skipped and dag.is_dead(run.graph, run.workflow.nodes[key], run.skipped)):
        node.status = "resolving"
        run.resolving[key] = None
    else:
        node.status = "ready"
        run.ready[key] = None


def resolved(run: Run, event: events.NodeResolved) -> None:
    """The visit has its values. A second resolution (a person is asked again) keeps the items that there are.

    Where a person is asked, nothing may start before the answer, even if the log broke off before the question.
    """
    node = run.nodes[event.node]
    node.inputs = event.inputs
    if event.count is not None and node.items is None:
        divide(node, event.items, event.count)
        node.code = event.code
        earlier = run.earlier.pop(node.key, ())
        if event.taken is not None:
            _take_over(node, event.taken, earlier)
    run.resolving.pop(node.key, None)
    node.status = "asking" if node.queue and asks(run, run.workflow.nodes[node.key]) else "ready"
    if node.queue:
        offer(run, node)
    else:
        run.finishing[node.key] = None


def divide(node: NodeState, items: Stored | None, count: int) -> None:
    """The visit's work, of which nothing has begun, is that on these items: one piece each."""
    node.items = items
    feedback = node.slots[0].feedback
    node.slots = [Slot(feedback=feedback) for _ in range(count)]
    node.queue = list(range(count - 1, -1, -1))
    node.done_slots = node.kept_slots = 0


def _take_over(node: NodeState, taken: tuple[int, ...], earlier: tuple[JsonObject, ...]) -> None:
    """Those of the node's items that are in `taken` were done by another run."""
    for index, number in enumerate(taken):
        if number >= 0:
            slot = node.slots[index]
            slot.state = "done"
            slot.outputs = cast("Stored", earlier[number]["outputs"])
            node.done_slots += 1
    node.kept_slots = node.done_slots
    node.queue = [index for index in node.queue if taken[index] < 0]


def requeue(run: Run, node: NodeState, index: int) -> None:
    """Piece `index` of the node may be started (again)."""
    node.slots[index].state = "ready"
    node.queue.insert(0, index)
    offer(run, node)


def offer(run: Run, node: NodeState) -> None:
    """Let the node start its next piece, if it has one, is not being asked about, and has room for it."""
    if not node.queue or node.status in ("resolving", "asking"):
        return
    foreach = run.workflow.nodes[node.key].foreach
    if foreach is None or node.running < foreach.concurrency:
        run.ready[node.key] = None


def ask_again(run: Run, node: NodeState, index: int) -> None:
    """Piece `index` may be started once a person has been asked; one question covers all pieces that wait for it."""
    node.slots[index].state = "ready"
    node.queue.insert(0, index)
    run.ready.pop(node.key, None)
    node.granted = False
    if node.status != "asking":
        node.status = "resolving"
        run.resolving[node.key] = None


# -- leaving ----------------------------------------------------------------------------------------------------------


def leave(run: Run, node: NodeState, at: int) -> None:
    """The node is done, and owed nothing any more: those that waited for it may be entered."""
    node.status = "done"
    run.unfinished -= 1
    for key in run.graph.targets[node.key]:
        target = run.nodes[key]
        target.waiting -= 1
        if target.waiting == 0 and target.status == "waiting":
            enter(run, target, at)


def finish(run: Run, node: NodeState, at: int) -> None:
    """Every item of a foreach is done."""
    node.outcome = "succeeded"
    node.item_outputs = tuple(slot.outputs for slot in node.slots if slot.outputs is not None)
    run.finishing.pop(node.key, None)
    leave(run, node, at)


def kept(run: Run, event: events.NodeKept | events.NodeUnjudged | events.ItemsKept) -> None:
    """The node is done without a visit, whether or not its sources were kept before it; or only (part of) its work."""
    if isinstance(event, events.ItemsKept):
        run.earlier[event.node] = event.items
        return
    node = run.nodes[event.node]
    if isinstance(event, events.NodeUnjudged):
        node.slots[0].unjudged = event.outputs
        return
    node.visit = node.entered_at = 0
    node.slots = []
    node.queue = []
    node.outcome = event.outcome
    node.outputs = event.outputs
    node.item_outputs = event.items
    if run.course is not None:
        node.status = "done"
        return
    if event.outcome == "skipped":
        run.skipped.add(event.node)
    _withdraw(run, event.node)
    leave(run, node, event.at)


def skipped(run: Run, event: events.NodeSkipped) -> None:
    """The node does not run; what needs it will not either."""
    node = run.nodes[event.node]
    node.outcome = "skipped"
    run.skipped.add(event.node)
    _withdraw(run, event.node)
    leave(run, node, event.at)


def _withdraw(run: Run, key: str) -> None:
    """The node will not be started."""
    run.ready.pop(key, None)
    run.resolving.pop(key, None)


def fail(run: Run, node: NodeState, error: JsonObject, ending: events.Ending) -> None:
    """The node failed, and with it the run: nothing else happens before it ends."""
    node.status = "done"
    node.outcome = "failed"
    node.error = error
    _withdraw(run, node.key)
    run.failed = (node.key, error, ending)


def cancel(node: NodeState) -> None:
    """The run ends while the node is under way."""
    if node.status != "done":
        node.status = "done"
        node.outcome = "cancelled"


# -- going back -------------------------------------------------------------------------------------------------------


def plan_bounce(run: Run, node: NodeState, rule: int, feedback: Json) -> None:
    """Remember that the work goes back, by rule `rule` of the node: its `on_gate_fail`, or (-1) a denial's bounce."""
    shape = run.workflow.nodes[node.key]
    bounce = shape.bounces[rule] if rule >= 0 else cast("definition.Approval", shape.approval).bounce
    planned = cast("definition.Bounce", bounce)  # a denial is told to bounce only where its node says how
    run.bouncing = PendingBounce(node.key, node.visit, rule, planned, feedback, frozenset(planned.reset))


def bounced(run: Run, event: events.NodeBounced) -> None:
    """Every node of `reset` is as if it had not been entered, and `route_to` is entered anew."""
    told = () if run.bouncing is None else run.bouncing.bounce.told
    run.bouncing = None
    node = run.nodes[event.node]
    node.bounced = {**node.bounces, event.rule: event.bounce}
    for key in event.reset:
        _reset(run, run.nodes[key])
    forget_waits(run)
    for key in event.reset:
        node = run.nodes[key]
        node.waiting = sum(run.nodes[source].status != "done" for source in run.graph.sources[key])
    for key in told or (event.route_to,):
        run.nodes[key].feedback = event.feedback
    enter(run, run.nodes[event.route_to], event.at)


def _reset(run: Run, node: NodeState) -> None:
    if node.status == "done":
        run.unfinished += 1
    node.status = "waiting"
    node.outcome = None
    node.outputs = node.inputs = node.items = node.error = node.feedback = None
    node.item_outputs = None
    run.backing_off -= sum(slot.state == "waiting" for slot in node.slots)
    node.slots = []
    node.queue = []
    node.running = node.done_slots = node.kept_slots = 0
    node.granted = node.edited = False
    for owed in (run.ready, run.resolving, run.finishing):
        owed.pop(node.key, None)
    run.skipped.discard(node.key)


def forget_waits(run: Run) -> None:
    """Keep the head of `timers` a wait that still stands: those of visits that a bounce overtook are dropped."""
    while run.timers:
        _, key, visit, _ = run.timers[0]
        node = run.nodes[key]
        if node.visit == visit and node.slots:
            return
        heapq.heappop(run.timers)
