"""A run: its state as snapshots show it, and its line in a listing."""

from __future__ import annotations

from typing import Literal, TypeAlias

from openskelo.contract.wire.approval import Approval
from openskelo.contract.wire.artifact import Artifact
from openskelo.contract.wire.document import Body, ContractVersion, Document, JsonObject, Timestamp, Uuid
from openskelo.contract.wire.edge import Edge
from openskelo.contract.wire.node import Fault, Node, Usage

Status: TypeAlias = Literal["queued", "running", "paused", "completed", "failed"]
Phase: TypeAlias = Literal["BOOT", "EXECUTE", "VERIFY", "DOCS_SYNC", "DONE"]
Mode: TypeAlias = Literal["AUTO", "INTERACTIVE"]
GlobalMode: TypeAlias = Literal["PLANNING", "IMPLEMENTATION"]
Ending: TypeAlias = Literal["ok", "failed", "cancelled", "budget_exceeded", "denied", "escalated"]
RunKind: TypeAlias = Literal["blocks", "plan", "graph"]


class Used(Document):
    """What of one budget is used; no limit is null, and 0 allows none."""

    used: int
    limit: int | None


class Money(Document):
    """The same in US dollars."""

    used: float
    limit: float | None


class Budget(Document):
    """The run's budgets. `wallMs` is the time it was busy, up to its last event."""

    steps: Used
    tokens: Used
    cost_usd: Money
    wall_ms: Used
    tool_spend_usd: Money


class Parent(Document):
    """The run that this one was forked from, and the key of the node it starts at."""

    run_id: Uuid
    node: str


class Run(Document):
    """A run at `seq`: the state after that many facts. `approvals` are those that are open.

    `inputs` and `outputs` are there where the run was asked for by itself, and left out of streams.
    """

    id: Uuid
    contract_version: ContractVersion
    seq: int
    name: str
    kind: RunKind
    workflow_hash: str
    status: Status
    ending: Ending | None
    phase: Phase
    mode: Mode
    global_mode: GlobalMode
    created_at: Timestamp
    updated_at: Timestamp
    by: str
    pause_reason: str | None
    error: Fault | None
    parent: Parent | None
    budget: Budget
    usage: Usage
    nodes: dict[Uuid, Node]
    edges: dict[Uuid, Edge]
    artifacts: dict[Uuid, Artifact]
    approvals: dict[Uuid, Approval]
    inputs: JsonObject | None = None
    outputs: JsonObject | None = None


class RunSummary(Document):
    """A run as listings show it."""

    id: Uuid
    run_id: Uuid
    contract_version: ContractVersion
    name: str
    status: Status
    ending: Ending | None
    workflow_hash: str
    created_at: Timestamp
    updated_at: Timestamp
    parent: Uuid | None = None


class RunPatch(Body):
    """What a client may change of a run: its modes; `status` pauses and resumes it, and completes a live graph."""

    mode: Mode | None = None
    global_mode: GlobalMode | None = None
    status: Literal["running", "paused", "completed"] | None = None
