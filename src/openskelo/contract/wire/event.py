"""The events of the stream, one class a type. Patches carry changed fields only, nested objects whole.

Events with a `seq` follow from the fact with that number in the run's log; `index` counts them within it, and the last
of each fact is a `run.patch` with the new `seq`. Those without are a live overlay, which nobody keeps.
"""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from pydantic import Field, RootModel

from openskelo.contract.wire import run as runs
from openskelo.contract.wire.approval import Approval, Resolution, Tool
from openskelo.contract.wire.artifact import Artifact
from openskelo.contract.wire.document import Document, Json, StoredRef, Timestamp, Uuid
from openskelo.contract.wire.edge import Edge
from openskelo.contract.wire.handoff import Handoff
from openskelo.contract.wire.message import Message, MessageStatus
from openskelo.contract.wire.node import Connection, NodeStatus


class Event(Document):
    """What every event has."""

    id: Uuid
    run_id: Uuid
    ts: Timestamp


class FactEvent(Event):
    """An event that follows from a fact."""

    seq: int
    index: int


class NodeEvent(FactEvent):
    """An event about a node."""

    node_id: Uuid


class OverlayEvent(Event):
    """An event about what a node is doing right now, which nobody keeps."""

    node_id: Uuid


class RunPatched(FactEvent):
    """Fields of the run have changed; always `seq` and `updatedAt`. The last event of its fact."""

    type: Literal["run.patch"]
    patch: dict[str, Json]


class RunPhase(FactEvent):
    """The run is in another phase."""

    type: Literal["run.phase"]
    phase: runs.Phase


class RunMode(FactEvent):
    """The run's modes."""

    type: Literal["run.mode"]
    mode: runs.Mode
    global_mode: runs.GlobalMode


class Evidence(Document):
    """Why a loop is thought to make no progress."""

    kind: Literal["output", "verdict"]
    repeats: int
    code: str
    output_hash: str | None = None
    diff_hash: str | None = None
    verification_failure: str | None = None
    summaries: list[str]


class RunStalled(NodeEvent):
    """A loop makes no progress, and a person is asked whether it shall go on."""

    type: Literal["run.stalled"]
    evidence: Evidence


class NodePatched(NodeEvent):
    """Fields of a node have changed; a node that nobody knows yet has all of them."""

    type: Literal["node.patch"]
    patch: dict[str, Json]


class NodeDeleted(NodeEvent):
    """A node of a live graph is gone, and its edges with it."""

    type: Literal["node.deleted"]


class EdgeCreated(FactEvent):
    """There is an edge."""

    type: Literal["edge.created"]
    edge: Edge


class EdgeDeleted(FactEvent):
    """There is an edge no longer."""

    type: Literal["edge.deleted"]
    edge_id: Uuid


class HandoffSent(NodeEvent):
    """Something went along an edge; `nodeId` is the sender."""

    type: Literal["handoff.sent"]
    envelope: Handoff


class UserMessage(FactEvent):
    """A person said something."""

    type: Literal["message.user"]
    message: Message
    node_id: Uuid | None = None


class AssistantFinal(NodeEvent):
    """A model's answer is complete; or its attempt ended without one, and `status` says so."""

    type: Literal["message.assistant.final"]
    message_id: Uuid
    content: str
    status: MessageStatus
    visit: int
    attempt: int
    item: int | None
    cached: bool
    stored: StoredRef | None = None


class ToolProposed(NodeEvent):
    """A person is asked whether this may be called."""

    type: Literal["tool.proposed"]
    tool: Tool


class ToolStarted(NodeEvent):
    """A handler or a tool is at work."""

    type: Literal["tool.started"]
    tool: Tool


class ToolResult(Document):
    """Whether the call succeeded."""

    ok: bool


class ToolError(Document):
    """Why it did not."""

    message: str
    code: str | None = None


class ToolCompleted(NodeEvent):
    """A handler or a tool is done, or was not let work."""

    type: Literal["tool.completed"]
    tool_id: Uuid
    result: ToolResult
    error: ToolError | None = None


class ApprovalRequested(NodeEvent):
    """A person is asked."""

    type: Literal["approval.requested"]
    approval_id: Uuid
    tool: Tool
    context: str
    approval: Approval


class ApprovalResolved(NodeEvent):
    """The question is closed: answered by a person, by `timer`, or (`withdrawn`) not to be answered any more."""

    type: Literal["approval.resolved"]
    approval_id: Uuid
    resolution: Resolution
    by: str | None
    digest: str | None
    withdrawn: bool


class ArtifactCreated(NodeEvent):
    """A file was kept."""

    type: Literal["artifact.created"]
    artifact: Artifact


class NodeProgress(OverlayEvent):
    """Overlay: what a node is doing."""

    type: Literal["node.progress"]
    status: NodeStatus
    summary: str | None = None


class NodeConnection(OverlayEvent):
    """Overlay: the live state of a node's provider."""

    type: Literal["node.connection"]
    connection: Connection


class AssistantDelta(OverlayEvent):
    """Overlay: more of an answer that is being written; `offset` is where in it `delta` begins, in UTF-16 units."""

    type: Literal["message.assistant.delta"]
    message_id: Uuid
    delta: str
    offset: int
    visit: int
    attempt: int
    item: int | None


AnyEvent: TypeAlias = Annotated[
    RunPatched
    | RunPhase
    | RunMode
    | RunStalled
    | NodePatched
    | NodeDeleted
    | EdgeCreated
    | EdgeDeleted
    | HandoffSent
    | UserMessage
    | AssistantFinal
    | ToolProposed
    | ToolStarted
    | ToolCompleted
    | ApprovalRequested
    | ApprovalResolved
    | ArtifactCreated
    | NodeProgress
    | NodeConnection
    | AssistantDelta,
    Field(discriminator="type"),
]


class WireEvent(RootModel[AnyEvent]):
    """Any event of the stream."""


class EventPage(Document):
    """A page of a run's events, in order. `nextSeq` is the `since` of the next page; null when there is none yet."""

    events: list[AnyEvent]
    next_seq: int | None
