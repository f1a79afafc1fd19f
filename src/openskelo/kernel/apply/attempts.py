"""Apply events about attempts: they start, succeed, fail, are stopped, or are due again.

An attempt holds a reservation of the budget from its start to its end. At its end the reservation is given back, what
it really used is counted, and its receipt becomes the last of the run.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping
from typing import Any, assert_never, cast

from openskelo.kernel import definition, events
from openskelo.kernel.apply import nodes
from openskelo.kernel.flows import graph, plan, visits
from openskelo.kernel.flows.scheduler import scheduler_of
from openskelo.kernel.json import Json, JsonObject
from openskelo.kernel.run import NO_STREAK, Attempt, AttemptId, NodeState, Run, Slot, failed_gates

_NO_MONEY: Mapping[str, int] = {"costNanousd": 0, "toolNanousd": 0}


def apply_started(run: Run, event: events.AttemptStarted) -> None:
    """Put the attempt in flight, with its reservation."""
    key, visit, index = event.node, event.visit, event.item or 0
    node = run.nodes[key]
    node.queue.pop()
    slot = node.slots[index]
    slot.state = "running"
    slot.attempt = event.attempt
    node.status = "active"
    node.running += 1
    node.attempts += 1
    spec = run.workflow.nodes[key]
    if not node.queue or (spec.foreach is not None and node.running >= spec.foreach.concurrency):
        run.ready.pop(key, None)
    run.reserved.steps += 1
    run.reserved.tokens += spec.reserve.tokens
    run.reserved.cost_nanousd += spec.reserve.cost_nanousd
    run.reserved.tool_nanousd += spec.reserve.tool_nanousd
    run.in_flight[key, visit, index] = Attempt(key, visit, index, event.attempt, event.item, event.at, spec.reserve)


def apply_succeeded(run: Run, event: events.AttemptSucceeded) -> None:
    """Keep the outputs; the node is done, or one of its items is."""
    node = run.nodes[event.node]
    slot = node.slots[event.item or 0]
    _settle(run, node, slot, event)
    slot.state = "done"
    slot.outputs = event.outputs
    slot.feedback = None
    slot.grants.clear()
    node.done_slots += 1
    if plan.makes_no_progress(run, event):
        node.loop = plan.extend_streak(run, event)
    elif node.loop.length and node.loop.item == event.item:  # the success of another item is no progress of this one
        node.loop = NO_STREAK
    if run.workflow.nodes[event.node].foreach is None:
        node.outcome = "succeeded"
        node.outputs = event.outputs
        scheduler_of(run).node_done(run, node, event)
    else:
        visits.go_on_after_item(run, node)


def apply_failed(run: Run, event: events.AttemptFailed) -> None:
    """Note the failure; `next` says how the run goes on. A slot that waits leaves its concurrency to the others."""
    node = run.nodes[event.node]
    index = event.item or 0
    slot = node.slots[index]
    in_flight = run.in_flight.get((event.node, event.visit, index))
    outside_calls = {} if in_flight is None else in_flight.outside_calls
    _settle(run, node, slot, event)
    if event.next == "repair":
        slot.repairs += 1
    elif not event.uncertain:  # a person decides whether an uncertain attempt has failed
        slot.failures += 1
    slot.feedback = feedback_after(event, slot.feedback)
    slot.unjudged = event.outputs if run.workflow.nodes[event.node].is_block else None
    _count_streak(run.workflow.nodes[event.node], node, slot, event)
    match event.next:
        case "repair":
            visits.requeue(run, node, index)
        case "retry":
            slot.state = "waiting"
            run.backing_off += 1
            heapq.heappush(run.timers, (cast("int", event.retry_at), event.node, event.visit, index))
            visits.offer(run, node)
        case "bounce":
            slot.state = "done"
            nodes.plan_bounce(run, node, cast("int", event.rule), slot.feedback)
        case "ask":
            slot.state = "asking"
            if event.uncertain:
                _mark_uncertain(run, event, outside_calls)
            visits.offer(run, node)
        case "go":
            slot.state = "done"
            plan.go_on_denied(run, node, event)
        case "keep":
            visits.keep_failed_item(run, node, index, event.error)
        case "fail":
            slot.state = "done"
            scheduler_of(run).node_failed(run, node, event)
        case _:
            assert_never(event.next)


def _mark_uncertain(run: Run, event: events.AttemptFailed, outside_calls: dict[str, str]) -> None:
    """Note that a person has to be asked whether the effect of the attempt happened."""
    key = (event.node, event.visit, event.item or 0)
    attempt = Attempt(*key, event.attempt, event.item, event.at, definition.NOTHING, event.error)
    attempt.outside_calls = outside_calls
    run.uncertain[key] = attempt


def _count_streak(spec: definition.Node, node: NodeState, slot: Slot, event: events.AttemptFailed) -> None:
    """Count how often in a row the same failure came back: within a visit, and over the visits of a bounce loop."""
    error = event.error
    verdict = (str(error.get("code")), str(error.get("message")))
    output_hash = cast("str", error.get("outputHash", ""))
    diff, gates = cast("str", error.get("diffHash", "")), failed_gates(spec, event.verdicts or ())
    slot.streak = slot.streak.extended(verdict, output_hash, diff=diff, gates=gates)
    node.loop = node.loop.extended(verdict, output_hash, event.item, diff=diff, gates=gates)


def apply_interrupted(run: Run, event: events.AttemptInterrupted) -> None:
    """Queue the slot again, or mark the attempt as uncertain if its effect may have happened."""
    key, attempt = _settle_stopped(run, event)
    node = run.nodes[event.node]
    slot = node.slots[attempt.slot]
    if event.reason == "crash":
        slot.interruptions += 1
    slot.unjudged = event.outputs or slot.unjudged
    if event.uncertain:
        slot.state = "asking"
        run.uncertain[key] = attempt
        visits.offer(run, node)
    elif attempt.questions:  # the work goes on when the questions about its calls are answered
        slot.state = "asking"
        visits.offer(run, node)
    else:
        visits.requeue(run, node, attempt.slot)


def apply_cancelled(run: Run, event: events.AttemptCancelled) -> None:
    """Drop the attempt: the run ends, its node is entered again or removed, or a person interrupts its turn."""
    _, attempt = _settle_stopped(run, event)
    node = run.nodes[event.node]
    node.slots[attempt.slot].state = "done"
    if event.reason == "ending":
        visits.cancel(node)
    elif event.reason == "interrupt":
        graph.interrupt_turn(run, node, event.at)


def apply_retry_due(run: Run, event: events.RetryDue) -> None:
    """Queue the slot again. If its effect happens once, a person is asked first: an approval holds for one attempt."""
    heapq.heappop(run.timers)
    run.backing_off -= 1
    visits.drop_obsolete_timers(run)
    node = run.nodes[event.node]
    spec = run.workflow.nodes[event.node]
    index = event.item or 0
    only_judges = node.slots[index].unjudged is not None
    if spec.effect == "once" and not only_judges and visits.asks_person(run, spec):
        visits.ask_again(run, node, index)
    else:
        visits.requeue(run, node, index)


def apply_agent_event(
    run: Run,
    event: events.SessionOpened | events.CallStarted | events.CallRuled | events.CallCompleted | events.CallGranted,
) -> None:
    """Note what the agent of an attempt in flight does, and which of its calls are under way that reach outside."""
    node = run.nodes[event.node]
    attempt = run.in_flight[event.node, event.visit, event.item or 0]
    match event:
        case events.SessionOpened():
            node.session = _keep_answered(event.session, node.session or {})
        case events.CallGranted():
            del node.slots[event.item or 0].grants[event.digest]
        case events.CallStarted():
            if event.reaches_outside:
                attempt.outside_calls[str(event.call["id"])] = str(event.call["tool"])
        case events.CallRuled():
            pass  # a call that is denied ends by its own event
        case events.CallCompleted():
            attempt.outside_calls.pop(event.call_id, None)
        case _:
            assert_never(event)


def _keep_answered(session: JsonObject, earlier: JsonObject) -> JsonObject:
    """Return a session with the visit in which its agent last gave a result, if it continues the earlier one."""
    if "answered" not in earlier or earlier["sessionId"] != session["sessionId"]:
        return session
    return {**session, "answered": earlier["answered"]}


def _note_answer(node: NodeState, event: events.AttemptSucceeded | events.AttemptFailed) -> None:
    """Note that the agent has given a result, also one that was refused: so it has got its prompt."""
    if node.session is None or node.session.get("visit") != event.visit:
        return
    if isinstance(event, events.AttemptSucceeded) or event.detail is not None or "outputHash" in event.error:
        node.session = {**node.session, "answered": event.visit}


# -- the budget and the receipts --------------------------------------------------------------------------------------


def _settle(run: Run, node: NodeState, slot: Slot, event: events.AttemptSucceeded | events.AttemptFailed) -> None:
    """Give back the reservation of an attempt that is over, count what it used, and keep its receipt."""
    total = run.spent
    attempt = run.in_flight.pop((event.node, event.visit, event.item or 0), None)
    if attempt is not None:
        _give_back(run, node, attempt.reserve)
        _note_answer(node, event)
        total.steps += 1
    elif event.attempt > slot.attempt:  # a person's answer or a cached result stands for the attempt
        total.steps += 1
        node.attempts += 1
        run.resolving.pop(event.node, None)
    slot.attempt = event.attempt
    metrics: Any = event.receipt["metrics"]
    money: Any = event.spent or _NO_MONEY
    tokens = metrics["tokens_in"] + metrics["tokens_out"]
    total.tokens += tokens
    total.cost_nanousd += money["costNanousd"]
    total.tool_nanousd += money["toolNanousd"]
    node.tokens += tokens
    node.cost_nanousd += money["costNanousd"]
    run.last_receipt = event.receipt
    run.receipts += 1


def _settle_stopped(run: Run, event: events.AttemptInterrupted | events.AttemptCancelled) -> tuple[AttemptId, Attempt]:
    """Settle an attempt that was stopped, and return it.

    Its use is only partly known, so it is charged its reservation, or its known use if that is more. An attempt for
    which something was missing came to its end, and is charged what it has used.
    """
    key = (event.node, event.visit, event.item or 0)
    attempt = run.lost.pop(key) if key in run.lost else run.in_flight.pop(key)
    node, reserve = run.nodes[event.node], attempt.reserve
    _give_back(run, node, reserve)
    if event.reason == "missing":
        reserve = definition.NOTHING
    metrics: Any = event.receipt["metrics"]
    money: Any = event.spent or _NO_MONEY
    tokens = max(reserve.tokens, metrics["tokens_in"] + metrics["tokens_out"])
    cost_nanousd = max(reserve.cost_nanousd, money["costNanousd"])
    run.spent.steps += 1
    run.spent.tokens += tokens
    run.spent.cost_nanousd += cost_nanousd
    run.spent.tool_nanousd += max(reserve.tool_nanousd, money["toolNanousd"])
    node.tokens += tokens
    node.cost_nanousd += cost_nanousd
    run.last_receipt = event.receipt
    run.receipts += 1
    return key, attempt


def _give_back(run: Run, node: NodeState, reserve: definition.Amount) -> None:
    node.running -= 1
    run.reserved.steps -= 1
    run.reserved.tokens -= reserve.tokens
    run.reserved.cost_nanousd -= reserve.cost_nanousd
    run.reserved.tool_nanousd -= reserve.tool_nanousd


# -- feedback ---------------------------------------------------------------------------------------------------------
#
# What the next attempt learns about the attempts before it, and about why its node was entered anew.


#: The parts of feedback that are older than the failure it is about.
_OLDER_PARTS = ("sent_back", "refused")


def feedback_after(event: events.AttemptFailed, previous: Json) -> JsonObject:
    """Return the feedback after a failure, where `previous` is the feedback that the failed attempt had.

    `attempt`, `error`, `verdicts` and perhaps `item` (of a foreach) and `detail` are about the failure; if it has no
    verdict against the work, the last verdicts stay. `refused` is the last failure over a result, if this one is over
    none (a timeout, a provider). `sent_back` is the feedback of the bounce that has entered the visit.
    """
    current: dict[str, Json] = {"attempt": event.attempt, "error": event.error, "verdicts": list(event.verdicts or ())}
    if event.item is not None:
        current["item"] = event.item
    if event.detail is not None:
        current["detail"] = event.detail
    if isinstance(previous, Mapping) and event.next != "bounce":  # a bounce is about this failure alone
        _add_older_parts(current, previous)
    return current


def about_last_failure(feedback: JsonObject) -> JsonObject:
    """Return the parts of the feedback that are about the last failure."""
    return {name: part for name, part in feedback.items() if name not in _OLDER_PARTS}


def _add_older_parts(current: dict[str, Json], previous: JsonObject) -> None:
    verdicts = current["verdicts"]
    has_refusal = isinstance(verdicts, list) and any(isinstance(item, Mapping) and _refuses(item) for item in verdicts)
    if not has_refusal and (earlier := previous.get("verdicts")):
        current["verdicts"] = earlier
    if not _is_about_result(current):
        is_refusal = "from" not in previous and _is_about_result(previous)
        refused_value = about_last_failure(previous) if is_refusal else previous.get("refused")
        if refused_value is not None:
            current["refused"] = refused_value
    sent_back = previous if "from" in previous else previous.get("sent_back")
    if sent_back is not None:
        current["sent_back"] = sent_back


def _refuses(verdict: JsonObject) -> bool:
    """True if the gate refused; a gate that could not be evaluated has `passed: null`."""
    return verdict.get("passed", False) is False


def _is_about_result(feedback: JsonObject) -> bool:
    """True if the work had a result, and a contract or a gate refused it."""
    error = feedback.get("error")
    return "detail" in feedback or (isinstance(error, Mapping) and "outputHash" in error)
