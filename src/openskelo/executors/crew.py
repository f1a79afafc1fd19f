"""The engine's side of its worker processes: a few, kept warm, one call at a time each, replaced when lost."""

from __future__ import annotations

import asyncio
import os
import select
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import IO

from openskelo import errors
from openskelo.executors import frames, limit, mortal

_PROGRAM = "openskelo.executors.worker"
_START_MS = 30_000
_TRIES = 3
_NOISE_BYTES = 256 * 1024
#: A reply that is there so soon is looked for again and again: to sleep and be woken takes half as long as the call.
_LOOK_SECONDS = 0.00015 if (os.cpu_count() or 1) > 1 else 0.0
#: So much longer it is waited for without a trip round the event loop, which takes half as long again.
_WAIT_SECONDS = 0.00015


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
        self._guard = mortal.Guard(self._process)
        ours.setblocking(False)
        self._socket = ours
        self._unpacker = frames.Unpacker()
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
        until = time.perf_counter() + _LOOK_SECONDS
        while not self._reply.done() and self.alive and time.perf_counter() < until:
            self._receive()
        if not self._reply.done() and self.alive and select.select((self._socket,), (), (), _WAIT_SECONDS)[0]:
            self._receive()

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
    """At most `size` workers, started when needed."""

    def __init__(self, root: Path, size: int) -> None:
        self._root = root
        self._room = asyncio.Semaphore(size)
        self._idle: list[Worker] = []
        self._busy: set[Worker] = set()

    async def call(self, body: bytes, timeout_ms: int | None, lines: list[str]) -> bytes:
        """The reply of a worker; what handlers printed goes to `lines`. AttemptFailed TIMEOUT, HANDLER_EXITED.

        The limit counts from when a worker takes the call. A worker that is cancelled or too slow is killed.
        """
        async with self._room:
            for _ in range(_TRIES):
                worker = await self._take()
                try:
                    return await self._ask(worker, body, timeout_ms, lines)
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
                self._idle.append(worker)
            else:
                worker.discard()

    async def close(self) -> None:
        """End every worker."""
        while self._idle:
            self._idle.pop().discard()
        for worker in self._busy:
            worker.end()

    async def _take(self) -> Worker:
        while self._idle:
            worker = self._idle.pop()
            if worker.alive:
                return worker
            worker.discard()  # it was lost while it had nothing to do
        worker = Worker(self._root)
        try:
            await worker.ready()
        except BaseException:
            worker.discard()
            raise
        return worker
