"""The graph of a run: nodes, edges, and what goes along them (artifacts, handoffs, messages).

Also what a client may send to change a live graph.
"""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from pydantic import Field

from openskelo.wire.models.wire_model import Body, Digest, Document, Json, JsonObject, StoredRef, Timestamp, Uuid

Provider: TypeAlias = Literal["codex", "claude", "gemini", "custom"]
NodeStatus: TypeAlias = Literal["idle", "running", "blocked", "failed"]
Outcome: TypeAlias = Literal["succeeded", "failed", "skipped", "cancelled"]
NodeKind: TypeAlias = Literal["model", "handler", "approval", "agent"]
NodePhase: TypeAlias = Literal["EXECUTE", "VERIFY", "DOCS_SYNC"]
Effect: TypeAlias = Literal["pure", "idempotent", "once"]
EdgeType: TypeAlias = Literal["handoff", "report"]
EdgeKind: TypeAlias = Literal["data", "order", "jump", "channel"]
ArtifactKind: TypeAlias = Literal["diff", "prompt", "log", "transcript", "contextpack", "report"]
Ref: TypeAlias = Annotated[str, Field(pattern=r"^artifact://[0-9a-f-]{36}$")]
Role: TypeAlias = Literal["user", "assistant", "system"]
MessageStatus: TypeAlias = Literal["final", "interrupted", "failed"]


# -- nodes ------------------------------------------------------------------------------------------------------------


class Fault(Document):
    """An error: a stable code, and a message for people."""

    code: str
    message: str


class Usage(Document):
    """The usage of a node's attempts, from their receipts.

    `workMs` is the time that they worked, added up. It leaves out waits for a worker, a model, a retry or a person.
    `costUnknown` is true if an agent with its own log-in has worked: what it costs is in no figure.
    """

    prompt_tokens: int
    completion_tokens: int
    total_tokens: int
    cost_usd: float
    work_ms: int
    cost_unknown: bool | None = None


class Capabilities(Document):
    """The permissions of a node. A block may do what its mode and effect allow, and never creates nodes."""

    spawn_nodes: bool
    write_code: bool
    write_docs: bool
    run_commands: bool
    delegate_only: bool


class Permissions(Document):
    """The approvals that a node needs: before its effects (`gated`), and before it creates nodes."""

    cli_permissions_mode: Literal["skip", "gated"]
    spawn_requires_approval: bool


class Session(Document):
    """The provider's session. Blocks have no session: every attempt gets the whole context."""

    session_id: str | None
    reset_commands: list[str]


class Connection(Document):
    """The state of the model or handler that works for a node: `connected` while an attempt is in flight.

    The event `node.connection` says when text is being streamed, and only the process that drives the run knows it: in
    the node's document `streaming` is false.
    """

    status: Literal["connected", "idle", "disconnected"]
    streaming: bool
    last_heartbeat_at: Timestamp | None = None
    last_output_at: Timestamp | None = None


class Items(Document):
    """The item counts of a foreach; the items themselves are listed elsewhere.

    `kept` counts the done items that a fork has taken over from its parent run, `failed` the done items that have
    failed in a foreach with `on_fail: keep`.
    """

    total: int
    done: int
    running: int
    kept: int | None = None
    failed: int | None = None


class Node(Document):
    """A node's state. `parent` is the node of the sub-workflow it belongs to; `phase` the phase it belongs to.

    A finished node is `idle` (`failed` if it failed) and has an `outcome`; one that waits for a person is `blocked`.
    `connection` is null for a node whose work a person does. `workspace` is where the agent of a node works (kind,
    path, branch, base, ports), if a client requests this one node.
    """

    id: Uuid
    run_id: Uuid
    key: str
    label: str
    role_template: str
    provider: Provider
    kind: NodeKind
    mode: str
    op: str | None
    phase: NodePhase
    effect: Effect
    status: NodeStatus
    outcome: Outcome | None
    summary: str
    last_activity_at: Timestamp
    started_at: Timestamp | None
    ended_at: Timestamp | None
    visits: int
    attempts: int
    items: Items | None
    error: Fault | None
    verdicts: list[JsonObject]
    usage: Usage
    parent: Uuid | None
    capabilities: Capabilities
    permissions: Permissions
    session: Session
    inbox_count: int
    connection: Connection | None = None
    inputs: JsonObject | None = None
    outputs: JsonObject | None = None
    workspace: JsonObject | None = None


class Item(Document):
    """One item of a foreach, with the state of its work and its outputs.

    `kept`: it was done in the run that this one was forked from. `error`: it has failed, and the foreach went on.
    """

    index: int
    state: Literal["ready", "running", "waiting", "asking", "done"]
    attempts: int
    kept: bool | None = None
    outputs: JsonObject | None = None
    error: Fault | None = None


class CapabilitiesBody(Body):
    """Capabilities to set; others stay. No node creates nodes, or only delegates."""

    spawn_nodes: Literal[False] | None = None
    write_code: bool | None = None
    write_docs: bool | None = None
    run_commands: bool | None = None
    delegate_only: Literal[False] | None = None


class PermissionsBody(Body):
    """Permissions to set; others stay. `gated`: a person is asked before each turn, or about an agent's calls."""

    cli_permissions_mode: Literal["skip", "gated"] | None = None
    spawn_requires_approval: Literal[True] | None = None


ResetCommand: TypeAlias = Annotated[str, Field(min_length=1, max_length=100)]
SessionMode: TypeAlias = Literal["default", "plan"]
AgentName: TypeAlias = Annotated[str, Field(min_length=1, max_length=64)]
ModelName: TypeAlias = Annotated[str, Field(min_length=1, max_length=200)]


class SessionBody(Body):
    """Settings of the conversation to set. A message that is one of `resetCommands` begins a new one."""

    reset_commands: Annotated[list[ResetCommand], Field(max_length=20)] | None = None


class NodeBody(Body):
    """A node to add to a live graph. `key` is the author's id; by default it is made from the label.

    `config` has the fields of a block of that kind: `handler` and its `config`, or `prompt` and the expert to ask. An
    agent is named by `agent` (a name in the project's skelo.yaml), else the first of the `provider` is taken; `model`
    replaces the project's, and with the `sessionMode` `plan` it plans and changes nothing.
    """

    key: Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9_-]{0,63}$")] | None = None
    label: Annotated[str, Field(min_length=1, max_length=200)]
    role_template: Annotated[str, Field(min_length=1, max_length=200)] = "worker"
    provider: Provider = "custom"
    kind: Literal["model", "handler", "agent"] = "model"
    config: Annotated[dict[str, Json], Field(default_factory=dict)]
    capabilities: CapabilitiesBody = CapabilitiesBody()
    permissions: PermissionsBody = PermissionsBody()
    agent: AgentName | None = None
    model: ModelName | None = None
    session_mode: SessionMode | None = None
    session: SessionBody = SessionBody()


class NodeChange(Body):
    """Changes of a live graph's node; fields that are left out stay."""

    label: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    role_template: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    provider: Provider | None = None
    config: dict[str, Json] | None = None
    capabilities: CapabilitiesBody | None = None
    permissions: PermissionsBody | None = None
    agent: AgentName | None = None
    model: ModelName | None = None
    session_mode: SessionMode | None = None
    session: SessionBody | None = None


# -- edges ------------------------------------------------------------------------------------------------------------


class Edge(Document):
    """An edge. `kind`: a value handed over, order only, a jump of a plan, or a channel of a live graph."""

    id: Uuid
    from_: Annotated[Uuid, Field(alias="from")]
    to: Uuid
    bidirectional: bool
    type: EdgeType
    label: str
    kind: EdgeKind


class EdgeBody(Body):
    """An edge to add to a live graph. Its id follows from the nodes it connects and its label.

    Without a `type`, an edge from another node to an orchestrator is a `report`, and any other a `handoff`. Without a
    `label`, a report is called `report` and a handoff `task`.
    """

    from_: Annotated[Uuid, Field(alias="from")]
    to: Uuid
    bidirectional: bool = True
    type: EdgeType | None = None
    label: Annotated[str, Field(min_length=1, max_length=200)] | None = None


# -- artifacts --------------------------------------------------------------------------------------------------------


class ArtifactMetadata(Document):
    """Facts about an artifact besides its bytes: of a diff what it changes, of a prompt its role template."""

    files_changed: list[str] | None = None
    summary: str | None = None
    insertions: int | None = None
    deletions: int | None = None
    role: str | None = None
    role_hash: Digest | None = None


class Artifact(Document):
    """A kept file. `path` is absolute, and the file is written when it is first read; null without a local disk."""

    id: Uuid
    run_id: Uuid
    node_id: Uuid
    kind: ArtifactKind
    name: str
    path: str | None
    created_at: Timestamp
    ref: Ref
    hash: Digest
    size: int
    media_type: str
    visit: int
    attempt: int
    item: int | None
    metadata: ArtifactMetadata | None = None


class ArtifactRef(Document):
    """A reference to an artifact from another document."""

    type: ArtifactKind
    ref: Ref


# -- handoffs ---------------------------------------------------------------------------------------------------------


class PayloadStatus(Document):
    """The verdict of the source on what it hands over: `ok`, else the reason."""

    ok: bool
    reason: str | None = None


class Payload(Document):
    """The content of a handoff. If `structured` is too large to be included, `stored` refers to it."""

    message: str
    structured: JsonObject | None = None
    artifacts: list[ArtifactRef]
    status: PayloadStatus
    stored: StoredRef | None = None


class Handoff(Document):
    """The contract's envelope of a handoff; `edgeId` is the edge it goes along."""

    kind: Literal["handoff"]
    id: Uuid
    from_node_id: Uuid
    to_node_id: Uuid
    edge_id: Uuid
    created_at: Timestamp
    payload: Payload
    context_ref: str | None = None


# -- messages ---------------------------------------------------------------------------------------------------------


class Message(Document):
    """A message. If the content is too large to be included, it is empty and `stored` refers to it."""

    id: Uuid
    run_id: Uuid
    node_id: Uuid | None
    role: Role
    content: str
    interrupt: bool
    created_at: Timestamp
    status: MessageStatus | None = None
    stored: StoredRef | None = None


class ChatBody(Body):
    """A message to a node: queued for its next turn, or, with `interrupt`, instead of the one it is in.

    Without a `nodeId` it goes to the first node with the role `orchestrator`, else to the first node. With `steer` the
    turn under way reads it, if its agent can take a word during a turn; otherwise it is queued, and the answer says so.
    """

    node_id: Uuid | None = None
    content: Annotated[str, Field(min_length=1, max_length=1_000_000)]
    interrupt: bool = False
    steer: bool = False
