"""What an engine and its mates say to each other, over a pair of sockets that nobody else has.

Values of ours go through `pickle`: the process at the other end is our own, and runs the same code. What is said in
one turn of the event loop goes together. Nobody changes a word: they are `mutable` because such classes take their
fields by place, and pickle writes and makes them in half of the time.
"""

from __future__ import annotations

import asyncio
import contextlib
import pickle
import socket
import struct
from collections.abc import Callable, Mapping
from typing import TypeAlias, cast

from openskelo import errors
from openskelo.executors import calling, task
from openskelo.frozen import frozen, mutable
from openskelo.kernel import commands

_LENGTH = struct.Struct(">Q")
#: So much is said at once: the other side has something to do while the rest is made.
AT_ONCE = 64


@mutable
class Setup:
    """The first thing a mate hears. `packed` is what its engine is to be opened with, as `pack` makes it."""

    number: int
    packed: bytes


@mutable
class Begin:
    """Begin a run of the workflow that `definition` holds; it is sent once for all that begin in one turn."""

    number: int
    run_id: str
    command: commands.CreateRun
    definition: bytes


@mutable
class Wait:
    """Say how a run is once it has ended or only a person can move it."""

    number: int
    run_id: str


@mutable
class Keep:
    """Keep the runs of the data dir going, as the engine does."""

    number: int


@mutable
class Suspend:
    """Stop every run cleanly, and keep none going."""

    number: int
    by: str


@mutable
class Hello:
    """Say that you hear: one that hangs does not."""

    number: int


@mutable
class Forget:
    """Nobody waits any more for what the request of that number comes to."""

    number: int


@mutable
class Done:
    """What a request of that number came to; a `document` is JSON."""

    number: int
    document: bytes | None = None
    error: errors.OpenSkeloError | None = None


@mutable
class Left:
    """A run is not driven there any more: it has `ended`, was put aside, or had to be let go."""

    run_id: str
    ended: bool


@mutable
class Said:
    """A model says something for an attempt. `of` has nothing of what goes through it."""

    of: task.Task
    text: str


@mutable
class Logged:
    """Something for the log of the program: what a `LogRecord` is made of."""

    record: Mapping[str, str | int | float | None]


#: What is answered by a `Done` of its number.
Asked: TypeAlias = Setup | Begin | Wait | Keep | Suspend | Hello
Request: TypeAlias = Asked | Forget
Reply: TypeAlias = Done | Left | Said | Logged


@frozen
class Kit:
    """What an engine is opened with, and from which level on its program logs."""

    project: task.Project
    handlers: Mapping[str, calling.Handler]
    cache: bool
    log_level: int


def pack(kit: Kit) -> bytes:
    """The kit for another process (InvalidInput ENGINE_PROCESSES when it could not have them)."""
    for name, handler in kit.handlers.items():
        if getattr(handler, "__module__", None) == "__main__":
            raise _not_sendable(f"the handler {name}, which is of `__main__`")
    try:
        return pickle.dumps(kit, protocol=pickle.HIGHEST_PROTOCOL)
    except Exception as error:  # whatever the values of others raise
        raise _not_sendable(str(error)) from error


def unpack(packed: bytes) -> Kit:
    """What `pack` has packed in another process (InvalidInput ENGINE_PROCESSES when it cannot be had here)."""
    try:
        return pickle.loads(packed)  # noqa: S301 -- our own process packed it
    except Exception as error:  # whatever the modules of others raise
        raise _not_sendable(f"{type(error).__name__}: {error}") from error


def _not_sendable(what: str) -> errors.InvalidInput:
    return errors.InvalidInput(
        f"another process cannot have {what}",
        code="ENGINE_PROCESSES",
        hint="several processes need each handler as a function of a module that they can import",
    )


class Channel(asyncio.Protocol):
    """One end. `hear` is called with each thing the other side says, `gone` once when it can say no more."""

    def __init__(self, hear: Callable[[Request | Reply], None], gone: Callable[[], None]) -> None:
        self._hear = hear
        self._gone = gone
        self._held = bytearray()
        self._unsaid: list[Request | Reply] = []
        self._due = False  # it will be said in this turn of the loop
        self._transport: asyncio.Transport | None = None
        self._loop = asyncio.get_running_loop()

    async def open(self, end: socket.socket) -> None:
        """Begin to hear and to speak."""
        await self._loop.create_connection(lambda: self, sock=end)

    def say(self, word: Request | Reply) -> None:
        """Say it before long. What is said to a side that is gone is lost; `gone` has told."""
        self._unsaid.append(word)
        if len(self._unsaid) >= AT_ONCE:
            self.flush()
        elif not self._due:
            self._due = True
            self._loop.call_soon(self._say_due)

    def _say_due(self) -> None:
        self._due = False
        self.flush()

    def flush(self) -> None:
        """Say now what was to be said before long."""
        said, self._unsaid = self._unsaid, []
        if said and self._transport is not None and not self._transport.is_closing():
            data = pickle.dumps(said, protocol=pickle.HIGHEST_PROTOCOL)
            self._transport.write(_LENGTH.pack(len(data)) + data)

    def close(self) -> None:
        """Say what is left to say, and no more."""
        self.flush()
        if self._transport is not None:
            self._transport.close()

    # -- what the event loop calls ------------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The socket is there."""
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        """Bytes have come; those that are no whole message yet are kept."""
        held = self._held
        held += data
        while len(held) >= _LENGTH.size:
            end = _LENGTH.size + _LENGTH.unpack_from(held)[0]
            if len(held) < end:
                return
            words = pickle.loads(bytes(held[_LENGTH.size : end]))  # noqa: S301 -- our own process said it
            del held[:end]
            for word in words:
                try:
                    self._hear(word)
                except Exception as error:  # of who listens to models or to the log: it is no reason to hear no more
                    self._loop.call_exception_handler({"message": "what was said is not heard", "exception": error})

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 -- the loop gives it
        """The other side is gone, or we are: then it is told, even if a fork of this process has the socket, too."""
        if self._transport is not None:
            with contextlib.suppress(OSError):
                self._transport.get_extra_info("socket").shutdown(socket.SHUT_RDWR)
        self._gone()
