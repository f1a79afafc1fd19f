"""What the wire tells of a live graph alone: its edges, what people say in it, and what goes from node to node."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from openskelo.contract import envelope, naming, trace
from openskelo.contract.telling import Told
from openskelo.kernel import graph_events, inbox
from openskelo.kernel.json import Json, JsonObject, Stored


def edge(run_id: str, event: graph_events.EdgeAdded) -> JsonObject:
    """An edge of a live graph."""
    return {
        "id": event.edge,
        "from": naming.node(run_id, event.source),
        "to": naming.node(run_id, event.target),
        "bidirectional": event.bidirectional,
        "type": event.type,
        "label": event.label,
        "kind": "channel",
    }


def message(run_id: str, event: graph_events.MessageReceived) -> Told:
    """A person has said something to a node."""
    said: dict[str, Json] = {
        "id": event.message_id,
        "runId": run_id,
        "nodeId": naming.node(run_id, event.node),
        "role": event.role,
        "content": event.content.get("value", ""),
        "interrupt": event.interrupt,
        "createdAt": envelope.timestamp(event.at),
    }
    if "value" not in event.content:
        said["stored"] = event.content
    return "message.user", {"message": said}


def handoff(run_id: str, live: inbox.Live, event: graph_events.HandoffSent, made: Sequence[JsonObject]) -> Told:
    """What a node said went along an edge; `made` are the files of that turn."""
    payload: dict[str, Json] = {"message": "", "artifacts": list(made), "status": {"ok": True}}
    payload.update(_handed(live.inboxes[event.node].said or {"value": {}}))
    return "handoff.sent", {
        "envelope": {
            "kind": "handoff",
            "id": event.handoff_id,
            "fromNodeId": naming.node(run_id, event.node),
            "toNodeId": naming.node(run_id, event.to),
            "edgeId": event.edge,
            "createdAt": envelope.timestamp(event.at),
            "payload": payload,
        }
    }


def _handed(said: Stored) -> JsonObject:
    if "value" not in said:
        return {"stored": said}
    value = said["value"]
    structured: JsonObject = value if isinstance(value, Mapping) else {}
    return {"message": trace.short(trace.spoken(value)), "structured": structured}


def waiting(live: inbox.Live, key: str, *, working: bool) -> int:
    """How much a node has not read yet; what its turn is about counts as read once the turn is under way."""
    box = live.inboxes[key]
    return len(box.letters) - (box.taken if working else 0)
