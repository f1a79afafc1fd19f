"""The lines an attempt logged, as an artifact: masked, bounded, and clean enough to be stored."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from typing import cast

from openskelo.executors import task
from openskelo.handlers import secret
from openskelo.kernel import outcome
from openskelo.kernel.json import Json, JsonObject
from openskelo.values import canonical

#: How much of a log is kept: the beginning and, mostly, the end.
MAX_BYTES = 256 * 1024
_HEAD = 64 * 1024
_MAX_MESSAGE = 4000


def clean(text: str, hidden: Sequence[str] = ()) -> str:
    """`text` that can be stored: no secrets, no lone surrogates, no more than a few thousand characters."""
    text = secret.mask(text, hidden)
    if len(text) > _MAX_MESSAGE:
        text = text[:_MAX_MESSAGE] + " …"
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def masked(verdicts: Sequence[JsonObject], hidden: Sequence[str]) -> Sequence[JsonObject]:
    """Verdicts without secrets, wherever they are in the evidence."""
    return [cast("JsonObject", _masked(verdict, hidden)) for verdict in verdicts] if hidden else verdicts


def _masked(value: Json, hidden: Sequence[str]) -> Json:
    match value:
        case str():
            return secret.mask(value, hidden)
        case Mapping():
            return {key: _masked(held, hidden) for key, held in value.items()}
        case Sequence():
            return [_masked(held, hidden) for held in value]
        case _:
            return value


def artifact(of: task.Task, lines: Sequence[str], hidden: Sequence[str]) -> tuple[outcome.ArtifactNote, bytes]:
    """The log of one attempt and its bytes; the id is the same whenever the same attempt is written down again."""
    data = secret.mask("\n".join(lines) + "\n", hidden).encode("utf-8", "replace")
    if len(data) > MAX_BYTES:
        cut = f"\n… {len(data) - MAX_BYTES} bytes left out …\n".encode()
        data = data[:_HEAD] + cut + data[-(MAX_BYTES - _HEAD) :]
    key = f"{of.idempotency_key}/{of.attempt}/log"
    note = outcome.ArtifactNote(
        id=str(uuid.uuid5(uuid.NAMESPACE_URL, key)),
        kind="log",
        name=f"{of.node.key}.log",
        hash=canonical.digest_bytes(data),
        size=len(data),
    )
    return note, data
