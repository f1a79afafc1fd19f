"""The messages of the stream, each one JSON object with a `type`, encoded once however many clients it goes to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, TypeAlias

import orjson

from openskelo import errors
from openskelo.contract import envelope, projection
from openskelo.engine import clock
from openskelo.kernel.json import Json

Kind: TypeAlias = Literal["hello", "snapshot", "events", "resync", "ping", "pong", "error"]

#: The version of these messages. A client that knows another one should not guess.
PROTOCOL = 1
#: A message of events is cut at the first fact after so many bytes: bare clients refuse messages of a mebibyte.
FULL_BYTES = 256 * 1024


class Frame:
    """One message. A client that has it, and everything before, goes on with `since` = `cursor`."""

    __slots__ = ("_block", "_text", "cursor", "data", "kind")

    def __init__(self, kind: Kind, data: bytes, cursor: int | None = None) -> None:
        self.kind: Kind = kind
        self.data = data
        self.cursor = cursor
        self._text: str | None = None
        self._block: bytes | None = None

    @property
    def text(self) -> str:
        """As a WebSocket sends it."""
        if self._text is None:
            self._text = self.data.decode()
        return self._text

    @property
    def block(self) -> bytes:
        """As an event stream (SSE) sends it: JSON has no line ends, so one `data` line holds it."""
        if self._block is None:
            place = b"" if self.cursor is None else b"id: %d\n" % self.cursor
            self._block = b"event: %b\n%bdata: %b\n\n" % (self.kind.encode(), place, self.data)
        return self._block


def now() -> str:
    """The server's time as the wire writes times."""
    return envelope.timestamp(clock.wall_ms())


def _frame(kind: Kind, fields: Mapping[str, object], cursor: int | None = None) -> Frame:
    return Frame(kind, orjson.dumps({"type": kind, **fields}), cursor)


def hello(run_id: str | None) -> Frame:
    """The first message: which contract is spoken, and what the stream is of (null: all runs)."""
    return _frame(
        "hello",
        {
            "contractVersion": projection.CONTRACT_VERSION,
            "protocol": PROTOCOL,
            "serverTime": now(),
            "runId": run_id,
        },
    )


def snapshot(run_id: str, seq: int, run: bytes, streaming: Sequence[Mapping[str, Json]]) -> Frame:
    """A run as it is after fact `seq`, already encoded, with the text so far of what is being said."""
    data = b'{"type":"snapshot","runId":"%b","seq":%d,"run":%b,"streaming":%b}'
    return Frame("snapshot", data % (run_id.encode(), seq, run, orjson.dumps(streaming)), seq)


def listing(position: int, runs: Sequence[Mapping[str, Json]]) -> Frame:
    """What a stream of all runs begins with: the newest runs as listings show them."""
    return _frame("snapshot", {"position": position, "runs": runs}, position)


def events(run_id: str | None, cursor: int, told: Sequence[bytes]) -> Frame:
    """Events in their order; `told` are encoded ones, each one event or several with commas between."""
    place = b'"position":%d' % cursor if run_id is None else b'"runId":"%b","seq":%d' % (run_id.encode(), cursor)
    return Frame("events", b'{"type":"events",%b,"events":[%b]}' % (place, b",".join(told)), cursor)


def resync(run_id: str | None, reason: Literal["slow", "ahead"]) -> Frame:
    """The client missed something, or is ahead of the log: what it has is of no use, a snapshot follows."""
    return _frame("resync", {"runId": run_id, "reason": reason})


def ping() -> Frame:
    """A sign of life after a silence; nothing has to be answered."""
    return _frame("ping", {"serverTime": now()})


def pong(token: Json) -> Frame:
    """The answer to a client's ping, with whatever it gave as `id`."""
    return _frame("pong", {"id": token, "serverTime": now()})


def error(found: errors.OpenSkeloError, run_id: str | None = None) -> Frame:
    """What went wrong, with its code; the connection goes on unless it is closed right after."""
    fields: dict[str, Json] = {"code": found.code, "message": found.message, "hint": found.hint}
    if run_id is not None:
        fields["runId"] = run_id
    return _frame("error", fields)
