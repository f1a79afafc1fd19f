"""The types of JSON values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    Json: TypeAlias = "bool | int | float | str | Sequence[Json] | Mapping[str, Json] | None"
    JsonObject: TypeAlias = "Mapping[str, Json]"
    #: A value as events hold it: `{"value": …}` inline, or `{"blob": "sha256:…", "bytes": n}` when it is large.
    Stored: TypeAlias = "Mapping[str, Json]"
else:  # msgspec knows no recursive types
    Json = Any
    JsonObject = Mapping[str, Any]
    Stored = Mapping[str, Any]
