"""An edge: data, order or permission from node to node."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from pydantic import Field

from openskelo.contract.wire.document import Body, Document, Uuid

EdgeType: TypeAlias = Literal["handoff", "report"]
EdgeKind: TypeAlias = Literal["data", "order", "jump", "channel"]


class Edge(Document):
    """An edge. `kind` is additive: a value handed over, mere order, a plan's jump, or a live graph's channel."""

    id: Uuid
    from_: Annotated[Uuid, Field(alias="from")]
    to: Uuid
    bidirectional: bool
    type: EdgeType
    label: str
    kind: EdgeKind


class EdgeBody(Body):
    """An edge to be added to a live graph. Its id follows from what it ties and its label."""

    from_: Annotated[Uuid, Field(alias="from")]
    to: Uuid
    bidirectional: bool = True
    type: EdgeType = "handoff"
    label: Annotated[str, Field(min_length=1, max_length=200)] | None = None
