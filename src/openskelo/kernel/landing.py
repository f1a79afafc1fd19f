"""What an attempt does to a run when it starts, lands, is cut, or is due again."""

from __future__ import annotations

import heapq
from typing import Any, assert_never, cast

from openskelo.kernel import definition, events, feedback, places
from openskelo.kernel.flows import plan, turns
from openskelo.kernel.json import JsonObject
from openskelo.kernel.run import AttemptId, Course, InFlight, NodeState, Run, Slot
from openskelo.kernel.stall import NO_STREAK

_NO_MONEY = {"costNanousd": 0, "toolNanousd": 0}


def started(run: Run, event: events.AttemptStarted) -> None:
    """The attempt is under way and holds its reservation."""
    key, visit, index = event.node, event.visit, event.item or 0
    node = run.nodes[key]
    node.queue.pop()
    slot = node.slots[index]
    slot.state = "running"
    slot.attempt = event.attempt
    node.status = "active"
    node.running += 1
    node.attempts += 1
    shape = run.workflow.nodes[key]
    if not node.queue or (shape.foreach is not None and node.running >= shape.foreach.concurrency):
        run.ready.pop(key, None)
    reserve = shape.reserve
    held = run.reserved
    held.steps += 1
    if reserve is not definition.NOTHING:
        held.tokens += reserve.tokens
        held.cost_nanousd += reserve.cost_nanousd
        held.tool_nanousd += reserve.tool_nanousd
    run.in_flight[key, visit, index] = InFlight(key, visit, index, event.attempt, event.item, event.at, reserve)


def _land(run: Run, node: NodeState, slot: Slot, event: events.AttemptSucceeded | events.AttemptFailed) -> None:
    """An attempt is over: give back what it reserved, count what it used, keep its receipt."""
    spent = run.spent
    flight = run.in_flight.pop((event.node, event.visit, event.item or 0), None)
    if flight is not None:
        _give_back(run, node, flight.reserve)
        spent.steps += 1
    elif event.attempt > slot.attempt:  # a person's answer or a cached result is the attempt
        spent.steps += 1
        node.attempts += 1
        run.resolving.pop(event.node, None)
    slot.attempt = event.attempt
    receipt = event.receipt
    metrics: Any = receipt["metrics"]
    spent.tokens += metrics["tokens_in"] + metrics["tokens_out"]
    if event.spent is not None:
        spent.cost_nanousd += cast("int", event.spent["costNanousd"])
        spent.tool_nanousd += cast("int", event.spent["toolNanousd"])
    run.last_receipt = receipt
    run.receipts += 1


def _give_back(run: Run, node: NodeState, reserve: definition.Amount) -> None:
    node.running -= 1
    held = run.reserved
    held.steps -= 1
    if reserve is not definition.NOTHING:
        held.tokens -= reserve.tokens
        held.cost_nanousd -= reserve.cost_nanousd
        held.tool_nanousd -= reserve.tool_nanousd


def _cut(run: Run, event: events.AttemptInterrupted | events.AttemptCancelled) -> tuple[AttemptId, InFlight]:
    """An attempt was stopped: nobody knows all that it used, so it is charged what it had reserved, or known to have
    used where that is more.
    """
    key = (event.node, event.visit, event.item or 0)
    flight = run.lost.pop(key) if key in run.lost else run.in_flight.pop(key)
    reserve = flight.reserve
    _give_back(run, run.nodes[event.node], reserve)
    run.spent.steps += 1
    metrics: Any = event.receipt["metrics"]
    known: Any = event.spent or _NO_MONEY
    run.spent.tokens += max(reserve.tokens, metrics["tokens_in"] + metrics["tokens_out"])
    run.spent.cost_nanousd += max(reserve.cost_nanousd, known["costNanousd"])
    run.spent.tool_nanousd += max(reserve.tool_nanousd, known["toolNanousd"])
    run.last_receipt = event.receipt
    run.receipts += 1
    return key, flight


def succeeded(run: Run, event: events.AttemptSucceeded) -> None:
    """Outputs are there; the node is done, or one of its items is."""
    node = run.nodes[event.node]
    slot = node.slots[event.item or 0]
    _land(run, node, slot, event)
    slot.state = "done"
    slot.outputs = event.outputs
    slot.feedback = None
    node.done_slots += 1
    if node.loop.length and node.loop.item == event.item:  # another item's success is no progress of this one
        node.loop = NO_STREAK
    if not run.is_dag:
        _move_on(run, node, event)
    elif run.workflow.nodes[event.node].foreach is None:
        node.outcome = "succeeded"
        node.outputs = event.outputs
        places.leave(run, node, event.at)
    elif node.done_slots == len(node.slots):
        run.finishing[event.node] = None
    else:
        places.offer(run, node)


def _move_on(run: Run, node: NodeState, event: events.AttemptSucceeded) -> None:
    """What follows is said by the plan, or by the inboxes of a live graph."""
    if run.course is not None:
        plan.succeeded(run, run.course, node, event)
    else:
        turns.succeeded(run, node, event)


def failed(run: Run, event: events.AttemptFailed) -> None:
    """No outputs; `next` says how it goes on. A piece that waits leaves its room to the others."""
    node = run.nodes[event.node]
    index = event.item or 0
    slot = node.slots[index]
    _land(run, node, slot, event)
    if event.next == "repair":
        slot.repairs += 1
    elif not event.uncertain:  # a person decides about that one, as after a crash
        slot.failures += 1
    slot.feedback = feedback.after(event, slot.feedback)
    slot.unjudged = event.outputs if run.is_dag else None
    _remember_verdict(node, slot, event)
    match event.next:
        case "repair":
            places.requeue(run, node, index)
        case "retry":
            slot.state = "waiting"
            run.backing_off += 1
            heapq.heappush(run.timers, (cast("int", event.retry_at), event.node, event.visit, index))
            places.offer(run, node)
        case "bounce":
            slot.state = "done"
            places.plan_bounce(run, node, cast("int", event.rule), slot.feedback)
        case "ask":
            slot.state = "asking"
            if event.uncertain:
                _doubt(run, event)
            places.offer(run, node)
        case "go":
            slot.state = "done"
            plan.denied(run, cast("Course", run.course), node, event)
        case "fail":
            slot.state = "done"
            fail(run, node, event)
        case _:
            assert_never(event.next)


def _doubt(run: Run, event: events.AttemptFailed) -> None:
    """A person is owed the question whether the effect of the attempt happened."""
    key = (event.node, event.visit, event.item or 0)
    run.uncertain[key] = InFlight(*key, event.attempt, event.item, event.at, definition.NOTHING, event.error)


def fail(run: Run, node: NodeState, event: events.AttemptFailed | events.NodeFailed) -> None:
    """The node has failed, and with it the run; a live graph goes on without it."""
    if run.live is not None:
        turns.failed(run, node, event.error, event.at)
    else:
        places.fail(run, node, _blamed(event), event.ending or "failed")


def _blamed(event: events.AttemptFailed | events.NodeFailed) -> JsonObject:
    """The error, with the item that it is about; a no to the work is about all of them."""
    if isinstance(event, events.NodeFailed) or event.item is None or event.ending == "denied":
        return event.error
    return {**event.error, "item": event.item}


def _remember_verdict(node: NodeState, slot: Slot, event: events.AttemptFailed) -> None:
    """Count how often in a row the same verdict came back: within a visit, and over the visits of a bounce loop."""
    error = event.error
    verdict = (str(error.get("code")), str(error.get("message")))
    output = cast("str", error.get("outputHash", ""))
    slot.streak = slot.streak.extended(verdict, output)
    node.loop = node.loop.extended(verdict, output, event.item)


def interrupted(run: Run, event: events.AttemptInterrupted) -> None:
    """The piece may start again, or waits for somebody who knows whether its effect happened."""
    key, flight = _cut(run, event)
    node = run.nodes[event.node]
    slot = node.slots[flight.slot]
    if event.reason == "crash":
        slot.interruptions += 1
    if event.uncertain:
        slot.state = "asking"
        run.uncertain[key] = flight
        places.offer(run, node)
    else:
        places.requeue(run, node, flight.slot)


def cancelled(run: Run, event: events.AttemptCancelled) -> None:
    """The attempt does not matter any more."""
    _, flight = _cut(run, event)
    node = run.nodes[event.node]
    node.slots[flight.slot].state = "done"
    if event.reason == "ending":
        places.cancel(node)
    elif event.reason == "interrupt":
        turns.cut(run, node, event.at)


def due(run: Run, event: events.RetryDue) -> None:
    """The wait is over. A once effect was allowed for one attempt only: a person is asked again."""
    heapq.heappop(run.timers)
    run.backing_off -= 1
    places.forget_waits(run)
    node = run.nodes[event.node]
    shape = run.workflow.nodes[event.node]
    done = node.slots[event.item or 0].unjudged is not None  # and is not done again
    if shape.effect == "once" and not done and places.asks(run, shape):
        places.ask_again(run, node, event.item or 0)
    else:
        places.requeue(run, node, event.item or 0)
