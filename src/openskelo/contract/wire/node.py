"""A node: a place in a run, with its live status; and what a client may say about one of a live graph."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from pydantic import Field

from openskelo.contract.wire.document import Body, Document, Json, JsonObject, Timestamp, Uuid

Provider: TypeAlias = Literal["codex", "claude", "gemini", "custom"]
NodeStatus: TypeAlias = Literal["idle", "running", "blocked", "failed"]
Outcome: TypeAlias = Literal["succeeded", "failed", "skipped", "cancelled"]
NodeKind: TypeAlias = Literal["model", "handler", "approval", "agent"]
NodePhase: TypeAlias = Literal["EXECUTE", "VERIFY", "DOCS_SYNC"]
Effect: TypeAlias = Literal["pure", "idempotent", "once"]


class Fault(Document):
    """Why something failed: a stable code, and a message for people."""

    code: str
    message: str


class Usage(Document):
    """What models have used, by the receipts."""

    prompt_tokens: int
    completion_tokens: int
    total_tokens: int
    cost_usd: float


class Capabilities(Document):
    """What the node may do. A block may do what its mode and effect say, and never makes nodes."""

    spawn_nodes: bool
    write_code: bool
    write_docs: bool
    run_commands: bool
    delegate_only: bool


class Permissions(Document):
    """Whether a person is asked before the node's effects (`gated`), and before it makes nodes."""

    cli_permissions_mode: Literal["skip", "gated"]
    spawn_requires_approval: bool


class Session(Document):
    """The provider's session. Blocks have none: every attempt is told everything anew."""

    session_id: str | None
    reset_commands: list[str]


class Connection(Document):
    """The live state of a provider: an overlay, known only where this process drives the run."""

    status: Literal["connected", "idle", "disconnected"]
    streaming: bool
    last_heartbeat_at: Timestamp | None = None
    last_output_at: Timestamp | None = None


class Items(Document):
    """The items of a foreach in numbers; the items themselves are paged elsewhere.

    `kept` are those of `done` that were taken over from the run that this one was forked from.
    """

    total: int
    done: int
    running: int
    kept: int | None = None


class Node(Document):
    """A node's state. `parent` is the node of the sub-workflow it belongs to; `phase` the phase it belongs to.

    A finished node is `idle` and has an `outcome`; one that waits for a person is `blocked`.
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


class Item(Document):
    """One item of a foreach, as it is paged: `state` is that of its work, `outputs` what it gave.

    `kept`: it was done in the run that this one was forked from.
    """

    index: int
    state: Literal["ready", "running", "waiting", "asking", "done"]
    attempts: int
    kept: bool | None = None
    outputs: JsonObject | None = None


class CapabilitiesBody(Body):
    """Capabilities to set; what is left out stays. Models and handlers never make nodes."""

    spawn_nodes: Literal[False] | None = None
    write_code: bool | None = None
    write_docs: bool | None = None
    run_commands: bool | None = None
    delegate_only: bool | None = None


class PermissionsBody(Body):
    """Permissions to set; what is left out stays. `gated`: a person is asked before each turn."""

    cli_permissions_mode: Literal["skip", "gated"] | None = None
    spawn_requires_approval: Literal[True] | None = None


class NodeBody(Body):
    """A node to be added to a live graph. `key` is the author's id, made of the label where it is left out.

    `config` is what a block of that kind has: `handler` and its `config`, or `prompt` and whom to ask.
    """

    key: Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9_-]{0,63}$")] | None = None
    label: Annotated[str, Field(min_length=1, max_length=200)]
    role_template: Annotated[str, Field(min_length=1, max_length=200)] = "worker"
    provider: Provider = "custom"
    kind: Literal["model", "handler"] = "model"
    config: Annotated[dict[str, Json], Field(default_factory=dict)]
    capabilities: CapabilitiesBody = CapabilitiesBody()
    permissions: PermissionsBody = PermissionsBody()


class NodeChange(Body):
    """What is to be changed of a live graph's node; what is left out stays."""

    label: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    role_template: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    provider: Provider | None = None
    config: dict[str, Json] | None = None
    capabilities: CapabilitiesBody | None = None
    permissions: PermissionsBody | None = None
