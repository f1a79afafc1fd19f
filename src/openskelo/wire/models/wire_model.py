"""Base of all documents of the contract: camelCase names, ids and times as text, and the error document.

A server's documents accept unknown fields, so that a later version may add some; a client's bodies refuse them, so that
a misspelt field is an error.
"""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, JsonValue
from pydantic.alias_generators import to_camel

ContractVersion: TypeAlias = Literal["1"]
Uuid: TypeAlias = Annotated[
    str,
    Field(
        pattern=r"^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$", json_schema_extra={"format": "uuid"}
    ),
]
Timestamp: TypeAlias = Annotated[
    str,
    Field(
        description="ISO-8601 in UTC with milliseconds",
        pattern=r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$",
        json_schema_extra={"format": "date-time"},
    ),
]
Digest: TypeAlias = Annotated[str, Field(pattern=r"^sha256:[0-9a-f]{64}$")]
Json: TypeAlias = JsonValue
JsonObject: TypeAlias = dict[str, JsonValue]


class Document(BaseModel):
    """A document of the server. Readers accept unknown fields, since a later version may add some."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, extra="allow", frozen=True)


class Body(BaseModel):
    """A document of a client. Unknown fields are refused as mistakes."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, extra="forbid", frozen=True)


class StoredRef(Document):
    """The blob that holds the canonical JSON of a value that is too large to be included."""

    blob: str
    bytes: int


class InvalidPart(Document):
    """One invalid part of a request: a JSON pointer to it, and what is wrong."""

    pointer: str
    code: str
    message: str


class ProblemDetails(Document):
    """`application/problem+json`. `code` is one of the error codes; `hint` says what to do next."""

    type: str
    title: str
    status: int
    detail: str
    code: str
    hint: str | None = None
    instance: str | None = None
    errors: list[InvalidPart] | None = None
