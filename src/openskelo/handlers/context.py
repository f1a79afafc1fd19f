"""The argument of a deterministic handler: its inputs and config, its place in the run, secrets and a log."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import cast

import orjson

from openskelo.handlers import secrets
from openskelo.kernel import ids
from openskelo.kernel.json import Json, JsonObject
from openskelo.structs import field, frozen


@frozen
class Context:
    """The argument of every handler: `def handler(ctx) -> dict`, sync or async."""

    #: The handler's own copy, as `config` is.
    inputs: JsonObject
    config: JsonObject
    block_id: str
    run_id: str
    attempt: int = 1
    item: Json = None
    item_index: int | None = None
    item_name: str = "item"
    #: From the previous attempt, or from the gate that sent the work back.
    feedback: Json = None
    _visit: int
    _now: int
    _secrets: Mapping[str, str] | None = None
    _lines: list[str] = field(default_factory=list[str])

    def __repr__(self) -> str:
        return f"Context({self.block_id!r}, attempt={self.attempt})"  # the rest may hold secrets

    @property
    def idempotency_key(self) -> str:
        """The same key for every attempt of one visit (and item), for services that ignore repeated requests."""
        return ids.idempotency_key(self.run_id, self.block_id, self._visit, self.item_index or 0)

    @property
    def now(self) -> datetime:
        """The recorded start of this visit, in UTC; equal in every attempt."""
        return datetime.fromtimestamp(self._now / 1000, UTC)

    def log(self, message: object, **fields: object) -> None:
        """Add a line to the `log` artifact of the attempt. Secrets are masked."""
        line = str(message)
        if fields:
            line += " " + _format_fields(fields, secrets.values(self._secrets))
        self._lines.append(line)

    def secret(self, name: str) -> str:
        """Return the value of a secret declared in `skelo.yaml` (AttemptFailed SECRET_MISSING)."""
        return secrets.lookup(self._secrets, name)

    def expand_secrets(self, text: str) -> str:
        """Return `text` with every `${env:NAME}` and `${secret:NAME}` replaced (AttemptFailed SECRET_MISSING)."""
        return secrets.resolve(text, self._secrets)


def _format_fields(fields: Mapping[str, object], hidden: Sequence[str]) -> str:
    """Return the fields as JSON, or as their `repr` when they are no JSON: logging never fails a handler.

    Secrets are masked before quoting, because a quoted secret may be spelled differently.
    """

    def masked_repr(value: object) -> str:
        return secrets.mask(repr(value), hidden)

    try:
        shown_fields = _masked(fields, hidden) if hidden else fields
        return orjson.dumps(shown_fields, default=masked_repr, option=orjson.OPT_NON_STR_KEYS).decode()
    except (TypeError, RecursionError):  # text that is no Unicode, values that nest too deep
        return repr(fields)


def _masked(value: object, hidden: Sequence[str]) -> object:
    match value:
        case str():
            return secrets.mask(value, hidden)
        case dict():
            items = cast("dict[object, object]", value).items()
            return {_masked(key, hidden): _masked(inner, hidden) for key, inner in items}
        case list() | tuple():
            return [_masked(inner, hidden) for inner in cast("Sequence[object]", value)]
        case _:
            return value
