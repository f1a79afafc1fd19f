"""What a deterministic handler is given: its inputs, who it is, and the few things it may ask for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import cast

import orjson

from openskelo.frozen import field, frozen
from openskelo.handlers import secret
from openskelo.kernel import ids
from openskelo.kernel.json import Json, JsonObject


@frozen
class Context:
    """The argument of every handler: `def handler(ctx) -> dict`, sync or async.

    `inputs` and `config` are the handler's own copies. `feedback` is what the previous attempt, or the bounce, wants
    this one to know.
    """

    inputs: JsonObject
    config: JsonObject
    block_id: str
    run_id: str
    attempt: int = 1
    item: Json = None
    item_index: int | None = None
    item_name: str = "item"
    feedback: Json = None
    _visit: int
    _now: int
    _secrets: Mapping[str, str] | None = None
    _lines: list[str] = field(default_factory=list[str])

    def __repr__(self) -> str:
        return f"Context({self.block_id!r}, attempt={self.attempt})"  # the rest may hold secrets

    @property
    def idempotency_key(self) -> str:
        """The same for every attempt of one visit (and item): hand it to whatever can refuse a second time."""
        return ids.idempotency_key(self.run_id, self.block_id, self._visit, self.item_index or 0)

    @property
    def now(self) -> datetime:
        """The recorded start of this visit, in UTC; equal in every attempt."""
        return datetime.fromtimestamp(self._now / 1000, UTC)

    def log(self, message: object, **fields: object) -> None:
        """Keep a line; all lines of an attempt become its `log` artifact. Secrets are masked out of it."""
        line = str(message)
        if fields:
            line += " " + _shown(fields, secret.values(self._secrets))
        self._lines.append(line)

    def secret(self, name: str) -> str:
        """The value of a secret declared in `skelo.yaml`; AttemptFailed SECRET_MISSING when there is none."""
        return secret.lookup(self._secrets, name)

    def expand_secrets(self, text: str) -> str:
        """`text` with every `${env:NAME}` and `${secret:NAME}` in it resolved (SECRET_MISSING when one is not set)."""
        return secret.resolve(text, self._secrets)


def _shown(fields: Mapping[str, object], hidden: Sequence[str]) -> str:
    """Fields as JSON where they are any, else as Python shows them: a line of log is never a reason to fail.

    Secrets are masked before they are quoted, as nobody would know them again afterwards.
    """

    def other(value: object) -> str:
        return secret.mask(repr(value), hidden)

    try:
        masked = _masked(fields, hidden) if hidden else fields
        return orjson.dumps(masked, default=other, option=orjson.OPT_NON_STR_KEYS).decode()
    except (TypeError, RecursionError):  # text that is no Unicode, values that nest too deep
        return repr(fields)


def _masked(value: object, hidden: Sequence[str]) -> object:
    match value:
        case str():
            return secret.mask(value, hidden)
        case dict():
            held = cast("dict[object, object]", value)
            return {_masked(key, hidden): _masked(inner, hidden) for key, inner in held.items()}
        case list() | tuple():
            return [_masked(inner, hidden) for inner in cast("Sequence[object]", value)]
        case _:
            return value
