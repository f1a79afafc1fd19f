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
    """Kills the group of a child should this process be killed: what the child has started is bound to nobody.

    A shell that reads a pipe until its other end, which only we hold, is gone. `dismiss` it when the child has ended.
    """

    _SCRIPT = 'read -r _; kill -s KILL -- "-$1"'

    def __init__(self, child: subprocess.Popen[bytes]) -> None:
        self._shell: subprocess.Popen[bytes] | None = None
        with contextlib.suppress(OSError):  # no shell here, or no process left: then only the child itself is bound
            self._shell = subprocess.Popen(  # noqa: S603 -- our own words
                ["/bin/sh", "-c", self._SCRIPT, "guard", str(child.pid)],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )

    def dismiss(self) -> None:
        """Watch no longer; harmless when it was dismissed before."""
        if self._shell is not None and self._shell.stdin is not None:
            self._shell.kill()
            self._shell.wait()
            self._shell.stdin.close()
            self._shell = None


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
