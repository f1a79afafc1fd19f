"""The kind `recorded`: answers in files, recorded once from another provider and returned unchanged from then on."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import cast

from openskelo import errors, files
from openskelo.kernel.json import Json, JsonObject
from openskelo.providers import config, failure_codes, kinds, protocol
from openskelo.values import canonical

_VERSION = 1


class Recorded:
    """A folder of recordings, one file per request. `source` answers a request without a recording, and is recorded."""

    def __init__(self, folder: Path, source: protocol.Provider | None = None) -> None:
        self._folder = folder
        self._source = source

    async def complete(self, request: protocol.Request, on_text: protocol.OnText) -> protocol.Answer:
        path = self._folder / f"{digest(request)}.json"
        if _exists(path):
            answer = _read(path)
            on_text(answer.text)
            return answer
        if self._source is None:
            raise failure_codes.final(
                "RECORDING_MISSING",
                f"nothing is recorded for this request of {request.node!r} ({path.name})",
                hint=f"record it into {self._folder}: give the provider `record: <another provider>` and run again",
            )
        answer = await self._source.complete(request, on_text)
        try:
            _write(path, request, answer)
        except OSError as error:
            failure = failure_codes.final("RECORDING_INVALID", f"{path} cannot be written: {error.strerror or error}")
            raise protocol.BrokenAnswer(failure, answer) from error  # the answer was paid for
        return answer


def digest(request: protocol.Request) -> str:
    """Return the name of a request: a digest of everything that its answer depends on."""
    return canonical.digest(_document(request)).removeprefix("sha256:")[:32]


def _document(request: protocol.Request) -> JsonObject:
    return {
        "messages": [_message(message) for message in request.messages],
        "schema": request.schema,
        "parameters": {key: value for key, value in request.parameters.items() if key not in ("expert", "provider")},
        "max_tokens": request.max_tokens,
    }


def _message(message: protocol.Message) -> JsonObject:
    document: dict[str, Json] = {"role": message.role, "text": message.text}
    if message.attachments:
        document["attachments"] = [canonical.digest_bytes(attachment.data) for attachment in message.attachments]
    return document


def _write(path: Path, request: protocol.Request, answer: protocol.Answer) -> None:
    document: JsonObject = {
        "version": _VERSION,
        "request": _document(request),
        "answer": {
            "text": answer.text,
            "model": answer.model,
            "finish_reason": answer.finish_reason,
            "tokens_in": answer.usage.tokens_in,
            "tokens_out": answer.usage.tokens_out,
        },
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    with files.atomic_file(path) as file:
        file.write(canonical.dumps(document) + b"\n")


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except OSError as error:
        raise _unreadable(path, str(error)) from error


def _read(path: Path) -> protocol.Answer:
    try:
        match canonical.loads(files.read_plain(path)):
            case {"version": 1, "answer": Mapping() as answer}:
                return _answer(cast("Mapping[str, Json]", answer))
            case _:
                raise _unreadable(path, "it is not a recording of this version")
    except (OSError, errors.InvalidInput) as error:
        raise _unreadable(path, str(error)) from error


def _answer(recorded: Mapping[str, Json]) -> protocol.Answer:
    """Return the answer as it was, at no cost."""
    tokens = [value if isinstance(value := recorded.get(name), int) else 0 for name in ("tokens_in", "tokens_out")]
    return protocol.Answer(
        text=str(recorded.get("text", "")),
        usage=protocol.Usage(tokens_in=tokens[0], tokens_out=tokens[1]),
        model=str(recorded.get("model", "")),
        finish_reason=str(recorded.get("finish_reason", "stop")),
    )


def _unreadable(path: Path, why: str) -> errors.AttemptFailed:
    return failure_codes.final("RECORDING_INVALID", f"{path} cannot be read: {why}", hint="delete it and record again")


def _folder(settings: config.ProviderConfig, root: Path) -> Path:
    return root / (settings.recordings or "recordings")


def _make(settings: config.ProviderConfig, setup: kinds.Setup) -> protocol.Provider:
    return Recorded(_folder(settings, setup.root), setup.source)


def _missing(settings: config.ProviderConfig, setup: kinds.Setup) -> str | None:
    folder = _folder(settings, setup.root)
    if settings.record or folder.is_dir():
        return None
    return f"there is no folder {folder}"


KIND = kinds.Kind(
    name="recorded",
    summary="Answers that were recorded from another provider.",
    keys=frozenset({"recordings", "record"}),
    make=_make,
    missing=_missing,
    doc=(
        "`recordings` (a folder) and `record` (the provider for requests that are not recorded yet, "
        "at its prices and within its `concurrency`)"
    ),
    free=True,
    local=True,
    priced=False,
    media_types=protocol.IMAGES_AND_PDF,
)
