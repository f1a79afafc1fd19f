"""An artifact: a kept file, referred to as `artifact://<artifactId>` everywhere."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from pydantic import Field

from openskelo.contract.wire.document import Digest, Document, Timestamp, Uuid

ArtifactKind: TypeAlias = Literal["diff", "prompt", "log", "transcript", "contextpack", "report"]
Ref: TypeAlias = Annotated[str, Field(pattern=r"^artifact://[0-9a-f-]{36}$")]


class ArtifactMetadata(Document):
    """What is known of a diff beside its bytes."""

    files_changed: list[str] | None = None
    summary: str | None = None


class Artifact(Document):
    """A kept file. `path` is absolute and derived on reading; null where the bytes are no file of their own."""

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
    """How another document mentions an artifact."""

    type: ArtifactKind
    ref: Ref
