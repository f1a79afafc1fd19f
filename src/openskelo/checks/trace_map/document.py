"""The format of `trace_map.json`. A key or a word that it does not have is refused."""

from __future__ import annotations

from typing import Literal, TypeAlias

from openskelo.structs import frozen

SourceKind: TypeAlias = Literal["SOURCE_CODE", "API_DOCS"]
#: Where a field comes from.
Origin: TypeAlias = Literal["SOURCE_CODE", "API_DOCS", "ASSUMPTION"]
Confidence: TypeAlias = Literal["high", "medium", "low"]


@frozen
class SchemaFile:
    """The schema whose fields are traced."""

    file: str
    #: `sha256:` and the hash of its bytes.
    hash: str


@frozen
class SourceFile:
    """A source, named from the folder of the sources."""

    file: str
    #: `sha256:` and the hash of its bytes.
    hash: str
    kind: SourceKind


@frozen
class Span:
    """A part of a source. Lines and columns count from 1, columns in characters; the end column is the one after."""

    file: str
    line: int
    column: int
    endLine: int  # noqa: N815 -- as in the file
    endColumn: int  # noqa: N815 -- as in the file
    excerpt_hash: str


@frozen
class Entry:
    """The origin of a field."""

    #: The JSON pointer of a leaf of the schema.
    field_path: str
    source: Origin
    #: What the spans show, in words.
    evidence: str
    confidence: Confidence
    spans: tuple[Span, ...] = ()
    #: The value follows from the spans, and does not stand there as it is.
    derived: bool = False
    assumption_rationale: str | None = None


@frozen
class TraceMap:
    """A trace map."""

    correlation_id: str
    node_type: str
    schema: SchemaFile
    sources: tuple[SourceFile, ...]
    trace_entries: tuple[Entry, ...]
