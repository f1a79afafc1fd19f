"""One agent program under way: its own process group, pipes for the protocol, and its stderr in a file.

The program inherits nothing of our environment. It ends when `end` is called, and also when this process is killed:
the child is bound to its parent, and a guard kills the rest of its group (`programs.child_process`). Processes that
left the group are found by a mark in their environment (`programs.descendants`).
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO

from openskelo import errors
from openskelo.programs import child_process, descendants, program

#: The longest line of the protocol that is read; a longer one breaks the turn.
MAX_LINE_BYTES = 64 * 1024 * 1024
#: How long a program may take to end after its input was closed, and again after SIGTERM.
GRACE_SECONDS = 1.0
_TAIL_BYTES = 2000
#: How much of the stderr of one turn is kept.
_MAX_STDERR_BYTES = 64 * 1024
#: How large the file may be that holds the stderr of all turns; each has kept its part in the record.
_MAX_STDERR_FILE_BYTES = 16 * 1024 * 1024


class AgentProcess:
    """A started program. `reader` and `writer` are its standard output and input."""

    def __init__(self, child: subprocess.Popen[bytes], guard: child_process.Guard, mark: str, stderr: Path) -> None:
        self._child = child
        self._guard = guard
        self._mark = mark
        self._stderr = stderr
        self._transports: list[asyncio.BaseTransport] = []
        self.reader = asyncio.StreamReader(limit=MAX_LINE_BYTES)
        self.writer: asyncio.StreamWriter

    @classmethod
    async def start(
        cls,
        argv: Sequence[str],
        folder: Path,
        environment: Mapping[str, str],
        stderr: Path,
        *,
        ignores_sigterm: bool = False,
    ) -> AgentProcess:
        """Start the program in `folder` with only this environment; raise AttemptFailed AGENT_NOT_STARTED.

        `ignores_sigterm`: the program begins with SIGTERM ignored, and handles it itself where it wants to.
        """
        guard, mark = child_process.Guard(), descendants.new_mark()
        try:
            with stderr.open("ab") as errors_file:
                marked_environment = {**environment, descendants.VARIABLE: mark}
                begin = _ignoring_sigterm(program.guarded(guard)) if ignores_sigterm else program.guarded(guard)
                child = _start(argv, folder, marked_environment, errors_file, begin)
        except OSError as error:
            guard.dismiss()
            raise errors.AttemptFailed(
                f"{argv[0]} cannot be started: {error.strerror or error}",
                code="AGENT_NOT_STARTED",
                hint="correct `command` in skelo.yaml",
                retryable=False,
            ) from error
        process = cls(child, guard, mark, stderr)
        try:
            await process._connect()
        except BaseException:
            process.kill()
            raise
        return process

    async def _connect(self) -> None:
        loop = asyncio.get_running_loop()
        assert self._child.stdin is not None and self._child.stdout is not None  # noqa: S101, PT018 -- both are pipes
        read, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(self.reader), self._child.stdout)
        self._transports.append(read)
        write, protocol = await loop.connect_write_pipe(
            lambda: asyncio.StreamReaderProtocol(asyncio.StreamReader()), self._child.stdin
        )
        self._transports.append(write)
        self.writer = asyncio.StreamWriter(write, protocol, None, loop)

    @property
    def pid(self) -> int:
        """The id of the process, which is also that of its group."""
        return self._child.pid

    @property
    def is_running(self) -> bool:
        """True until the program itself has ended. The program is not reaped, so that its group keeps its number."""
        if self._child.returncode is not None:
            return False
        return os.waitid(os.P_PID, self._child.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None

    def describe_end(self) -> str:
        """Kill what is left of the program; return how it ended, in words, with the last lines of its stderr."""
        self.kill()
        status = child_process.describe_end(self._child.returncode)
        tail = self.stderr_tail()
        return f"{status}; its last words: {tail}" if tail else status

    def stderr_size(self) -> int:
        """Return how many bytes are in the file of the program's stderr."""
        return self._stderr.stat().st_size if self._stderr.exists() else 0

    def read_stderr(self, start: int) -> str:
        """Return what the program has written to stderr since `start`; of much of it the end."""
        end = self.stderr_size()
        begin = max(start, end - _MAX_STDERR_BYTES)
        if end <= start:
            return ""
        with self._stderr.open("rb") as file:
            file.seek(begin)
            text = file.read(end - begin).decode("utf-8", "replace")
        if begin > start:
            return f"… {begin - start} bytes left out …\n{text}"
        return text

    def trim_stderr(self) -> int:
        """Empty the file of the program's stderr if it has become large; return its size. The program appends to it."""
        if self.stderr_size() > _MAX_STDERR_FILE_BYTES:
            os.truncate(self._stderr, 0)
        return self.stderr_size()

    def stderr_tail(self) -> str:
        """Return the last lines that the program has written to stderr."""
        try:
            with self._stderr.open("rb") as file:
                file.seek(max(0, file.seek(0, os.SEEK_END) - _TAIL_BYTES))
                return file.read().decode("utf-8", "replace").strip()
        except OSError:
            return ""

    async def end(self) -> None:
        """End the program: close its input, then SIGTERM, then SIGKILL to everything it has started."""
        with contextlib.suppress(Exception):
            self.writer.close()
        if not await self._has_ended(GRACE_SECONDS):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._child.pid, signal.SIGTERM)
            await self._has_ended(GRACE_SECONDS)
        self.kill()

    async def _has_ended(self, seconds: float) -> bool:
        """Wait at most this long for the end of the program; True if it has ended. It is not reaped."""
        try:
            descriptor = os.pidfd_open(self._child.pid)
        except (AttributeError, OSError):
            await asyncio.sleep(min(seconds, 0.2))
            return not self.is_running
        loop, end_event = asyncio.get_running_loop(), asyncio.Event()
        loop.add_reader(descriptor, end_event.set)
        try:
            async with asyncio.timeout(seconds):
                await end_event.wait()
        except TimeoutError:
            return False
        finally:
            loop.remove_reader(descriptor)
            os.close(descriptor)
        return True

    def kill(self) -> None:
        """Kill the program and everything it has started. Calling it again has no effect."""
        if self._child.returncode is None:
            descendants.end(self._child, self._mark)
        child_process.end(self._child)
        self._guard.dismiss()
        for transport in self._transports:
            transport.close()


def _start(
    argv: Sequence[str],
    folder: Path,
    environment: Mapping[str, str],
    stderr: IO[bytes],
    begin: Callable[[], None],
) -> subprocess.Popen[bytes]:
    return subprocess.Popen(  # noqa: S603 -- an argument vector of the project's author, or our own
        list(argv),
        cwd=folder,
        env=dict(environment),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=stderr,
        start_new_session=True,
        preexec_fn=begin,  # noqa: PLW1509 -- makes a few system calls, takes no lock
    )


def _ignoring_sigterm(begin: Callable[[], None]) -> Callable[[], None]:
    def begin_ignoring() -> None:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        begin()

    return begin_ignoring
