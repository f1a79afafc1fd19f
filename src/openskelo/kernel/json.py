"""What JSON is to the type checker."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

Json: TypeAlias = "bool | int | float | str | Sequence[Json] | Mapping[str, Json] | None"
JsonObject: TypeAlias = "Mapping[str, Json]"

#: A value as events hold it: `{"value": …}` inline, or `{"blob": "sha256:…", "bytes": n}` when it is large.
Stored: TypeAlias = "Mapping[str, Json]"
