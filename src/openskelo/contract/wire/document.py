"""What all documents on the wire share: camelCase names, ids and times as text, and room for what is added later."""

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
    """What a server says: readers accept fields that they do not know, since a later version may add some."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, extra="allow", frozen=True)


class Body(BaseModel):
    """What a client sends: a field that nobody knows is a mistake, and is refused."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, extra="forbid", frozen=True)


class StoredRef(Document):
    """Where a value is that is too large to travel along: the blob that holds its canonical JSON."""

    blob: str
    bytes: int
