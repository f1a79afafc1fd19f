"""What a client may say on its socket: parsed at the door, and refused with a code when it is anything else."""

from __future__ import annotations

from typing import TypeAlias, cast

import orjson

from openskelo import errors
from openskelo.contract import sealed
from openskelo.frozen import frozen
from openskelo.kernel.json import Json

#: Nothing that a client may say is longer.
MAX_BYTES = 16 * 1024
#: Where numbers end that every client can write.
_LARGEST = 2**53


@frozen
class Ping:
    """Are you there? The answer carries the same `token`."""

    token: Json = None


@frozen
class Subscribe:
    """From now on this run (None: all), from its snapshot or from what came after `since`."""

    run_id: str | None = None
    since: int | None = None


ClientMessage: TypeAlias = Ping | Subscribe


def parse(text: str | bytes) -> ClientMessage | None:
    """The message; None for a pong, which says nothing (InvalidInput MESSAGE_INVALID for what is none)."""
    if len(text) > MAX_BYTES:
        raise _invalid(f"a message may have {MAX_BYTES} bytes")
    try:
        found: object = orjson.loads(text)
    except orjson.JSONDecodeError:
        raise _invalid("a message is one JSON object") from None
    if not isinstance(found, dict):
        raise _invalid("a message is one JSON object")
    fields = cast("dict[str, Json]", found)
    match fields.get("type"):
        case "ping":
            _only(fields, "id")
            token = fields.get("id")
            if token is not None and not isinstance(token, str | int | float):
                raise _invalid("the id of a ping is a text or a number")
            return Ping(token=token)
        case "pong":
            return None
        case "subscribe":
            _only(fields, "runId", "since")
            return Subscribe(run_id=run_id(fields.get("runId")), since=_since(fields.get("since")))
        case _:
            raise _invalid("`type` is ping, pong or subscribe")


def run_id(value: Json) -> str | None:
    """Which run a client names; None for all (InvalidInput)."""
    if value is None:
        return None
    if isinstance(value, str) and sealed.is_uuid(value):
        return value
    raise errors.InvalidInput("runId is a run's UUID in lower case", code="RUN_ID", hint="leave it out for all runs")


def since(text: str | None) -> int | None:
    """Where a client goes on, as a URL or a header has it (InvalidInput)."""
    if text is None:
        return None
    if not (text.isascii() and text.isdecimal() and len(text) <= 16):
        raise _bad_since()
    return _since(int(text))


def _since(value: Json) -> int | None:
    if value is not None and (type(value) is not int or not 0 <= value <= _LARGEST):
        raise _bad_since()
    return value


def _bad_since() -> errors.InvalidInput:
    return errors.InvalidInput(
        "since is a whole number: the `seq`, or for all runs the `position`, of the last message that arrived",
        code="SINCE_INVALID",
    )


def _only(fields: dict[str, Json], *names: str) -> None:
    unknown = sorted(fields.keys() - {"type", *names})
    if unknown:
        raise _invalid(f"unknown fields: {', '.join(unknown)[:100]}")


def _invalid(message: str) -> errors.InvalidInput:
    return errors.InvalidInput(message, code="MESSAGE_INVALID", hint="docs/reference/stream.md lists the messages")
