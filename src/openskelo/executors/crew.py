"""The engine's side of its worker processes: a few, kept warm, one call at a time each, replaced when lost.

More are started while calls wait for one, and end when they have nothing to do.
"""

from __future__ import annotations

import asyncio
import os
import select
import socket
import subprocess
import sys
import tempfile
import time
from collections import deque
from pathlib import Path
from typing import IO

from openskelo import errors
from openskelo.executors import frames, job, limit, lookout, mortal

_PROGRAM = "openskelo.executors.worker"
_START_MS = 30_000
_TRIES = 3
_NOISE_BYTES = 256 * 1024
#: A reply that is there so soon is looked for again and again.
_LOOK_SECONDS = 0.00015
#: So much longer it is waited for without a trip round the event loop, which takes half as long again.
_WAIT_SECONDS = 0.00015
#: Calls that still wait after this long are worth another process, which takes about as long to start.
_PATIENCE_SECONDS = 0.2
#: How often it is seen whether there are more than are needed.
_IDLE_SECONDS = 10.0


class _Lost(Exception):
    """The worker ended before it answered."""


class _Gone(_Lost):
    """It had ended before it could be asked: nothing was run."""


class Worker:
    """One process and the socket to it."""

    def __init__(self, root: Path) -> None:
        self._noise: IO[bytes] = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115 -- lives as long as the process
        ours, theirs = socket.socketpair()
        try:
            self._process = subprocess.Popen(  # noqa: S603 -- our own interpreter
                [sys.executable, "-P", "-X", "faulthandler", "-m", _PROGRAM, str(root), str(os.getpid())],
                cwd=root,
                stdin=theirs.fileno(),
                stdout=self._noise,
                stderr=self._noise,
                start_new_session=True,
            )
        except OSError as error:
            self._noise.close()
            ours.close()
            raise errors.AttemptFailed(
                f"a worker process cannot be started: {error.strerror}", code="WORKER_FAILED"
            ) from error
        finally:
            theirs.close()
        self._guard = mortal.Guard()
        self._guard.watch(self._process.pid)
        ours.setblocking(False)
        self._socket = ours
        self._unpacker = frames.Unpacker()
        self._lookout = lookout.Lookout(_LOOK_SECONDS)
        self._loop = asyncio.get_running_loop()
        self._reply: asyncio.Future[bytes] = self._loop.create_future()  # the first message says that it is ready
        self._loop.add_reader(ours, self._receive)
        self.alive = True

    async def ready(self) -> None:
        """Wait until it has started; AttemptFailed WORKER_FAILED when it cannot."""
        try:
            await limit.within(_START_MS, self._reply)
        except (_Lost, errors.AttemptFailed) as error:
            raise errors.AttemptFailed(
                f"the worker process did not start ({self.ending()})",
                code="WORKER_FAILED",
                hint=self.noise()[-500:] or None,
            ) from error

    async def call(self, body: bytes, *, here: bool) -> bytes:
        """The reply to one message; _Lost when the process ends first. With `here`, a quick one is waited for here."""
        self._reply = self._loop.create_future()
        data = frames.pack(body)
        try:
            sent = self._socket.send(data)
            if sent < len(data):
                await self._loop.sock_sendall(self._socket, memoryview(data)[sent:])
        except OSError as error:
            raise _Gone from error
        if here:
            self._wait_here()
        return self._reply.result() if self._reply.done() else await self._reply

    def _wait_here(self) -> None:
        """Give a quick reply its time."""
        if not self._lookout.sees(self._look) and select.select((self._socket,), (), (), _WAIT_SECONDS)[0]:
            self._receive()

    def _look(self) -> bool:
        self._receive()
        return self._reply.done() or not self.alive

    def noise(self) -> str:
        """What was printed since the last look (its end, if it is much)."""
        size = os.fstat(self._noise.fileno()).st_size
        if not size:
            return ""
        text = os.pread(self._noise.fileno(), _NOISE_BYTES, max(0, size - _NOISE_BYTES)).decode("utf-8", "replace")
        self._noise.truncate(0)
        self._noise.seek(0)  # the position is shared: the process goes on at the beginning
        return text

    def ending(self) -> str:
        """How the process ended; ends it if it has not."""
        self.end()
        return mortal.describe_end(self._process.returncode)

    def end(self) -> None:
        """Kill it and everything it started."""
        if self.alive or self._process.returncode is None:
            self._lose()
            self._guard.dismiss()
            mortal.end(self._process)

    def discard(self) -> None:
        """End it and give back what it held."""
        self.end()
        self._noise.close()

    def _receive(self) -> None:
        try:
            data = self._socket.recv(frames.CHUNK)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._lose()
            return
        body = self._unpacker.feed(data)
        if body is not None and not self._reply.done():
            self._reply.set_result(body)

    def _lose(self) -> None:
        if self.alive:
            self.alive = False
            self._loop.remove_reader(self._socket)
            self._socket.close()
            if not self._reply.done():
                self._reply.set_exception(_Lost())
                self._reply.exception()  # nobody may be waiting


class Crew:
    """Workers, started when they are needed: up to `kept`, which stay, and up to `most` while calls wait for one.

    The calls of one run do not keep those of another waiting longer than a call takes: runs are served in turn.
    """

    def __init__(self, root: Path, *, kept: int, most: int) -> None:
        self._root = root
        self._kept = kept
        self._most = most
        self._count = 0  # of all workers, those that are being started among them
        self._idle: list[Worker] = []
        self._busy: set[Worker] = set()
        self._waiting: dict[str, deque[asyncio.Future[Worker | None]]] = {}  # by run
        self._growth: asyncio.TimerHandle | None = None
        self._rest: asyncio.TimerHandle | None = None
        self._hiring: asyncio.Task[None] | None = None

    async def call(self, body: bytes, timeout_ms: int | None, one: job.Job) -> bytes:
        """The reply of a worker; what handlers printed goes to the job's lines. AttemptFailed TIMEOUT, HANDLER_EXITED.

        The limit counts from when a worker takes the call; how long there was none is said to the job. A worker that is
        cancelled or too slow is killed.
        """
        for _ in range(_TRIES):
            worker = self._rested() or await self._found(one)
            try:
                return await self._ask(worker, body, timeout_ms, one.lines)
            except _Gone:
                continue  # the system ended it while it had nothing to do, a moment ago
            except _Lost as error:
                message = f"the handler's process ended during the call ({worker.ending()})"
                raise errors.AttemptFailed(message, code="HANDLER_EXITED", happened="unknown") from error
        raise errors.AttemptFailed("worker processes end as soon as they start", code="WORKER_FAILED")

    async def _ask(self, worker: Worker, body: bytes, timeout_ms: int | None, lines: list[str]) -> bytes:
        self._busy.add(worker)
        try:
            return await limit.within(timeout_ms, worker.call(body, here=len(self._busy) == 1))
        except BaseException:
            worker.end()
            raise
        finally:
            self._busy.discard(worker)
            lines.extend(worker.noise().splitlines())
            if worker.alive:
                self._release(worker)
            else:
                worker.discard()
                self._lost()

    async def close(self) -> None:
        """End every worker."""
        for timer in (self._growth, self._rest):
            if timer is not None:
                timer.cancel()
        if self._hiring is not None:
            self._hiring.cancel()
            await asyncio.wait({self._hiring})
        while self._idle:
            self._idle.pop().discard()
        for worker in self._busy:
            worker.end()

    # -- who works ----------------------------------------------------------------------------------------------------

    def _rested(self) -> Worker | None:
        """A worker that has nothing to do."""
        while self._idle:
            worker = self._idle.pop()
            if worker.alive:
                return worker
            worker.discard()  # it was lost while it had nothing to do
            self._lost()
        return None

    async def _found(self, one: job.Job) -> Worker:
        """A worker, once one is started or has nothing to do any more."""
        begun = time.perf_counter()
        try:
            handed = None if self._count < self._kept else await self._handed(one.task.run_id)
            return handed or await self._started()
        finally:
            one.spent.waited += time.perf_counter() - begun

    async def _handed(self, run_id: str) -> Worker | None:
        """Wait for a worker that somebody else has done with; None when a new one is to be started."""
        turn: asyncio.Future[Worker | None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(run_id, deque()).append(turn)
        self._expect()
        try:
            return await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():  # it was our turn: it is somebody else's now
                worker = turn.result()
                self._pass_on() if worker is None else self._release(worker)
            raise

    def _next(self) -> asyncio.Future[Worker | None] | None:
        """Whose turn it is: the run's that has waited longest since its last one."""
        while self._waiting:
            run_id, turns = next(iter(self._waiting.items()))
            del self._waiting[run_id]
            turn = turns.popleft()
            if turns:
                self._waiting[run_id] = turns
            if not turn.done():
                return turn
        return None

    async def _started(self) -> Worker:
        """A new worker (AttemptFailed WORKER_FAILED)."""
        self._count += 1
        try:
            worker = Worker(self._root)
            try:
                await worker.ready()
            except BaseException:
                worker.discard()
                raise
        except BaseException:
            self._lost()
            raise
        return worker

    def _release(self, worker: Worker) -> None:
        """It has nothing to do: somebody who waits takes it, or it is kept for later."""
        turn = self._next()
        if turn is not None:
            turn.set_result(worker)
            return
        self._idle.append(worker)
        if self._count > self._kept and self._rest is None:
            self._rest = asyncio.get_running_loop().call_later(_IDLE_SECONDS, self._shrink)

    def _lost(self) -> None:
        self._count -= 1
        self._pass_on()

    def _pass_on(self) -> None:
        """Let somebody who waits start a worker, where there are fewer than are kept."""
        if self._count < self._kept and (turn := self._next()) is not None:
            turn.set_result(None)

    # -- how many -----------------------------------------------------------------------------------------------------

    def _expect(self) -> None:
        """Look in a moment whether calls still wait."""
        if self._growth is None and self._count < self._most:
            self._growth = asyncio.get_running_loop().call_later(_PATIENCE_SECONDS, self._grow)

    def _grow(self) -> None:
        self._growth = None
        waiting = sum(map(len, self._waiting.values()))
        more = min(waiting, self._count, self._most - self._count)
        if more > 0 and (self._hiring is None or self._hiring.done()):
            self._hiring = asyncio.create_task(self._hire(more))

    async def _hire(self, more: int) -> None:
        """Start so many at once. Where that fails, those that are there go on, and calls wait for them."""
        await asyncio.gather(*(self._add() for _ in range(more)), return_exceptions=True)
        if self._waiting:
            self._expect()

    async def _add(self) -> None:
        self._release(await self._started())

    def _shrink(self) -> None:
        """End those that nobody needs any more."""
        self._rest = None
        while self._idle and self._count > self._kept:
            self._idle.pop(0).discard()
            self._count -= 1
        if self._count > self._kept:
            self._rest = asyncio.get_running_loop().call_later(_IDLE_SECONDS, self._shrink)
