"""What an attempt leaves besides its outputs, as artifacts: masked, bounded, and clean enough to be stored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from openskelo.executors import job, task
from openskelo.handlers import secret
from openskelo.kernel import ids, outcome
from openskelo.kernel.json import Json, JsonObject
from openskelo.values import canonical

#: How much of a log is kept: the beginning and, mostly, the end.
MAX_BYTES = 256 * 1024
_HEAD = 64 * 1024
_MAX_MESSAGE = 4000
#: The name of an answer that did not come to its end.
PARTIAL = "answer.partial.txt"


def clean(text: str, hidden: Sequence[str] = ()) -> str:
    """`text` that can be stored: no secrets, no lone surrogates, no more than a few thousand characters."""
    text = secret.mask(text, hidden)
    if len(text) > _MAX_MESSAGE:
        text = text[:_MAX_MESSAGE] + " …"
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def masked(told: Sequence[JsonObject], hidden: Sequence[str]) -> Sequence[JsonObject]:
    """Verdicts, or what the next attempt is told, without secrets, wherever they are in them."""
    return [cast("JsonObject", _masked(one, hidden)) for one in told] if hidden else told


def _masked(value: Json, hidden: Sequence[str]) -> Json:
    match value:
        case str():
            return secret.mask(value, hidden)
        case Mapping():
            return {secret.mask(key, hidden): _masked(held, hidden) for key, held in value.items()}
        case Sequence():
            return [_masked(held, hidden) for held in value]
        case _:
            return value


def artifacts(one: job.Job, hidden: Sequence[str]) -> list[tuple[outcome.ArtifactNote, bytes]]:
    """Everything one attempt leaves, with its bytes: its files, an answer that broke off, and its log.

    The ids are the same whenever the same attempt is written down again.
    """
    files = list(one.files.values())
    if one.answer is None and one.heard:
        files.append(job.File(kind="log", name=PARTIAL, text="".join(one.heard)))
    if one.lines:
        files.append(job.File(kind="log", name=f"{one.task.node.key}.log", text="\n".join(one.lines) + "\n"))
    return [_artifact(one.task, file, hidden) for file in files]


def _artifact(of: task.Task, file: job.File, hidden: Sequence[str]) -> tuple[outcome.ArtifactNote, bytes]:
    data = secret.mask(file.text, hidden).encode("utf-8", "replace")
    if file.kind == "log" and len(data) > MAX_BYTES:
        cut = f"\n… {len(data) - MAX_BYTES} bytes left out …\n".encode()
        data = data[:_HEAD] + cut + data[-(MAX_BYTES - _HEAD) :]
    note = outcome.ArtifactNote(
        id=ids.derive(of.run_id, f"{of.idempotency_key}/{of.attempt}/{file.name}"),
        kind=file.kind,
        name=file.name,
        hash=canonical.digest_bytes(data),
        size=len(data),
        media_type=file.media_type,
    )
    return note, data
