"""A run: its state as snapshots show it, its entry in a listing, and its receipts."""

from __future__ import annotations

from typing import Literal, TypeAlias

from pydantic import BaseModel, ConfigDict

from openskelo.wire.models.approval import Approval
from openskelo.wire.models.node import Artifact, Edge, Fault, Node, Usage
from openskelo.wire.models.wire_model import Body, ContractVersion, Digest, Document, JsonObject, Timestamp, Uuid

Status: TypeAlias = Literal["queued", "running", "paused", "completed", "failed"]
Phase: TypeAlias = Literal["BOOT", "EXECUTE", "VERIFY", "DOCS_SYNC", "DONE"]
Mode: TypeAlias = Literal["AUTO", "INTERACTIVE"]
GlobalMode: TypeAlias = Literal["PLANNING", "IMPLEMENTATION"]
Ending: TypeAlias = Literal["ok", "failed", "cancelled", "budget_exceeded", "denied", "escalated"]
RunKind: TypeAlias = Literal["blocks", "plan", "graph"]


class Used(Document):
    """The use of one budget. A limit of null means no limit, and 0 allows nothing."""

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
    """A run at `seq`: the state after that many facts. `approvals` are the open ones.

    `inputs` and `outputs` are included if the run was requested by itself, and left out of streams.
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
    """The changes a client may make to a run: its modes; `status` pauses and resumes it, and completes a live graph."""

    mode: Mode | None = None
    global_mode: GlobalMode | None = None
    status: Literal["running", "paused", "completed"] | None = None


# -- receipts ---------------------------------------------------------------------------------------------------------


class Metrics(BaseModel):
    """The usage of the attempt."""

    model_config = ConfigDict(extra="allow", frozen=True)

    tokens_in: int
    tokens_out: int
    wall_ms: int


class Reported(BaseModel):
    """The usage of an attempt as its agent reports it. Not what budgets count."""

    model_config = ConfigDict(extra="allow", frozen=True)

    tokens_in: int
    tokens_out: int
    cost_nanousd: int | None = None


class AgentWork(BaseModel):
    """An agent's attempt. One that was stopped has no `tree_after`, `prompt_hash` and `reported`."""

    model_config = ConfigDict(extra="allow", frozen=True)

    name: str
    provider: str
    program: str
    version: str
    session: str
    tree_before: str
    tree_after: str | None = None
    prompt_hash: Digest | None = None
    reported: Reported | None = None


class Receipt(BaseModel):
    """One attempt, chained by `prev` to the one before; `ts` is in milliseconds."""

    model_config = ConfigDict(extra="allow", frozen=True)

    plan_id: str
    step_id: str
    op: str
    ts: int
    inputs_hash: Digest
    output_ref: str
    output_hash: Digest
    metrics: Metrics
    visit: int
    attempt: int
    status: Literal["succeeded", "failed", "interrupted", "cancelled"]
    workflow_hash: Digest
    prev: Digest
    item: int | None = None
    agent: AgentWork | None = None
