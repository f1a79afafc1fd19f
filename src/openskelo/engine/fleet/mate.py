"""One mate as its engine sees it: a process that can be asked, until it is lost."""

from __future__ import annotations

import asyncio
import itertools
import json
import logging
import os
import socket
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from typing import cast

from openskelo import errors
from openskelo.engine import pinning, roster
from openskelo.engine.fleet import channel
from openskelo.executors import mortal, task
from openskelo.kernel import commands

#: The path comes first: it may be what leads to us.
_PROGRAM = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[2]); "
    "from openskelo.engine.fleet import program; program.main(int(sys.argv[1]))"
)
_START_SECONDS = 60.0
#: How long one may take to end by itself: it cuts its work and writes what it owes.
_END_SECONDS = 30.0
#: One that says nothing for so long, while its runs are to stop, hangs. It may take longer to stop them: work with
#: effects that must not be cut is finished, but whoever waits for that hears.
HANGS_SECONDS = 30.0
#: How often it is asked then whether it hears.
LOOK_SECONDS = 1.0
_LOG = logging.getLogger("openskelo.fleet")


class Lost(Exception):
    """A mate ended before it answered."""


class Mate:
    """One process, the socket to it, and the `runs` that it has begun for us and still drives.

    `overhear` hears what models say there.
    """

    def __init__(self, overhear: Callable[[task.Task, str], None]) -> None:
        self._overhear = overhear
        self.runs: set[str] = set()
        self.ended: dict[str, None] = {}  # those of them that have ended there not long ago
        self.alive = True
        self.began = time.monotonic()
        self._number = itertools.count(1).__next__  # of the next request
        self._asked: dict[int, asyncio.Future[bytes | None]] = {}
        self._gone = asyncio.Event()
        self._loop = asyncio.get_running_loop()

    async def start(self, packed: bytes) -> None:
        """Wait until it is ready (OpenSkeloError ENGINE_PROCESSES, or what kept it from opening its engine).

        `packed` is what its engine is opened with.
        """
        self._channel = channel.Channel(self._hear, self._lose)
        ours = self._launch()
        try:
            await self._channel.open(ours)
            async with asyncio.timeout(_START_SECONDS):
                await self._ask(channel.Setup(self._number(), packed))
        except BaseException as error:
            self._channel.close()
            if isinstance(error, Lost):  # it ends by itself: how says why
                await self.end()
            else:  # it has nothing to write yet
                mortal.end(self._process)
            if isinstance(error, Lost | TimeoutError):
                why = self.ending if isinstance(error, Lost) else f"it was not ready after {_START_SECONDS:.0f} s"
                raise errors.OpenSkeloError(
                    f"another process did not start ({why})", code="ENGINE_PROCESSES"
                ) from error
            raise

    def _launch(self) -> socket.socket:
        """Start its process; gives our end of the socket to it."""
        try:
            ours, theirs = socket.socketpair()
        except OSError as error:
            raise _not_started(error) from error
        entries = cast("list[object]", sys.path)  # Python skips what is no text
        path = json.dumps([entry for entry in entries if isinstance(entry, str)])
        try:
            self._process = subprocess.Popen(  # noqa: S603 -- our own interpreter
                [sys.executable, "-P", "-c", _PROGRAM, str(os.getpid()), path],
                stdin=theirs.fileno(),
                start_new_session=True,
            )
        except OSError as error:
            ours.close()
            raise _not_started(error) from error
        finally:
            theirs.close()
        return ours

    def begin(self, pin: pinning.Pin, command: commands.CreateRun, run_id: str) -> Awaitable[object]:
        """The run is durable, and driven there (Lost; OpenSkeloError: nothing was begun)."""
        self.runs.add(run_id)  # until it says that it does not drive it
        return self._ask(channel.Begin(self._number(), run_id, command, pin.data))

    def wait(self, run_id: str) -> Awaitable[bytes | None]:
        """The document of a run that it drives, as `Engine.wait` gives it, in JSON (Lost)."""
        return self._ask(channel.Wait(self._number(), run_id))

    async def keep(self) -> None:
        """Let it keep the runs of the data dir going, too (Lost)."""
        await self._ask(channel.Keep(self._number()))

    async def suspend(self, by: str) -> None:
        """Stop its runs cleanly (Lost, also when it hangs: it is ended then)."""
        asked = self._ask(channel.Suspend(self._number(), by))
        suspended = asyncio.create_task(asked, name="skelo-mate-suspend")
        try:
            while not (await asyncio.wait([suspended], timeout=LOOK_SECONDS))[0]:
                await self._end_if_hanging()
            await suspended
        finally:
            suspended.cancel()

    async def _end_if_hanging(self) -> None:
        try:
            async with asyncio.timeout(HANGS_SECONDS):
                await self._ask(channel.Hello(self._number()))
        except TimeoutError:
            _LOG.warning("a process that drives %d runs has not answered for %g s", len(self.runs), HANGS_SECONDS)
            await asyncio.to_thread(mortal.end, self._process)
            await self.lost()

    async def end(self) -> None:
        """Let it end, or end it where it takes too long."""
        self._channel.close()
        try:
            await asyncio.to_thread(self._process.wait, _END_SECONDS)
        except subprocess.TimeoutExpired:
            mortal.end(self._process)
        except BaseException:
            mortal.end(self._process)
            raise

    @property
    def ending(self) -> str:
        """How its process ended."""
        return mortal.describe_end(self._process.returncode)

    async def lost(self) -> None:
        """Wait until it can be asked no more."""
        await self._gone.wait()

    async def _ask(self, request: channel.Asked) -> bytes | None:
        if not self.alive:
            raise Lost
        answer = self._asked[request.number] = self._loop.create_future()
        self._channel.say(request)
        try:
            return await answer
        except asyncio.CancelledError:
            self._asked.pop(request.number, None)
            self._channel.say(channel.Forget(request.number))
            raise

    def _hear(self, word: channel.Request | channel.Reply) -> None:
        match word:
            case channel.Done():
                asked = self._asked.pop(word.number, None)
                if asked is None or asked.done():
                    return  # nobody waits for it any more
                if word.error is None:
                    asked.set_result(word.document)
                else:
                    asked.set_exception(word.error)
            case channel.Left():
                self._leave(word.run_id, ended=word.ended)
            case channel.Said():
                self._overhear(word.of, word.text)
            case channel.Logged():
                record = logging.makeLogRecord(dict(word.record))
                logger = logging.getLogger(record.name)
                if logger.isEnabledFor(record.levelno):
                    logger.handle(record)
            case _:
                pass

    def _leave(self, run_id: str, *, ended: bool) -> None:
        self.runs.discard(run_id)
        if ended:
            self.ended[run_id] = None
        if len(self.ended) > roster.REMEMBERED_SMALL:
            del self.ended[next(iter(self.ended))]

    def _lose(self) -> None:
        self.alive = False
        self._gone.set()
        for asked in self._asked.values():
            if not asked.done():
                asked.set_exception(Lost())
        self._asked.clear()


def _not_started(error: OSError) -> errors.OpenSkeloError:
    return errors.OpenSkeloError(f"another process cannot be started: {error.strerror}", code="ENGINE_PROCESSES")
