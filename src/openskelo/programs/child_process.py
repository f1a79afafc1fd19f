"""Child processes that end with their parent, and process groups that are ended as one.

`python -m openskelo.programs.child_process PID PROGRAM ARG…` binds itself to the process PID and becomes the program:
for children that a library starts for us, such as MCP servers, which cannot bind themselves.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Callable

_PR_SET_PDEATHSIG = 1
_REAP_SECONDS = 5.0


def bound_to(parent: int) -> Callable[[], None] | None:
    """Return a function that a child calls so that the kernel kills it when `parent` ends; None without that support.

    Linux only. Everything is looked up here, so that a fresh fork makes two system calls and nothing else.
    """
    if sys.platform != "linux":
        return None
    import ctypes  # noqa: PLC0415 -- only needed when a process is started

    prctl = ctypes.CDLL(None).prctl

    def bind() -> None:
        prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != parent:  # it ended before we asked
            os._exit(1)

    return bind


class Guard:
    """Kills a group of processes if this process is killed: the kernel binds only the child itself to its parent.

    A shell that is told the group through a pipe, and then reads until the pipe's other end, which only we hold, is
    gone. Start it before the child, which may start others at once, and `dismiss` it when the child has ended.
    """

    _SCRIPT = 'read -r group && { read -r _; kill -s KILL -- "-$group"; }'

    def __init__(self) -> None:
        self._shell: subprocess.Popen[bytes] | None = None
        self._pipe: tuple[int, ...] = ()  # both ends stay open here, so that a write never fails with EPIPE
        with contextlib.suppress(OSError):  # no shell here, or nothing left: then only the child itself is bound
            self._pipe = os.pipe()
            self._shell = subprocess.Popen(  # noqa: S603 -- our own words
                ["/bin/sh", "-c", self._SCRIPT],
                stdin=self._pipe[0],
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )

    def watch(self, group: int) -> None:
        """Kill this group if this process is killed. Makes one system call, so that a fresh fork may call it."""
        if self._pipe:
            os.write(self._pipe[1], b"%d\n" % group)

    def dismiss(self) -> None:
        """Stop watching. Calling it again has no effect."""
        if self._shell is not None:
            self._shell.kill()
            self._shell.wait()
            self._shell = None
        while self._pipe:
            os.close(self._pipe[0])
            self._pipe = self._pipe[1:]


def end(child: subprocess.Popen[bytes]) -> None:
    """Kill the child's whole group and reap the child; harmless if it has already ended.

    The group is killed before the child is reaped: until then its number cannot belong to another process.
    """
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, signal.SIGKILL)
    with contextlib.suppress(subprocess.TimeoutExpired):  # stuck in the kernel: it dies when it comes back
        child.wait(_REAP_SECONDS)


def describe_end(status: int | None) -> str:
    """Return how a process ended, in words: `exit code 3`, `signal SIGSEGV`."""
    if status is None:
        return "unknown status"
    if status >= 0:
        return f"exit code {status}"
    try:
        return f"signal {signal.Signals(-status).name}"
    except ValueError:
        return f"signal {-status}"


def main() -> None:
    """Bind this process to the parent PID, then become the program; exit with 127 if there is no such program."""
    parent, program, *args = sys.argv[1:]
    bind = bound_to(int(parent))
    if bind is not None:
        bind()
    try:
        os.execvp(program, [program, *args])  # noqa: S606 -- an argument vector that the project's author wrote
    except OSError as error:
        sys.stderr.write(f"{program}: {error.strerror}\n")
        sys.exit(127)


if __name__ == "__main__":
    main()
