"""The messages of the stream, over WebSocket and as server-sent events: what events travel in."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from pydantic import Field, RootModel

from openskelo.contract.wire.document import ContractVersion, Document, Json, Timestamp, Uuid
from openskelo.contract.wire.event import AnyEvent
from openskelo.contract.wire.run import Run


class Hello(Document):
    """The first message: which contract is spoken, and of which run the stream is (null: of all)."""

    type: Literal["hello"]
    contract_version: ContractVersion
    protocol: Literal[1]
    server_time: Timestamp
    run_id: Uuid | None


class Streaming(Document):
    """The text so far of an answer that is being written; it begins at `offset`, in UTF-16 units."""

    node_id: Uuid
    message_id: Uuid
    visit: int
    attempt: int
    item: int | None
    offset: int
    text: str


class ListedRun(Document):
    """A run as the stream of all runs begins with."""

    run_id: Uuid


class Snapshot(Document):
    """The run after fact `seq`; or, in a stream of all runs, the newest of them at `position`."""

    type: Literal["snapshot"]
    run_id: Uuid | None = None
    seq: int | None = None
    run: Run | None = None
    streaming: list[Streaming] | None = None
    position: int | None = None
    runs: list[ListedRun] | None = None


class Events(Document):
    """Events in their order. Who has them goes on with `since` = `seq`, in a stream of all runs with `position`."""

    type: Literal["events"]
    events: list[AnyEvent]
    run_id: Uuid | None = None
    seq: int | None = None
    position: int | None = None


class Resync(Document):
    """The client was too slow, or is ahead of the log: a snapshot follows, which takes the place of what it has."""

    type: Literal["resync"]
    run_id: Uuid | None
    reason: Literal["slow", "ahead"]


class Ping(Document):
    """A sign of life after a silence; nothing has to be answered."""

    type: Literal["ping"]
    server_time: Timestamp


class Pong(Document):
    """The answer to a client's ping, with whatever it gave as `id`."""

    type: Literal["pong"]
    id: Json
    server_time: Timestamp


class StreamError(Document):
    """What went wrong; the connection goes on unless it is closed right after."""

    type: Literal["error"]
    code: str
    message: str
    hint: str | None
    run_id: Uuid | None = None


AnyMessage: TypeAlias = Annotated[
    Hello | Snapshot | Events | Resync | Ping | Pong | StreamError, Field(discriminator="type")
]


class StreamMessage(RootModel[AnyMessage]):
    """Any message of the stream."""
