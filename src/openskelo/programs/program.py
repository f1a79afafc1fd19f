"""Run one program to its end: input and output through files; its process group is killed afterwards."""

from __future__ import annotations

import asyncio
import os
import subprocess
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO

from openskelo import errors
from openskelo.programs import child_process, descendants
from openskelo.structs import field, frozen

#: The only variables of our own environment that a program sees.
_INHERITED = ("PATH", "HOME", "LANG", "LC_ALL", "LC_CTYPE", "TMPDIR", "TZ")
_LOOK_SECONDS = 0.1


@frozen
class Program:
    """A program to run: an argument vector (never a shell), a folder, and bytes for its standard input."""

    argv: tuple[str, ...]
    folder: Path
    stdin: bytes = b""
    environment: Mapping[str, str] = field(default_factory=dict[str, str])
    max_bytes: int = 8 * 1024 * 1024


@frozen
class Finished:
    """The end of a program."""

    #: The exit code, or minus the signal's number.
    status: int
    stdout: bytes
    stderr: bytes


async def run(program: Program, on_start: Callable[[IO[bytes]], None] = lambda _stderr: None) -> Finished:
    """Return how the program ended; raise OSError if it cannot be started, AttemptFailed OUTPUT_TOO_LARGE.

    Files instead of pipes: nothing can block on a full pipe, and a grandchild that keeps one open cannot hold us up.
    Cancelling kills the program and everything it started, also what has left its group since; a program that ends by
    itself may leave such a process behind. `on_start` is called with the file of its standard error, which is closed at
    the end; the caller may read it with `os.pread` only, because the program shares its position.
    """
    with tempfile.TemporaryFile() as stdin, tempfile.TemporaryFile() as stdout, tempfile.TemporaryFile() as stderr:
        stdin.write(program.stdin)
        stdin.flush()
        stdin.seek(0)
        guard, mark = child_process.Guard(), descendants.new_mark()
        try:
            # An argument vector that the project's author wrote; starting it takes a few milliseconds at most.
            child = subprocess.Popen(  # noqa: S603, ASYNC220
                program.argv,
                cwd=program.folder,
                env={**minimal_environment(), **program.environment, descendants.VARIABLE: mark},
                stdin=stdin,
                stdout=stdout,
                stderr=stderr,
                start_new_session=True,
                preexec_fn=guarded(guard),  # noqa: PLW1509 -- makes a few system calls, takes no lock
            )
        except BaseException:
            guard.dismiss()
            raise
        try:
            on_start(stderr)
            await _ended(child, stdout, stderr, program.max_bytes)
        except BaseException:
            descendants.end(child, mark)
            raise
        finally:
            guard.dismiss()
            child_process.end(child)
        return Finished(
            status=child.returncode,
            stdout=_content(stdout, program.max_bytes),
            stderr=_content(stderr, program.max_bytes),
        )


def guarded(guard: child_process.Guard) -> Callable[[], None]:
    """Return what a fresh child calls before it becomes the program: it and its group end with this process."""
    bind = child_process.bound_to(os.getpid())

    def begin() -> None:
        guard.watch(os.getpid())  # it leads a group of its own
        if bind is not None:
            bind()

    return begin


def minimal_environment() -> dict[str, str]:
    """Return what every program gets of our environment: enough to find its interpreter, no keys."""
    return {name: os.environ[name] for name in _INHERITED if name in os.environ}


async def _ended(child: subprocess.Popen[bytes], stdout: IO[bytes], stderr: IO[bytes], max_bytes: int) -> None:
    """Wait for the end, without reaping where the system allows it, and look at the output's size now and then."""
    loop = asyncio.get_running_loop()
    exit_future: asyncio.Future[None] = loop.create_future()
    descriptor = _watch(child.pid)
    if descriptor is not None:
        loop.add_reader(descriptor, lambda: exit_future.done() or exit_future.set_result(None))
    try:
        while not exit_future.done():
            await asyncio.wait({exit_future}, timeout=_LOOK_SECONDS if descriptor is not None else _LOOK_SECONDS / 10)
            if descriptor is None and child.poll() is not None:
                return
            if max(os.fstat(stdout.fileno()).st_size, os.fstat(stderr.fileno()).st_size) > max_bytes:
                raise errors.AttemptFailed(
                    f"the program wrote more than {max_bytes} bytes",
                    code="OUTPUT_TOO_LARGE",
                    retryable=False,
                    happened="unknown",
                )
    finally:
        if descriptor is not None:
            loop.remove_reader(descriptor)
            os.close(descriptor)


def _watch(pid: int) -> int | None:
    """Return a descriptor that becomes readable when the process ends; None on systems without (macOS)."""
    try:
        return os.pidfd_open(pid)
    except (AttributeError, OSError):
        return None


def _content(file: IO[bytes], max_bytes: int) -> bytes:
    file.seek(0)
    return file.read(max_bytes + 1)
