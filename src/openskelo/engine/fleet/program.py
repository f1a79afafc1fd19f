"""A mate: `python -m openskelo.engine.fleet.program PID PATH`, which drives the runs that the engine of PID gives it.

PATH is that engine's `sys.path` as JSON, and standard input the socket to it. A mate ends when the socket does.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import sys
from collections.abc import Callable
from typing import assert_never

import orjson

from openskelo import errors
from openskelo.engine import local
from openskelo.engine.fleet import channel
from openskelo.executors import mortal


def main() -> None:
    """Serve until the engine is gone."""
    bind = mortal.bound_to(int(sys.argv[1]))
    if bind is not None:
        bind()
    sys.path[:] = orjson.loads(sys.argv[2])
    asyncio.run(_Mate().serve(socket.socket(fileno=_standard_input())))


def _standard_input() -> int:
    """The socket; whoever reads standard input from now on finds nothing."""
    taken = os.dup(0)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    return taken


class _Driving(local.Engine):
    """An engine whose runs are begun by another one, which also wants to know when they end."""

    async def begin(self, request: channel.Begin) -> None:
        """Begin a run; it is durable then."""
        pin = self._pins.named(request.command.definition, request.definition)
        await self._beginning.begin(pin, request.command, request.run_id)

    def on_end(self, tell: Callable[[str], None]) -> None:
        """Let `tell` know of every run that ends."""
        self._driver.roster.on_end = tell


class _Mate:
    """Does what it hears, each thing in a task of its own, and says what it came to."""

    def __init__(self) -> None:
        self._gone = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        self._engine: _Driving | None = None

    async def serve(self, end: socket.socket) -> None:
        """Until the engine is gone."""
        self._channel = channel.Channel(self._hear, self._gone.set)
        await self._channel.open(end)
        await self._gone.wait()
        for task in tuple(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._engine is not None:
            with contextlib.suppress(errors.StoreError):  # nobody is left to hear of it; the log has every line
                await self._engine.close()

    def _hear(self, word: channel.Request | channel.Reply) -> None:
        if not isinstance(word, channel.Done | channel.Ended):
            task = asyncio.create_task(self._do(word))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _do(self, request: channel.Request) -> None:
        try:
            document = await self._answer(request)
        except Exception as error:  # whoever asked is told, whatever it is
            self._channel.say(channel.Done(number=request.number, error=_sendable(error)))
        else:
            self._channel.say(channel.Done(number=request.number, document=document))

    async def _answer(self, request: channel.Request) -> bytes | None:
        if isinstance(request, channel.Setup):
            kit = channel.unpack(request.packed)
            self._engine = await _Driving.open(kit.project, handlers=kit.handlers, cache=kit.cache)
            self._engine.on_end(self._tell_ended)
            return None
        if self._engine is None:
            raise errors.OpenSkeloError("a mate was asked before it was set up", code="INTERNAL")
        match request:
            case channel.Begin():
                await self._engine.begin(request)
                return None
            case channel.Wait():
                return orjson.dumps(await self._engine.wait(request.run_id))
            case channel.Suspend():
                await self._engine.suspend(by=request.by)
                return None
            case _:
                assert_never(request)

    def _tell_ended(self, run_id: str) -> None:
        self._channel.say(channel.Ended(run_id=run_id))


def _sendable(error: Exception) -> errors.OpenSkeloError:
    """The error as it can be sent: ours as it is, any other as what it says."""
    if isinstance(error, errors.OpenSkeloError):
        return error
    return errors.OpenSkeloError(f"a process that drives runs failed: {error!r}", code="INTERNAL")


if __name__ == "__main__":
    main()
