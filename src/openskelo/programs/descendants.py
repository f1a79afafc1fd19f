"""Ends the processes that a program has started and that have left its group (`setsid`, a daemon).

Linux only, where `/proc` shows the parent of each process. Elsewhere only the group of a program is ended.

Why not psutil: `docs/adr/0015-coding-agents.md`.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path

from openskelo.structs import frozen

#: The variable that a program hands down: it marks its descendants even after a parent has ended.
VARIABLE = "SKELO_PROGRAM"
#: How many rounds of search there are at most: processes that were found are stopped and start no others.
_LOOKS = 10
#: How many processes are held at once: each takes a descriptor, and a search needs one, too.
_HELD = 100
_PROC = Path("/proc")


@frozen
class _Process:
    """A process and its present parent, which changes when the parent ends."""

    pid: int
    parent: int
    born: int

    @property
    def identity(self) -> tuple[int, int]:
        """Unique: the system may give the number to another process, but not with the same start time."""
        return self.pid, self.born


def new_mark() -> str:
    """Return a value for `VARIABLE` that no other program has."""
    return uuid.uuid4().hex


def end(child: subprocess.Popen[bytes], mark: str) -> None:
    """Kill the processes that `child` has started outside of its group, and stop its group; `child` is not yet reaped.

    All are stopped before the first one is killed (of very many, at most `_HELD`). So none starts others during the
    search, and every parent is visible until the last one is found.
    """
    if sys.platform != "linux":
        return
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, signal.SIGSTOP)
    stopped_processes: set[tuple[int, int]] = set()
    handles: list[int] = []
    try:
        for look in range(_LOOKS):
            processes = [
                process for process in _descendants(child.pid, mark) if process.identity not in stopped_processes
            ]
            if (
                not processes and look
            ):  # the second search that finds nothing: a process may have forked during the first
                break
            for process in processes:
                if (handle := _stop(process)) is not None:
                    stopped_processes.add(process.identity)
                    handles.append(handle)
                if len(handles) == _HELD:
                    _kill(handles)
    finally:
        _kill(handles)


def _kill(handles: list[int]) -> None:
    """Kill the processes of these handles, and close the handles."""
    while handles:
        handle = handles.pop()
        _send(handle, signal.SIGKILL)
        os.close(handle)


def _descendants(ancestor: int, mark: str) -> Iterator[_Process]:
    """Yield the processes that the ancestor has started, directly or not, or that have its mark."""
    all_processes = _list_processes()
    if ancestor not in all_processes:
        return
    for process in all_processes.values():
        if process.pid == ancestor or process.born < all_processes[ancestor].born:
            continue
        if _is_below(ancestor, process, all_processes) or _is_marked(process.pid, mark):
            yield process


def _is_below(ancestor: int, process: _Process, all_processes: Mapping[int, _Process]) -> bool:
    """True if the parents of the process lead to the ancestor."""
    current: _Process | None = process
    for _ in all_processes:  # a process id that was reused during the search must not lead in circles
        if current is None or current.parent == ancestor:
            break
        current = all_processes.get(current.parent)
    return current is not None and current.parent == ancestor


def _list_processes() -> dict[int, _Process]:
    """Return all visible processes by id."""
    with contextlib.suppress(OSError):
        processes = (_read(int(entry.name)) for entry in _PROC.iterdir() if entry.name.isdecimal())
        return {process.pid: process for process in processes if process is not None}
    return {}


def _read(pid: int) -> _Process | None:
    """Return the process with this id, None if it has ended."""
    try:
        line = (_PROC / str(pid) / "stat").read_bytes()
    except OSError:
        return None
    fields = line.rpartition(b")")[2].split()  # the name of the program, in brackets before that, may hold anything
    return _Process(pid=pid, parent=int(fields[1]), born=int(fields[19]))


def _is_marked(pid: int, mark: str) -> bool:
    """True if the process was started with the mark; False for processes of other users, which we may not read."""
    try:
        return f"{VARIABLE}={mark}".encode() in (_PROC / str(pid) / "environ").read_bytes()
    except OSError:
        return False


def _stop(process: _Process) -> int | None:
    """Stop a process and return a handle of it; None if it has ended, or belongs to another user."""
    try:
        handle = os.pidfd_open(process.pid)
    except (AttributeError, OSError):  # an old kernel; or it is gone
        return None
    current = _read(process.pid)
    if current is not None and current.identity == process.identity and _send(handle, signal.SIGSTOP):
        return handle
    os.close(handle)
    return None


def _send(handle: int, number: signal.Signals) -> bool:
    try:
        signal.pidfd_send_signal(handle, number)
    except OSError:
        return False
    return True
