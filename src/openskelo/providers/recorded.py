"""Answers kept in files: asked once of a real model, given back exactly as they were from then on."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import cast

from openskelo import errors, files, whole
from openskelo.kernel.json import Json, JsonObject
from openskelo.providers import failure, seam
from openskelo.values import canonical

_VERSION = 1


class Recorded:
    """A folder of recordings, one file a request. What is not there is asked of `source`, or is an error without it."""

    def __init__(self, folder: Path, source: seam.Provider | None = None) -> None:
        self._folder = folder
        self._source = source

    async def complete(self, request: seam.Request, on_text: seam.OnText) -> seam.Answer:
        path = self._folder / f"{digest(request)}.json"
        if _is_there(path):
            answer = _read(path)
            on_text(answer.text)
            return answer
        if self._source is None:
            raise failure.final(
                "RECORDING_MISSING",
                f"nothing is recorded for this request of {request.node!r} ({path.name})",
                hint=f"record it into {self._folder}: give the provider `record: <another provider>` and run again",
            )
        answer = await self._source.complete(request, on_text)
        try:
            _write(path, request, answer)
        except OSError as error:
            failed = failure.final("RECORDING_INVALID", f"{path} cannot be written: {error.strerror or error}")
            raise seam.Broken(failed, answer) from error  # it was paid for
        return answer


def digest(request: seam.Request) -> str:
    """The name of a request: everything that its answer depends on, and nothing of who asks."""
    return canonical.digest(_asked(request)).removeprefix("sha256:")[:32]


def _asked(request: seam.Request) -> JsonObject:
    return {
        "messages": [{"role": message.role, "text": message.text} for message in request.messages],
        "schema": request.schema,
        "parameters": {key: value for key, value in request.parameters.items() if key not in ("expert", "provider")},
        "max_tokens": request.max_tokens,
    }


def _write(path: Path, request: seam.Request, answer: seam.Answer) -> None:
    document: JsonObject = {
        "version": _VERSION,
        "request": _asked(request),
        "answer": {
            "text": answer.text,
            "model": answer.model,
            "finish_reason": answer.finish_reason,
            "tokens_in": answer.usage.tokens_in,
            "tokens_out": answer.usage.tokens_out,
        },
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    with whole.file(path) as file:
        file.write(canonical.dumps(document) + b"\n")


def _is_there(path: Path) -> bool:
    try:
        return path.exists()
    except OSError as error:
        raise _unreadable(path, str(error)) from error


def _read(path: Path) -> seam.Answer:
    try:
        match canonical.loads(files.read_plain(path)):
            case {"version": 1, "answer": Mapping() as answer}:
                return _answer(cast("Mapping[str, Json]", answer))
            case _:
                raise _unreadable(path, "it is not a recording of this version")
    except (OSError, errors.InvalidInput) as error:
        raise _unreadable(path, str(error)) from error


def _answer(kept: Mapping[str, Json]) -> seam.Answer:
    """The answer as it was, but free: nobody was paid for saying it again."""
    tokens = [value if isinstance(value := kept.get(name), int) else 0 for name in ("tokens_in", "tokens_out")]
    return seam.Answer(
        text=str(kept.get("text", "")),
        usage=seam.Usage(tokens_in=tokens[0], tokens_out=tokens[1]),
        model=str(kept.get("model", "")),
        finish_reason=str(kept.get("finish_reason", "stop")),
    )


def _unreadable(path: Path, why: str) -> errors.AttemptFailed:
    return failure.final("RECORDING_INVALID", f"{path} cannot be read: {why}", hint="delete it and record again")
