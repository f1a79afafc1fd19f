"""Parameters that several routes have in common."""

from __future__ import annotations

from typing import Annotated, TypeAlias

from fastapi import Query
from pydantic import Field

_UUID = r"^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$"

RunId: TypeAlias = Annotated[str, Field(pattern=_UUID, json_schema_extra={"format": "uuid"})]
NodeId: TypeAlias = RunId
EdgeId: TypeAlias = RunId
ArtifactId: TypeAlias = RunId
ApprovalId: TypeAlias = RunId
Limit: TypeAlias = Annotated[int, Query(ge=1, le=500, description="at most so many")]
Since: TypeAlias = Annotated[int, Query(ge=0, le=2**53, description="only what came after this `seq`")]
