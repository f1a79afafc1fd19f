"""Child processes that die with their parent, and groups of them that are ended as one."""

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
    """What a child of `parent` calls to be killed when that ends, however it ends; None where there is no such thing.

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
    """Kills a group of processes should this process be killed: what a child has started is bound to nobody.

    A shell that is told the group through a pipe, and then reads until the pipe's other end, which only we hold, is
    gone. Start it before the child, which may start others at once, and `dismiss` it when the child has ended.
    """

    _SCRIPT = 'read -r group && { read -r _; kill -s KILL -- "-$group"; }'

    def __init__(self) -> None:
        self._shell: subprocess.Popen[bytes] | None = None
        self._pipe: tuple[int, ...] = ()  # we keep both ends: so nobody who writes is ever told that nobody reads
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
        """Kill this group should we be killed. Takes one system call, so that a fresh fork can name its own."""
        if self._pipe:
            os.write(self._pipe[1], b"%d\n" % group)

    def dismiss(self) -> None:
        """Watch no longer; harmless when it was dismissed before."""
        if self._shell is not None:
            self._shell.kill()
            self._shell.wait()
            self._shell = None
        while self._pipe:
            os.close(self._pipe[0])
            self._pipe = self._pipe[1:]


def end(child: subprocess.Popen[bytes]) -> None:
    """Kill the child's whole group and take its status; harmless when it has ended already.

    The group is killed before the child is reaped: until then its number cannot belong to anybody else.
    """
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, signal.SIGKILL)
    with contextlib.suppress(subprocess.TimeoutExpired):  # stuck in the kernel: it dies when it comes back
        child.wait(_REAP_SECONDS)


def describe_end(status: int | None) -> str:
    """How a process ended, in words: `exit code 3`, `signal SIGSEGV`."""
    if status is None:
        return "unknown status"
    if status >= 0:
        return f"exit code {status}"
    try:
        return f"signal {signal.Signals(-status).name}"
    except ValueError:
        return f"signal {-status}"
