"""What a fact tells beside the fields it changes: messages, tool calls, handoffs, questions, files.

A deterministic node's attempt is a call of its handler: proposed when a person is asked first, started, and completed
exactly once, also when it was never let start. A model's attempt ends in one final message.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypeAlias, cast

from openskelo.contract import documents, envelope, naming, trace
from openskelo.contract.edges import DataEdge
from openskelo.kernel import definition, events
from openskelo.kernel.json import Json, JsonObject
from openskelo.kernel.run import NodeState, OpenApproval, Run
from openskelo.values import canonical

#: A wire event without its envelope: its type and what it says.
Told: TypeAlias = tuple[str, dict[str, Json]]
#: A foreach that gave more items than this hands them over by number only.
MOST_ITEMS = 100
#: The arguments of a plan's steps that name what is called.
_CALLED = ("tool_id", "checker_id", "fn")
_Landing: TypeAlias = (
    events.AttemptSucceeded | events.AttemptFailed | events.AttemptInterrupted | events.AttemptCancelled
)


# -- models -----------------------------------------------------------------------------------------------------------


def message(run: Run, event: _Landing, *, flying: bool) -> Iterator[Told]:
    """How a model's attempt ended: with its answer, or without one."""
    if run.workflow.nodes[event.node].mode != "ai":
        return
    cached = isinstance(event, events.AttemptSucceeded) and event.cached is not None
    if not flying and not cached:
        return  # a person's answer
    told: dict[str, Json] = {
        "messageId": naming.message(run.id, event.node, event.visit, event.attempt, event.item),
        "content": "",
        "status": "interrupted",
        "visit": event.visit,
        "attempt": event.attempt,
        "item": event.item,
        "cached": cached,
    }
    match event:
        case events.AttemptSucceeded():
            told["status"] = "final"
            told.update(_content(event.outputs, live=run.live is not None))
        case events.AttemptFailed():
            told["status"] = "failed"
        case _:
            pass
    yield "message.assistant.final", told


def _content(stored: JsonObject, *, live: bool) -> JsonObject:
    if "value" not in stored:
        return {"stored": stored}
    value = stored["value"]
    said = trace.spoken(value) if live else trace.words(value)
    return {"content": said or canonical.dumps(value).decode()}


# -- tools ------------------------------------------------------------------------------------------------------------


def tool(node: definition.Node) -> tuple[str, JsonObject] | None:
    """What the node's attempts call, with the arguments that its author gave; None where they call nothing.

    A step of a plan calls its tool, checker or transform; its arguments are as written, with their refs in place.
    """
    if node.step is not None:
        name = next((node.step.args[key] for key in _CALLED if key in node.step.args), None)
        return (name, node.step.args) if isinstance(name, str) and node.mode == "deterministic" else None
    if node.handler is None or node.mode != "deterministic":
        return None
    return node.handler, {key: value for key, value in node.config.items() if key != "pinned"}


def proposed(run: Run, asked: OpenApproval, calls: dict[int, str]) -> Iterator[Told]:
    """A person is asked before a handler works: what exactly it is that waits. A call that was cut before is over."""
    node, state = run.workflow.nodes[asked.node], run.nodes[asked.node]
    called = tool(node)
    if called is None or asked.kind != "approval" or not state.queue:
        return
    slot = state.queue[-1]
    item = slot if node.foreach is not None else None
    call = naming.tool(run.id, node.key, asked.visit, state.slots[slot].attempt + 1, item)
    yield from _overtaken(calls, slot, call)
    calls[slot] = call
    yield "tool.proposed", {"tool": {**cast("JsonObject", asked.document["tool"]), "id": call, "name": called[0]}}


def started(run: Run, event: events.AttemptStarted, calls: dict[int, str]) -> Iterator[Told]:
    """A handler is at work. A call of the same piece that was cut before is over by that."""
    called = tool(run.workflow.nodes[event.node])
    if called is None:
        return
    slot = event.item or 0
    call = naming.tool(run.id, event.node, event.visit, event.attempt, event.item)
    yield from _overtaken(calls, slot, call)
    calls[slot] = call
    yield "tool.started", {"tool": {"id": call, "name": called[0], "args": called[1]}}


def _overtaken(calls: dict[int, str], slot: int, by: str) -> Iterator[Told]:
    if calls.get(slot, by) != by:
        yield _completed(calls.pop(slot), "INTERRUPTED", "it was cut, and is called again")


def landed(event: _Landing, calls: dict[int, str]) -> Iterator[Told]:
    """A handler is done. One of which nobody knows whether its effect happened is not, before a person has said so."""
    slot = event.item or 0
    if slot not in calls:
        return
    if isinstance(event, events.AttemptInterrupted | events.AttemptFailed) and event.uncertain:
        return
    call = calls.pop(slot)
    match event:
        case events.AttemptSucceeded():
            yield "tool.completed", {"toolId": call, "result": {"ok": True}}
        case events.AttemptFailed():
            yield _completed(call, str(event.error["code"]), str(event.error["message"]))
        case events.AttemptInterrupted():
            yield _completed(call, "INTERRUPTED", f"interrupted: {event.reason}")
        case events.AttemptCancelled():
            yield _completed(call, "CANCELLED", f"cancelled: {event.reason}")


def abandoned(calls: dict[int, str], code: str, why: str) -> Iterator[Told]:
    """Whatever was proposed or left open about a node comes to nothing."""
    while calls:
        _, call = calls.popitem()
        yield _completed(call, code, why)


def _completed(call: str, code: str, why: str) -> Told:
    return "tool.completed", {"toolId": call, "result": {"ok": False}, "error": {"code": code, "message": why}}


# -- handoffs ---------------------------------------------------------------------------------------------------------


def handoff(run: Run, node: NodeState, edge: DataEdge, made: trace.Trace, at: tuple[int, int]) -> Told:
    """What goes along one edge when its source is done; `at` is the number and the time of the fact."""
    seq, when = at
    payload: dict[str, Json] = {
        "message": made.said or f"{edge.source}: {node.outcome}",
        "artifacts": list(made.made),
        "status": {"ok": True},
    }
    payload.update(_handed(node, edge))
    return "handoff.sent", {
        "envelope": {
            "kind": "handoff",
            "id": naming.handoff(edge.id, seq),
            "fromNodeId": naming.node(run.id, edge.source),
            "toNodeId": naming.node(run.id, edge.target),
            "edgeId": edge.id,
            "createdAt": envelope.timestamp(when),
            "payload": payload,
        }
    }


def _handed(node: NodeState, edge: DataEdge) -> JsonObject:
    """The value that becomes the target's input, where it is at hand and not too much to send along."""
    if node.item_outputs is None:
        stored = node.outputs or {"value": {}}
        if "value" not in stored:
            return {"stored": stored}
        value = stored["value"]
        held = value.get(edge.port) if isinstance(value, Mapping) else None
        return {"structured": {edge.name: held}}
    given = [stored.get("value") for stored in node.item_outputs[: MOST_ITEMS + 1]]
    if len(given) > MOST_ITEMS or not all(isinstance(value, Mapping) for value in given):
        return {}
    items: list[Json] = [cast("JsonObject", value).get(edge.port) for value in given]
    return {"structured": {edge.name: items}}


# -- people, stalls ---------------------------------------------------------------------------------------------------


def asked(run: Run, question: OpenApproval, at: int) -> Told:
    """A person is asked."""
    return "approval.requested", {
        "approvalId": question.id,
        "tool": question.document["tool"],
        "context": question.document["prompt"],
        "approval": documents.approval(run.id, question, at),
    }


def closed(event: events.ApprovalResolved | events.ApprovalWithdrawn) -> Told:
    """The question is closed. One that was withdrawn allows nothing, and so is told as a denial by nobody."""
    told: dict[str, Json] = {"approvalId": event.approval_id}
    match event:
        case events.ApprovalResolved():
            resolution: dict[str, Json] = dict(event.resolution)
            if event.reason is not None:
                resolution["reason"] = event.reason
            told.update(resolution=resolution, by=event.by, digest=event.digest, withdrawn=False)
        case events.ApprovalWithdrawn():
            gone: JsonObject = {"status": "denied", "reason": f"withdrawn: {_WITHDRAWN[event.reason]}"}
            told.update(resolution=gone, by=None, digest=None, withdrawn=True)
    return "approval.resolved", told


_WITHDRAWN = {
    "ending": "the run ends",
    "bounce": "its node is entered anew",
    "interrupt": "a person interrupts",
    "removed": "its node is removed",
}


def stalled(event: events.RunStalled) -> Told:
    """A loop makes no progress."""
    evidence = event.evidence
    failure = str(evidence.get("message", ""))
    return "run.stalled", {
        "evidence": {
            "kind": event.kind,
            "repeats": evidence.get("repeats", 0),
            "code": evidence.get("code", ""),
            "outputHash": evidence.get("outputHash"),
            "verificationFailure": failure,
            "summaries": [trace.short(failure)],
        }
    }
