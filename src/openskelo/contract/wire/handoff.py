"""A handoff: what goes along an edge when its source is done."""

from __future__ import annotations

from typing import Literal

from openskelo.contract.wire.artifact import ArtifactRef
from openskelo.contract.wire.document import Document, JsonObject, StoredRef, Timestamp, Uuid


class PayloadStatus(Document):
    """Whether the source is content with what it hands over."""

    ok: bool
    reason: str | None = None


class Payload(Document):
    """What is handed over. `structured` is left out where it is too large to travel along; `stored` then names it."""

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
