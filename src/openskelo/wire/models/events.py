"""Wire events, one class per type, and the messages of the stream that carry them.

Events with a `seq` follow from the fact with that number in the run's log; `index` counts them within the fact, and the
last event of each fact is a `run.patch` with the new `seq`. Patches carry changed fields only, nested objects whole.
Events without a `seq` are a live overlay and are not stored.

Stream messages travel over WebSocket and as server-sent events: hello, then a snapshot, then events.
"""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from pydantic import Field, RootModel

from openskelo.wire.models.approval import Approval, Resolution, Tool
from openskelo.wire.models.node import Artifact, Connection, Edge, Handoff, Message, MessageStatus, NodeStatus
from openskelo.wire.models.run import GlobalMode, Mode, Phase, Run
from openskelo.wire.models.wire_model import ContractVersion, Document, Json, StoredRef, Timestamp, Uuid


class Event(Document):
    """The fields that every event has."""

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
    """An event about what a node is doing right now; it is not stored."""

    node_id: Uuid


class RunPatched(FactEvent):
    """Fields of the run have changed; always `seq` and `updatedAt`. The last event of its fact."""

    type: Literal["run.patch"]
    patch: dict[str, Json]


class RunPhase(FactEvent):
    """The run is in another phase."""

    type: Literal["run.phase"]
    phase: Phase


class RunMode(FactEvent):
    """The run's modes."""

    type: Literal["run.mode"]
    mode: Mode
    global_mode: GlobalMode


class Evidence(Document):
    """The evidence that a loop makes no progress."""

    kind: Literal["output", "verdict", "diff", "gates"]
    repeats: int
    code: str
    output_hash: str | None = None
    diff_hash: str | None = None
    verification_failure: str | None = None
    summaries: list[str]


class RunStalled(NodeEvent):
    """A loop makes no progress, and a person is asked whether it should go on."""

    type: Literal["run.stalled"]
    evidence: Evidence


class NodePatched(NodeEvent):
    """Fields of a node have changed; for a new node, all fields."""

    type: Literal["node.patch"]
    patch: dict[str, Json]


class NodeDeleted(NodeEvent):
    """A node of a live graph was removed, with its edges."""

    type: Literal["node.deleted"]


class EdgeCreated(FactEvent):
    """An edge was created."""

    type: Literal["edge.created"]
    edge: Edge


class EdgeDeleted(FactEvent):
    """An edge was removed."""

    type: Literal["edge.deleted"]
    edge_id: Uuid


class HandoffSent(NodeEvent):
    """Something went along an edge; `nodeId` is the sender."""

    type: Literal["handoff.sent"]
    envelope: Handoff


class UserMessage(FactEvent):
    """A person sent a message."""

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
    """A call of a handler or a tool has started."""

    type: Literal["tool.started"]
    tool: Tool


class ToolResult(Document):
    """The result of a call: `ok` says whether it succeeded.

    A call of an agent also has what it returned (`output`, or `stored` if it is large), how long it took, and the exit
    code of the command it has run, if the agent tells it.
    """

    ok: bool
    duration_ms: int | None = None
    exit_code: int | None = None
    output: Json = None
    stored: StoredRef | None = None


class ToolError(Document):
    """The error of a call that failed."""

    message: str
    code: str | None = None


class ToolCompleted(NodeEvent):
    """A call of a handler or a tool has ended, or was not allowed."""

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
    """An approval was closed: answered by a person, answered by `timer`, or withdrawn."""

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
    """A page of a run's events, in order. `nextSeq` is the `since` of the next page; null on the last page."""

    events: list[AnyEvent]
    next_seq: int | None


# -- messages of the stream --------------------------------------------------------------------------------------------


class Hello(Document):
    """The first message: the version of the contract, and the run that the stream is about (null: all runs)."""

    type: Literal["hello"]
    contract_version: ContractVersion
    protocol: Literal[1]
    server_time: Timestamp
    run_id: Uuid | None


class Streaming(Document):
    """The text so far of an answer that is being written; it begins at `offset`, in UTF-16 units."""

    node_id: Uuid
    message_id: Uuid
    visit: int
    attempt: int
    item: int | None
    offset: int
    text: str


class ListedRun(Document):
    """A run as the stream of all runs begins with."""

    run_id: Uuid


class Snapshot(Document):
    """The run after fact `seq`; or, in a stream of all runs, the newest of them at `position`."""

    type: Literal["snapshot"]
    run_id: Uuid | None = None
    seq: int | None = None
    run: Run | None = None
    streaming: list[Streaming] | None = None
    position: int | None = None
    runs: list[ListedRun] | None = None


class Events(Document):
    """Events in their order. A client that has them resumes with `since` = `seq`; for all runs, with `position`."""

    type: Literal["events"]
    events: list[AnyEvent]
    run_id: Uuid | None = None
    seq: int | None = None
    position: int | None = None


class Resync(Document):
    """The client was too slow, or is ahead of the log: a snapshot follows, which replaces what the client has."""

    type: Literal["resync"]
    run_id: Uuid | None
    reason: Literal["slow", "ahead"]


class Ping(Document):
    """A sign of life after a silence; the client need not answer."""

    type: Literal["ping"]
    server_time: Timestamp


class Pong(Document):
    """The answer to a client's ping, with the ping's `id`."""

    type: Literal["pong"]
    id: Json
    server_time: Timestamp


class StreamError(Document):
    """An error of the stream; the connection stays open unless the server closes it right after."""

    type: Literal["error"]
    code: str
    message: str
    hint: str | None
    run_id: Uuid | None = None


AnyMessage: TypeAlias = Annotated[
    Hello | Snapshot | Events | Resync | Ping | Pong | StreamError, Field(discriminator="type")
]


class StreamMessage(RootModel[AnyMessage]):
    """Any message of the stream."""
