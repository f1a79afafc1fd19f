"""The engine's side of its worker processes.

    call() -> an idle worker, if there is one
           -> a new worker, while there are fewer than `size`
           -> else the call waits; first come, first served

A worker runs one call at a time, and stays. The inputs that the items of a foreach share are sent to a worker with the
first of the items that it runs, not with every one: the cost of a foreach would grow with the square of its list.

A worker that is cancelled, too slow or lost is killed and replaced.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import IO

from openskelo import errors
from openskelo.executors.attempt import running_attempt
from openskelo.executors.processes.worker import CHUNK, Unpacker, pack
from openskelo.programs import child_process, time_limit

_ARGUMENTS = ("-P", "-X", "faulthandler", "-m", "openskelo.executors.processes.worker")
_START_MS = 30_000
_MAX_TRIES = 3


class _WorkerLost(Exception):
    """The worker ended before it answered."""


class _WorkerGone(_WorkerLost):
    """The worker had ended before the call was sent: nothing was run."""


class WorkerProcess:
    """One worker process and the socket to it."""

    def __init__(self, root: Path, write_roots: Sequence[Path]) -> None:
        try:
            self._printed, ours, self._process = _start_process(root, write_roots)
        except OSError as error:
            raise errors.AttemptFailed(
                f"a worker process cannot be started: {error.strerror}", code="WORKER_FAILED"
            ) from error
        self._guard = child_process.Guard()
        self._guard.watch(self._process.pid)
        ours.setblocking(False)
        self._socket = ours
        self._unpacker = Unpacker()
        self._shared_inputs = b""  # what it was sent last
        self._loop = asyncio.get_running_loop()
        self._reply: asyncio.Future[bytes] = self._loop.create_future()  # the first message says that it is ready
        self._loop.add_reader(ours, self._receive)
        self.alive = True

    async def wait_ready(self) -> None:
        """Wait until the process has started; raise AttemptFailed WORKER_FAILED if it does not."""
        try:
            await time_limit.within(_START_MS, self._reply)
        except (_WorkerLost, errors.AttemptFailed) as error:
            raise errors.AttemptFailed(
                f"the worker process did not start ({self.describe_end()})",
                code="WORKER_FAILED",
                hint=self.take_printed()[-500:] or None,
            ) from error

    async def call(self, body: bytes, shared_inputs: bytes) -> bytes:
        """Return the reply to one message; raise _WorkerLost if the process ends first."""
        self._reply = self._loop.create_future()
        if shared_inputs:
            is_known = shared_inputs is self._shared_inputs
            self._shared_inputs = shared_inputs
            body = b'%b,"shared_inputs":%b}' % (body[:-1], b"null" if is_known else shared_inputs)
        try:
            await self._loop.sock_sendall(self._socket, pack(body))
        except OSError as error:
            raise _WorkerGone from error
        return await self._reply

    def take_printed(self) -> str:
        """Return what handlers have printed and logged since the last call of this, and forget it."""
        text = self.read_printed()
        if text:
            self._printed.truncate(0)
            self._printed.seek(0)  # the process shares the position, and goes on at the beginning
        return text

    def read_printed(self) -> str:
        """Return what `take_printed` would return now; of much text only the beginning and the end."""
        descriptor = self._printed.fileno()
        left_out = os.fstat(descriptor).st_size - running_attempt.MAX_LOG_BYTES
        if left_out <= 0:
            return os.pread(descriptor, running_attempt.MAX_LOG_BYTES, 0).decode("utf-8", "replace")
        head = os.pread(descriptor, running_attempt.HEAD_BYTES, 0)
        end = os.pread(descriptor, running_attempt.MAX_LOG_BYTES - len(head), left_out + running_attempt.HEAD_BYTES)
        return (head + running_attempt.cut_mark(left_out) + end).decode("utf-8", "replace")

    def describe_end(self) -> str:
        """Return how the process ended, after killing it if it has not."""
        self.kill()
        return child_process.describe_end(self._process.returncode)

    def kill(self) -> None:
        """Kill the process and everything it has started."""
        if self.alive or self._process.returncode is None:
            self._lose()
            self._guard.dismiss()
            child_process.end(self._process)

    def discard(self) -> None:
        """Kill the process and close its files."""
        self.kill()
        self._printed.close()

    def _receive(self) -> None:
        try:
            data = self._socket.recv(CHUNK)
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
                self._reply.set_exception(_WorkerLost())
                self._reply.exception()  # asyncio complains of an exception that no caller retrieves


def _start_process(root: Path, write_roots: Sequence[Path]) -> tuple[IO[bytes], socket.socket, subprocess.Popen[bytes]]:
    """Start a worker; return the file that it prints to, our end of its socket, and the process (OSError)."""
    with contextlib.ExitStack() as undo:
        printed_output: IO[bytes] = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115 -- lives as long as the process
        undo.callback(printed_output.close)
        ours, child_end = socket.socketpair()
        undo.callback(ours.close)
        with child_end:
            process = subprocess.Popen(  # noqa: S603 -- our own interpreter
                [sys.executable, *_ARGUMENTS, str(root), str(os.getpid()), *map(str, write_roots)],
                cwd=root,
                stdin=child_end.fileno(),
                stdout=printed_output,
                stderr=printed_output,
                start_new_session=True,
            )
        undo.pop_all()
    return printed_output, ours, process


class WorkerPool:
    """Workers of one project: up to `size`, each started when a call finds none idle."""

    def __init__(self, root: Path, write_roots: Sequence[Path] = (), *, size: int) -> None:
        self._root = root
        self._write_roots = write_roots
        self._slots = asyncio.Semaphore(size)  # each call takes one; calls wait for it in their order
        self._idle: list[WorkerProcess] = []
        self._busy: set[WorkerProcess] = set()

    async def call(
        self,
        body: bytes,
        timeout_ms: int | None,
        attempt: running_attempt.RunningAttempt,
        shared_inputs: bytes = b"",
    ) -> bytes:
        """Return the reply of a worker; what handlers print and log goes to the lines of `attempt`.

        The inputs in `shared_inputs`, a JSON object, are added to those in `body`. They are only sent to a worker that
        has not the same bytes object from its last call.
        Raise AttemptFailed TIMEOUT, HANDLER_EXITED or WORKER_FAILED. The time limit counts from when a worker takes the
        call; the time without a worker is added to the attempt's wait. A worker that is cancelled or too slow is
        killed.
        """
        start_time = time.perf_counter()
        try:
            await self._slots.acquire()
        finally:
            attempt.usage.waited += time.perf_counter() - start_time
        try:
            for _ in range(_MAX_TRIES):
                worker = self._take_idle() or await self._start_worker(attempt)
                try:
                    return await self._call(worker, body, timeout_ms, attempt, shared_inputs)
                except _WorkerGone:
                    continue  # it was killed from outside while it was idle
                except _WorkerLost as error:
                    message = f"the handler's process ended during the call ({worker.describe_end()})"
                    raise errors.AttemptFailed(message, code="HANDLER_EXITED", happened="unknown") from error
            raise errors.AttemptFailed("worker processes end as soon as they start", code="WORKER_FAILED")
        finally:
            self._slots.release()

    async def close(self) -> None:
        """Kill every worker."""
        while self._idle:
            self._idle.pop().discard()
        for worker in self._busy:
            worker.kill()

    async def _call(
        self,
        worker: WorkerProcess,
        body: bytes,
        timeout_ms: int | None,
        attempt: running_attempt.RunningAttempt,
        shared_inputs: bytes,
    ) -> bytes:
        self._busy.add(worker)
        attempt.read_printed = worker.read_printed
        try:
            # Waiting for a reply never refuses to stop, so it needs no task of its own as in `time_limit.within`.
            async with asyncio.timeout(None if timeout_ms is None else timeout_ms / 1000):
                return await worker.call(body, shared_inputs)
        except TimeoutError:
            worker.kill()
            raise time_limit.stopped(timeout_ms) from None
        except BaseException:
            worker.kill()
            raise
        finally:
            self._busy.discard(worker)
            attempt.lines.extend(worker.take_printed().splitlines())
            attempt.read_printed = lambda: ""
            if worker.alive:
                self._idle.append(worker)
            else:
                worker.discard()

    def _take_idle(self) -> WorkerProcess | None:
        while self._idle:
            worker = self._idle.pop()
            if worker.alive:
                return worker
            worker.discard()  # it was lost while it was idle
        return None

    async def _start_worker(self, attempt: running_attempt.RunningAttempt) -> WorkerProcess:
        """Return a new worker (AttemptFailed WORKER_FAILED); the time until it is ready is no work of the attempt."""
        start_time = time.perf_counter()
        worker = WorkerProcess(self._root, self._write_roots)
        try:
            await worker.wait_ready()
        except BaseException:
            worker.discard()
            raise
        finally:
            attempt.usage.waited += time.perf_counter() - start_time
        return worker
