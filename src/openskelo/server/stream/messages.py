"""The messages of the stream: the server's, encoded once for all clients, and the client's.

Each message is one JSON object with a `type`. A client's message is parsed strictly; everything else is refused with a
code.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Literal, TypeAlias, cast

import orjson

from openskelo import clock, errors
from openskelo.kernel.json import Json
from openskelo.record import envelope, line_check
from openskelo.structs import frozen
from openskelo.wire import projection

# -- from the server --------------------------------------------------------------------------------------------------

Kind: TypeAlias = Literal["hello", "snapshot", "events", "resync", "ping", "pong", "error"]

#: The version of these messages.
PROTOCOL = 1
#: A message of events ends at the first fact after this many bytes: simple clients refuse messages of a mebibyte.
FULL_BYTES = 256 * 1024


class Frame:
    """One message. A client that has it, and all messages before it, resumes with `since` = `cursor`."""

    def __init__(self, kind: Kind, data: bytes, cursor: int | None = None) -> None:
        self.kind: Kind = kind
        self.data = data
        self.cursor = cursor

    @cached_property
    def text(self) -> str:
        """Return the message as a WebSocket sends it."""
        return self.data.decode()

    @cached_property
    def sse_block(self) -> bytes:
        """Return the message as a server-sent event; encoded JSON has no line breaks, so it fits one `data` line."""
        event_id = b"" if self.cursor is None else b"id: %d\n" % self.cursor
        return b"event: %b\n%bdata: %b\n\n" % (self.kind.encode(), event_id, self.data)


def _server_time() -> str:
    return envelope.timestamp(clock.wall_ms())


def _frame(kind: Kind, fields: Mapping[str, object], cursor: int | None = None) -> Frame:
    return Frame(kind, orjson.dumps({"type": kind, **fields}), cursor)


def hello(run_id: str | None) -> Frame:
    """Return the first message: the contract's version, and the run that the stream is about (null: all runs)."""
    return _frame(
        "hello",
        {
            "contractVersion": projection.CONTRACT_VERSION,
            "protocol": PROTOCOL,
            "serverTime": _server_time(),
            "runId": run_id,
        },
    )


def snapshot(run_id: str, seq: int, run: bytes, streaming: Sequence[Mapping[str, Json]]) -> Frame:
    """Return a run's encoded document after fact `seq`, with the text so far of answers that are being written."""
    data = b'{"type":"snapshot","runId":"%b","seq":%d,"run":%b,"streaming":%b}'
    return Frame("snapshot", data % (run_id.encode(), seq, run, orjson.dumps(streaming)), seq)


def listing(position: int, runs: Sequence[Mapping[str, Json]]) -> Frame:
    """Return the snapshot of a stream of all runs: the newest runs as listings show them."""
    return _frame("snapshot", {"position": position, "runs": runs}, position)


def events(run_id: str | None, cursor: int, encoded: Sequence[bytes]) -> Frame:
    """Return events in their order; each element of `encoded` is one event, or several joined by commas."""
    position = b'"position":%d' % cursor
    place = position if run_id is None else b'"runId":"%b","seq":%d' % (run_id.encode(), cursor)
    return Frame("events", b'{"type":"events",%b,"events":[%b]}' % (place, b",".join(encoded)), cursor)


def resync(run_id: str | None, reason: Literal["slow", "ahead"]) -> Frame:
    """Return the message that a snapshot follows, because the client missed events or is ahead of the log."""
    return _frame("resync", {"runId": run_id, "reason": reason})


def ping() -> Frame:
    """Return a sign of life after a silence; the client need not answer."""
    return _frame("ping", {"serverTime": _server_time()})


def pong(ping_id: Json) -> Frame:
    """Return the answer to a client's ping, with the ping's `id`."""
    return _frame("pong", {"id": ping_id, "serverTime": _server_time()})


def error(problem: errors.OpenSkeloError, run_id: str | None = None) -> Frame:
    """Return an error with its code; the connection goes on unless it is closed right after."""
    fields: dict[str, Json] = {"code": problem.code, "message": problem.message, "hint": problem.hint}
    if run_id is not None:
        fields["runId"] = run_id
    return _frame("error", fields)


# -- from the client --------------------------------------------------------------------------------------------------

#: The maximum size of a client's message.
MAX_CLIENT_BYTES = 16 * 1024
#: The largest number that every client can write.
_MAX_NUMBER = 2**53


@frozen
class Ping:
    """A ping; the answer carries the same `id`."""

    id: Json = None


@frozen
class Subscribe:
    """A request to follow this run (None: all runs), from its snapshot or from what came after `since`."""

    run_id: str | None = None
    since: int | None = None


ClientMessage: TypeAlias = Ping | Subscribe


def parse_client_message(text: str | bytes) -> ClientMessage | None:
    """Return the message; None for a pong, which needs no answer. Raise InvalidInput MESSAGE_INVALID for the rest."""
    if len(text) > MAX_CLIENT_BYTES:
        raise _invalid(f"a message may have {MAX_CLIENT_BYTES} bytes")
    try:
        value: object = orjson.loads(text)
    except orjson.JSONDecodeError:
        raise _invalid("a message is one JSON object") from None
    if not isinstance(value, dict):
        raise _invalid("a message is one JSON object")
    fields = cast("dict[str, Json]", value)
    match fields.get("type"):
        case "ping":
            _check_fields(fields, "id")
            ping_id = fields.get("id")
            if ping_id is not None and not isinstance(ping_id, str | int | float):
                raise _invalid("the id of a ping is a text or a number")
            return Ping(id=ping_id)
        case "pong":
            return None
        case "subscribe":
            _check_fields(fields, "runId", "since")
            return Subscribe(run_id=parse_run_id(fields.get("runId")), since=_check_since(fields.get("since")))
        case _:
            raise _invalid("`type` is ping, pong or subscribe")


def parse_run_id(value: Json) -> str | None:
    """Return the run that a client names; None for all runs. Raise InvalidInput if it is not a run's id."""
    if value is None:
        return None
    if isinstance(value, str) and line_check.is_uuid(value):
        return value
    raise errors.InvalidInput("runId is a run's UUID in lower case", code="RUN_ID", hint="leave it out for all runs")


def parse_since(text: str | None) -> int | None:
    """Return where a client resumes, from a URL or a header. Raise InvalidInput if it is not a cursor."""
    if text is None:
        return None
    if not (text.isascii() and text.isdecimal() and len(text) <= 16):
        raise _invalid_since()
    return _check_since(int(text))


def _check_since(value: Json) -> int | None:
    if value is None:
        return None
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= _MAX_NUMBER:
        raise _invalid_since()
    return value


def _invalid_since() -> errors.InvalidInput:
    return errors.InvalidInput(
        "since is a whole number: the `seq`, or for all runs the `position`, of the last message that arrived",
        code="SINCE_INVALID",
    )


def _check_fields(fields: dict[str, Json], *names: str) -> None:
    unknown = sorted(fields.keys() - {"type", *names})
    if unknown:
        raise _invalid(f"unknown fields: {', '.join(unknown)[:100]}")


def _invalid(message: str) -> errors.InvalidInput:
    return errors.InvalidInput(message, code="MESSAGE_INVALID", hint="docs/reference/stream.md lists the messages")
