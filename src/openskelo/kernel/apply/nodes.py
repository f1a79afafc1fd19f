"""Apply events about nodes: they get their values, are skipped, kept or finished, or are entered again by a bounce."""

from __future__ import annotations

from typing import cast

from openskelo.kernel import definition, events
from openskelo.kernel.flows import visits
from openskelo.kernel.flows.scheduler import scheduler_of
from openskelo.kernel.json import Json, JsonObject, Stored
from openskelo.kernel.run import NodeState, PendingBounce, Run


def apply_resolved(run: Run, event: events.NodeResolved) -> None:
    """Give the visit its values, and queue its slots. A second resolution (a person is asked again) keeps the items.

    If a person is to be asked, nothing starts before the answer, even if the log ends before the question.
    """
    node = run.nodes[event.node]
    node.inputs = event.inputs
    if event.count is not None and node.items is None:
        visits.split(node, event.items, event.count)
        node.code = event.code
        kept_items = run.kept_items.pop(node.key, ())
        if event.taken is not None:
            _take_kept_items(node, event.taken, kept_items)
    run.resolving.pop(node.key, None)
    asks_person = visits.asks_person(run, run.workflow.nodes[node.key])
    node.status = "asking" if node.queue and asks_person else "ready"
    if node.queue:
        visits.offer(run, node)
    else:
        run.finishing[node.key] = None


def _take_kept_items(node: NodeState, taken: tuple[int, ...], kept_items: tuple[JsonObject, ...]) -> None:
    """Mark the slots of items that another run has done as done; `taken` has the kept item of each slot, or -1."""
    for index, kept_index in enumerate(taken):
        if kept_index >= 0:
            slot = node.slots[index]
            slot.state = "done"
            slot.outputs = cast("Stored", kept_items[kept_index]["outputs"])
            node.done_slots += 1
    node.kept_slots = node.done_slots
    node.queue = [index for index in node.queue if taken[index] < 0]


def apply_finished(run: Run, event: events.NodeFinished) -> None:
    """Finish a foreach whose items are all done."""
    node = run.nodes[event.node]
    node.outcome = "succeeded"
    node.item_outputs = tuple(slot.outputs for slot in node.slots)
    node.item_errors = tuple(
        {"index": index, "code": slot.error["code"], "message": slot.error["message"]}
        for index, slot in enumerate(node.slots)
        if slot.error is not None
    )
    run.finishing.pop(node.key, None)
    scheduler_of(run).node_done(run, node, event)


def apply_item_failed(run: Run, event: events.ItemFailed) -> None:
    """Keep an item as failed that waits for a person's answer, or is the next to start."""
    node = run.nodes[event.node]
    if node.slots[event.item].state == "ready":
        node.queue.pop()
        if not node.queue:
            run.ready.pop(node.key, None)
    visits.keep_failed_item(run, node, event.item, event.error)


def apply_kept(run: Run, event: events.NodeKept) -> None:
    """Finish a node without a visit: another run has done its work."""
    node = run.nodes[event.node]
    node.visit = node.entered_at = 0
    node.slots = []
    node.queue = []
    node.outcome = event.outcome
    node.outputs = event.outputs
    node.item_outputs = event.items
    node.item_errors = event.errors or ()
    if event.outcome == "skipped":
        run.skipped.add(event.node)
    visits.withdraw(run, event.node)
    scheduler_of(run).node_done(run, node, event)


def apply_skipped(run: Run, event: events.NodeSkipped) -> None:
    """Skip the node; nodes that need its values are skipped too, when it is their turn."""
    node = run.nodes[event.node]
    node.outcome = "skipped"
    run.skipped.add(event.node)
    visits.withdraw(run, event.node)
    scheduler_of(run).node_done(run, node, event)


def plan_bounce(run: Run, node: NodeState, rule: int, feedback: Json) -> None:
    """Note that the work goes back by bounce rule `rule` of the node; rule -1 is the bounce of a denial."""
    spec = run.workflow.nodes[node.key]
    bounce = spec.bounces[rule] if rule >= 0 else cast("definition.Approval", spec.approval).bounce
    own_bounce = cast("definition.Bounce", bounce)  # a denial bounces only if its approval has a bounce
    run.bouncing = PendingBounce(node.key, node.visit, rule, own_bounce, feedback, frozenset(own_bounce.reset))


def apply_bounced(run: Run, event: events.NodeBounced) -> None:
    """Reset every node of `reset` to before its entry, and enter `route_to` again."""
    feedback_to = () if run.bouncing is None else run.bouncing.bounce.told
    run.bouncing = None
    node = run.nodes[event.node]
    node.bounces = {**node.bounces, event.rule: event.bounce}
    for key in event.reset:
        _reset(run, run.nodes[key])
    visits.drop_obsolete_timers(run)
    for key in event.reset:
        sources = run.dependencies.sources[key]
        run.nodes[key].waiting = sum(run.nodes[source].status != "done" for source in sources)
    for key in feedback_to or (event.route_to,):
        run.nodes[key].feedback = event.feedback
    visits.enter(run, run.nodes[event.route_to], event.at)


def _reset(run: Run, node: NodeState) -> None:
    if node.status == "done":
        run.unfinished += 1
    visits.clear(node)
    node.status = "waiting"
    node.items = node.item_outputs = node.feedback = None
    node.item_errors = ()
    run.backing_off -= sum(slot.state == "waiting" for slot in node.slots)
    node.slots = []
    node.queue = []
    node.kept_slots = 0
    visits.withdraw(run, node.key)
    run.finishing.pop(node.key, None)
    run.skipped.discard(node.key)
