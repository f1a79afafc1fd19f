"""A receipt: the hashable record of one attempt. Its names are those of the hashed document, and so in snake case."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict

from openskelo.contract.wire.document import Digest


class Metrics(BaseModel):
    """What the attempt used."""

    model_config = ConfigDict(extra="allow", frozen=True)

    tokens_in: int
    tokens_out: int
    wall_ms: int


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
