"""The wire events that say what happened: messages, tool calls, handoffs, approvals, artifacts, stalls.

They stand beside the patches, which say what changed. Each function takes a fact (the kernel has already applied it to
`run`) and returns wire events without their envelope; the projection adds ids and order.

An attempt of a deterministic node appears as a tool call: proposed if a person is asked first, started, and completed
exactly once, also if it never started. An attempt of a model ends in one final message. Approvals, artifacts, messages
to a live graph's node and its handoffs are facts of their own and become one event each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeAlias, cast

from openskelo.kernel import calls, definition, events
from openskelo.kernel.json import Json, JsonObject, Stored
from openskelo.kernel.run import GraphState, NodeState, OpenApproval, Run
from openskelo.record import envelope
from openskelo.values import canonical
from openskelo.wire import node_document, wire_ids
from openskelo.wire.edges import DataEdge

#: A wire event without its envelope: its type and its payload.
Derived: TypeAlias = tuple[str, dict[str, Json]]
#: Returns the absolute path of the file with a `sha256:` name; None if the bytes are not in a file of their own.
Locate: TypeAlias = Callable[[str], str | None]
#: The outputs of a foreach are sent along in a handoff up to this many items.
MAX_ITEMS = 100
#: The arguments of a plan's steps that name what is called.
_CALLEE_ARGUMENTS = ("tool_id", "checker_id", "fn")
_WITHDRAWAL_REASONS = {
    "ending": "the run ends",
    "bounce": "its node is entered again",
    "interrupt": "a person interrupts",
    "removed": "its node is removed",
    "over": "the attempt that asked is over",
}
#: The calls of a node that are not completed, by slot.
_OpenCalls: TypeAlias = dict[int, node_document.OpenCall]
_AttemptEnded: TypeAlias = (
    events.AttemptSucceeded | events.AttemptFailed | events.AttemptInterrupted | events.AttemptCancelled
)


# -- messages ---------------------------------------------------------------------------------------------------------


def final_message(run: Run, event: _AttemptEnded, *, in_flight: bool) -> Iterator[Derived]:
    """Yield the final message of a model's or an agent's attempt, with its answer or without one.

    `in_flight` says that the attempt was running; without one (and without a cached answer) a person answered in the
    model's place, and there is no message.
    """
    if not run.workflow.nodes[event.node].work.has_prompt:
        return
    is_cached = isinstance(event, events.AttemptSucceeded) and event.cached is not None
    if not in_flight and not is_cached:
        return
    payload: dict[str, Json] = {
        "messageId": wire_ids.message(run.id, event.node, event.visit, event.attempt, event.item),
        "content": "",
        "status": "interrupted",
        "visit": event.visit,
        "attempt": event.attempt,
        "item": event.item,
        "cached": is_cached,
    }
    match event:
        case events.AttemptSucceeded():
            payload["status"] = "final"
            payload.update(_message_content(event.outputs, live=run.graph_state is not None))
        case events.AttemptFailed():
            payload["status"] = "failed"
        case events.AttemptCancelled():
            payload["content"] = event.said or ""
        case events.AttemptInterrupted():
            pass
    yield "message.assistant.final", payload


def _message_content(outputs: JsonObject, *, live: bool) -> JsonObject:
    if "value" not in outputs:
        return {"stored": outputs}
    value = outputs["value"]
    text = node_document.turn_text(value) if live else node_document.single_text(value)
    return {"content": text or canonical.dumps(value).decode()}


def user_message(run_id: str, event: events.MessageReceived) -> Derived:
    """Return the event of a message that a person sent to a live graph's node."""
    message: dict[str, Json] = {
        "id": event.message_id,
        "runId": run_id,
        "nodeId": wire_ids.node(run_id, event.node),
        "role": event.role,
        "content": event.content.get("value", ""),
        "interrupt": event.interrupt,
        "createdAt": envelope.timestamp(event.at),
    }
    if "value" not in event.content:
        message["stored"] = event.content
    return "message.user", {"message": message}


# -- tool calls -------------------------------------------------------------------------------------------------------


def _callee(node: definition.Node) -> tuple[str, JsonObject] | None:
    """Return what the node's attempts call, with the arguments that its author wrote; None if they call nothing.

    A step of a plan calls its tool, checker or transform; references among its arguments are not resolved.
    """
    if not node.work.calls_handler:
        return None
    if node.step is not None:
        name = next((node.step.args[key] for key in _CALLEE_ARGUMENTS if key in node.step.args), None)
        if isinstance(name, str):
            return (name, node.step.args)
        return None
    if node.handler is None:
        return None
    return node.handler, {key: value for key, value in node.config.items() if key != "pinned"}


def call_proposed(run: Run, approval: OpenApproval, open_calls: _OpenCalls) -> Iterator[Derived]:
    """Yield the proposed call if a person is asked before a handler works; its id is that of the approval's tool.

    An earlier call of the same slot that is still open is completed first, as interrupted.
    """
    callee = _callee(run.workflow.nodes[approval.node])
    queue = run.nodes[approval.node].queue
    if callee is None or approval.kind != "approval" or not queue:
        return
    slot = queue[-1]
    proposal: JsonObject = {**cast("JsonObject", approval.document["tool"]), "name": callee[0]}
    yield from _complete_interrupted_call(open_calls, slot)
    open_calls[slot] = node_document.OpenCall(id=cast("str", proposal["id"]), proposal=proposal)
    yield "tool.proposed", {"tool": proposal}


def change_proposals(event: events.ApprovalResolved, open_calls: _OpenCalls) -> None:
    """Give the proposed calls the arguments as a person has changed them."""
    resolution = event.resolution
    if resolution["status"] != "modified":
        return
    for slot, call in open_calls.items():
        if call.proposal is not None:
            own_fields = {name: value for name, value in call.proposal.items() if name != "stored"}
            new_proposal: dict[str, Json] = {**own_fields, "args": resolution["modifiedArgs"]}
            if "stored" in resolution:
                new_proposal["stored"] = resolution["stored"]
            open_calls[slot] = node_document.OpenCall(id=call.id, proposal=new_proposal)


def call_started(run: Run, event: events.AttemptStarted, open_calls: _OpenCalls) -> Iterator[Derived]:
    """Yield the start of a handler's call: the one that was proposed, with the arguments that a person has approved.

    An earlier call of the same slot that is still open is completed first, as interrupted.
    """
    callee = _callee(run.workflow.nodes[event.node])
    if callee is None:
        return
    slot = event.item or 0
    open_call = open_calls.get(slot)
    if open_call is not None and open_call.proposal is not None:
        tool = open_call.proposal
    else:
        yield from _complete_interrupted_call(open_calls, slot)
        call_id = wire_ids.tool(run.id, event.node, event.visit, event.attempt, event.item)
        tool = {"id": call_id, "name": callee[0], "args": callee[1]}
    open_calls[slot] = node_document.OpenCall(id=cast("str", tool["id"]))
    yield "tool.started", {"tool": tool}


def _complete_interrupted_call(open_calls: _OpenCalls, slot: int) -> Iterator[Derived]:
    if slot in open_calls:
        yield _failed_call(open_calls.pop(slot).id, "INTERRUPTED", "the call was interrupted, and is made again")


def call_completed(event: _AttemptEnded | events.ItemFailed, open_calls: _OpenCalls) -> Iterator[Derived]:
    """Yield the completion of a handler's call.

    A call whose effect is uncertain stays open until a person has said whether it happened.
    """
    slot = event.item or 0
    if slot not in open_calls:
        return
    if isinstance(event, events.AttemptInterrupted | events.AttemptFailed) and event.uncertain:
        return
    call_id = open_calls.pop(slot).id
    match event:
        case events.AttemptSucceeded():
            yield "tool.completed", {"toolId": call_id, "result": {"ok": True}}
        case events.AttemptFailed() | events.ItemFailed():
            yield _failed_call(call_id, str(event.error["code"]), str(event.error["message"]))
        case events.AttemptInterrupted():
            yield _failed_call(call_id, "INTERRUPTED", f"interrupted: {event.reason}")
        case events.AttemptCancelled():
            yield _failed_call(call_id, "CANCELLED", f"cancelled: {event.reason}")


def agent_call_asked(approval: OpenApproval, agent_calls: dict[str, None]) -> Iterator[Derived]:
    """Yield that an agent's call is proposed, if a person is asked about one; its own questions are no calls.

    A call that has started before the agent asks was proposed then.
    """
    tool = cast("JsonObject", approval.document["tool"])
    call_id = cast("str", tool["id"])
    is_new = call_id not in agent_calls
    if approval.kind == calls.CALL and is_new and not cast("JsonObject", tool["args"]).get("question"):
        agent_calls[call_id] = None
        yield "tool.proposed", {"tool": shown_tool(approval.kind, tool)}


def agent_call_started(event: events.CallStarted, agent_calls: dict[str, None]) -> Iterator[Derived]:
    """Yield that an agent's call has started, and before that, that it was proposed, if no person was asked.

    A call that was denied does not start.
    """
    call_id = cast("str", event.call["id"])
    was_asked = call_id in agent_calls
    agent_calls[call_id] = None
    ruling = cast("JsonObject", event.call.get("gate") or {})
    tool: dict[str, Json] = {"id": call_id, "name": event.call["tool"], "args": {}}
    value = event.args.get("value")
    if isinstance(value, Mapping):
        tool["args"] = value
    elif "value" in event.args:
        tool["args"] = {"value": value}
    else:
        tool["stored"] = event.args
    if not was_asked:
        yield "tool.proposed", {"tool": tool}
    if ruling.get("decision") != "deny":
        yield "tool.started", {"tool": tool}


def agent_call_completed(event: events.CallCompleted, agent_calls: dict[str, None]) -> Iterator[Derived]:
    """Yield the completion of an agent's call, with what it returned."""
    agent_calls.pop(event.call_id, None)
    result: dict[str, Json] = {"ok": event.status == "completed", "durationMs": event.duration_ms}
    if event.exit_code is not None:
        result["exitCode"] = event.exit_code
    if "value" in event.result:
        result["output"] = event.result["value"]
    else:
        result["stored"] = event.result
    completed: dict[str, Json] = {"toolId": event.call_id, "result": result}
    if event.status != "completed":
        completed["error"] = {"code": "CALL_FAILED", "message": "the tool of the agent failed"}
    yield "tool.completed", completed


def agent_calls_interrupted(agent_calls: dict[str, None]) -> Iterator[Derived]:
    """Yield the completion, as failed, of every call of an agent that was open when its attempt ended."""
    while agent_calls:
        call_id, _ = agent_calls.popitem()
        yield _failed_call(call_id, "INTERRUPTED", "the attempt ended before the call did")


def calls_abandoned(open_calls: _OpenCalls, code: str, message: str) -> Iterator[Derived]:
    """Yield the completion, as failed, of every call of a node that is still open."""
    while open_calls:
        _, call = open_calls.popitem()
        yield _failed_call(call.id, code, message)


def _failed_call(call_id: str, code: str, message: str) -> Derived:
    error: JsonObject = {"code": code, "message": message}
    return "tool.completed", {"toolId": call_id, "result": {"ok": False}, "error": error}


# -- handoffs ---------------------------------------------------------------------------------------------------------


def handoff(
    run: Run, node: NodeState, edge: DataEdge, details: node_document.NodeDetails, fact: tuple[int, int]
) -> Derived:
    """Return what goes along a data edge when its source `node` is done; `fact` is the number and time of the fact."""
    seq, at = fact
    payload: dict[str, Json] = {
        "message": details.result_text or f"{edge.source}: {node.outcome}",
        "artifacts": list(details.artifacts),
        "status": {"ok": True},
    }
    keeps_failed_items = run.workflow.nodes[node.key].keeps_failed_items
    payload.update(_edge_value(node, edge, keeps_failed_items=keeps_failed_items))
    return "handoff.sent", {
        "envelope": {
            "kind": "handoff",
            "id": wire_ids.handoff(edge.id, seq),
            "fromNodeId": wire_ids.node(run.id, edge.source),
            "toNodeId": wire_ids.node(run.id, edge.target),
            "edgeId": edge.id,
            "createdAt": envelope.timestamp(at),
            "payload": payload,
        }
    }


def _edge_value(node: NodeState, edge: DataEdge, *, keeps_failed_items: bool) -> JsonObject:
    """Return the value that becomes the target's input, unless it is stored as a blob or has too many items."""
    if node.item_outputs is None:
        outputs = node.outputs or {"value": {}}
        if "value" not in outputs:
            return {"stored": outputs}
        value = outputs["value"]
        port_value = value.get(edge.port) if isinstance(value, Mapping) else None
        return {"structured": {edge.name: port_value}}
    if len(node.item_outputs) > MAX_ITEMS:
        return {}
    if keeps_failed_items and edge.port == "errors":
        return {"structured": {edge.name: list(node.item_errors)}}
    failed_item: JsonObject = {"value": {}}
    values = [(failed_item if outputs is None else outputs).get("value") for outputs in node.item_outputs]
    if not all(isinstance(value, Mapping) for value in values):
        return {}
    items: list[Json] = [cast("JsonObject", value).get(edge.port) for value in values]
    return {"structured": {edge.name: items}}


def live_handoff(run_id: str, graph: GraphState, event: events.HandoffSent, artifacts: Sequence[JsonObject]) -> Derived:
    """Return what a live graph's node sends along an edge; `artifacts` are those of its turn."""
    payload: dict[str, Json] = {"message": "", "artifacts": list(artifacts), "status": {"ok": True}}
    payload.update(_turn_value(graph.inboxes[event.node].last_outputs or {"value": {}}))
    return "handoff.sent", {
        "envelope": {
            "kind": "handoff",
            "id": event.handoff_id,
            "fromNodeId": wire_ids.node(run_id, event.node),
            "toNodeId": wire_ids.node(run_id, event.to),
            "edgeId": event.edge,
            "createdAt": envelope.timestamp(event.at),
            "payload": payload,
        }
    }


def _turn_value(outputs: Stored) -> JsonObject:
    if "value" not in outputs:
        return {"stored": outputs}
    value = outputs["value"]
    structured_value: JsonObject = value if isinstance(value, Mapping) else {}
    return {"message": node_document.summary_line(node_document.turn_text(value)), "structured": structured_value}


# -- approvals --------------------------------------------------------------------------------------------------------


def shown_tool(kind: str, tool: JsonObject) -> JsonObject:
    """Return what an approval is about: for a call of an agent the agent's own tool, with exactly its arguments."""
    if kind != calls.CALL:
        return tool
    call_args = cast("JsonObject", tool["args"])
    shown_fields: dict[str, Json] = {
        "id": tool["id"],
        "name": call_args["tool"],
        "args": call_args.get("arguments") or {},
    }
    if "stored" in tool:
        shown_fields["stored"] = tool["stored"]
    return shown_fields


def call_details(kind: str, tool: JsonObject) -> JsonObject | None:
    """Return what a person is shown beside the arguments of an agent's call; None for other approvals."""
    if kind != calls.CALL:
        return None
    call_args = cast("JsonObject", tool["args"])
    return {name: value for name, value in call_args.items() if name not in ("tool", "arguments")}


def approval_requested(run: Run, approval: OpenApproval, requested_at: int) -> Derived:
    """Return the event of a new approval, with its document."""
    return "approval.requested", {
        "approvalId": approval.id,
        "tool": shown_tool(approval.kind, cast("JsonObject", approval.document["tool"])),
        "context": approval.document["prompt"],
        "approval": _approval_document(run, approval, requested_at),
    }


def _approval_document(run: Run, approval: OpenApproval, requested_at: int) -> JsonObject:
    question = approval.document
    tool = cast("JsonObject", question["tool"])
    return {
        "id": approval.id,
        "approvalId": approval.id,
        "runId": run.id,
        "runName": run.workflow.name,
        "nodeId": wire_ids.node(run.id, approval.node),
        "node": approval.node,
        "kind": approval.kind,
        "tool": shown_tool(approval.kind, tool),
        "call": call_details(approval.kind, tool),
        "context": question["prompt"],
        "prompt": question["prompt"],
        "form": question["form"],
        "approvers": list(approval.approvers),
        "digest": approval.digest,
        "requestedAt": envelope.timestamp(requested_at),
        "expiresAt": None if approval.expires_at is None else envelope.timestamp(approval.expires_at),
        "visit": approval.visit,
        "item": approval.item,
    }


def approval_closed(event: events.ApprovalResolved | events.ApprovalWithdrawn) -> Derived:
    """Return the event of an approval that is no longer open.

    A withdrawn approval allows nothing, so it appears as a denial without a `by`.
    """
    payload: dict[str, Json] = {"approvalId": event.approval_id}
    match event:
        case events.ApprovalResolved():
            resolution: dict[str, Json] = dict(event.resolution)
            if event.reason is not None:
                resolution["reason"] = event.reason
            payload.update(resolution=resolution, by=event.by, digest=event.digest, withdrawn=False)
        case events.ApprovalWithdrawn():
            denial: JsonObject = {"status": "denied", "reason": f"withdrawn: {_WITHDRAWAL_REASONS[event.reason]}"}
            payload.update(resolution=denial, by=None, digest=None, withdrawn=True)
    return "approval.resolved", payload


# -- artifacts, stalls ------------------------------------------------------------------------------------------------


def artifact_document(run_id: str, event: events.ArtifactCreated, locate: Locate) -> JsonObject:
    """Return the document of an artifact.

    Its path is looked up now and is not part of the log, so a data dir may be moved.
    """
    artifact = event.artifact
    metadata: JsonObject = {} if "metadata" not in artifact else {"metadata": artifact["metadata"]}
    return {
        "id": artifact["id"],
        "runId": run_id,
        "nodeId": wire_ids.node(run_id, event.node),
        "kind": artifact["kind"],
        "name": artifact["name"],
        "path": locate(cast("str", artifact["hash"])),
        "createdAt": envelope.timestamp(event.at),
        "ref": f"artifact://{artifact['id']}",
        "hash": artifact["hash"],
        "size": artifact["size"],
        "mediaType": artifact["mediaType"],
        "visit": event.visit,
        "attempt": event.attempt,
        "item": event.item,
        **metadata,
    }


def run_stalled(event: events.RunStalled) -> Derived:
    """Return the event of a loop that makes no progress."""
    evidence = event.evidence
    failure = str(evidence.get("message", ""))
    return "run.stalled", {
        "evidence": {
            "kind": event.kind,
            "repeats": evidence.get("repeats", 0),
            "code": evidence.get("code", ""),
            "outputHash": evidence.get("outputHash"),
            "diffHash": evidence.get("diffHash"),
            "verificationFailure": failure,
            "summaries": [node_document.summary_line(failure)],
        }
    }
