"""What a program has started and what has left its group since (`setsid`, a daemon): found and ended with it.

Linux only, where `/proc` tells who started whom. Elsewhere a program is ended with its group and no more.
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

from openskelo.frozen import frozen

#: The variable that a program hands down: it names who is ours where a parent that has ended no longer does.
VARIABLE = "SKELO_PROGRAM"
#: So often it is looked for more at most: those that were found are stopped and start no others.
_LOOKS = 10
#: So many are held at once: each takes a descriptor, and without one nobody can be looked for.
_HELD = 100
_PROC = Path("/proc")


@frozen
class _Process:
    """A process and who it answers to now: when its parent ends, that is another one."""

    pid: int
    parent: int
    born: int

    @property
    def identity(self) -> tuple[int, int]:
        """Its number may be given to another one, but not with the same time of birth."""
        return self.pid, self.born


def new_mark() -> str:
    """A value for `VARIABLE` that no other program has."""
    return uuid.uuid4().hex


def end(child: subprocess.Popen[bytes], mark: str) -> None:
    """Kill whatever `child`, which nobody has waited for yet, has started outside of its group; its group is stopped.

    They are all stopped before the first one is killed (of very many, those that are held at once): nobody starts
    others while they are looked for, and whose parent is whose can be seen until the last one is found.
    """
    if sys.platform != "linux":
        return
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, signal.SIGSTOP)
    known: set[tuple[int, int]] = set()
    held: list[int] = []
    try:
        for look in range(_LOOKS):
            found = [one for one in _descendants(child.pid, mark) if one.identity not in known]
            if not found and look:  # once more than nothing: one may have passed its task on while it was looked for
                break
            for one in found:
                if (handle := _hold(one)) is not None:
                    known.add(one.identity)
                    held.append(handle)
                if len(held) == _HELD:
                    _kill(held)
    finally:
        _kill(held)


def _kill(held: list[int]) -> None:
    """Kill all that are held, and let go of them."""
    while held:
        handle = held.pop()
        _send(handle, signal.SIGKILL)
        os.close(handle)


def _descendants(ancestor: int, mark: str) -> Iterator[_Process]:
    """Those that the ancestor has started, directly or not, or that bear its mark."""
    seen = _processes()
    if ancestor not in seen:
        return
    for one in seen.values():
        if one.pid == ancestor or one.born < seen[ancestor].born:
            continue
        if _is_below(ancestor, one, seen) or _is_marked(one.pid, mark):
            yield one


def _is_below(ancestor: int, one: _Process, seen: Mapping[int, _Process]) -> bool:
    above: _Process | None = one
    for _ in seen:  # a number that was given anew while it was looked must not lead in circles
        if above is None or above.parent == ancestor:
            break
        above = seen.get(above.parent)
    return above is not None and above.parent == ancestor


def _processes() -> dict[int, _Process]:
    """All that can be seen, by their number."""
    with contextlib.suppress(OSError):
        listed = (_read(int(entry.name)) for entry in _PROC.iterdir() if entry.name.isdecimal())
        return {one.pid: one for one in listed if one is not None}
    return {}


def _read(pid: int) -> _Process | None:
    """A process, or None where there is none any more."""
    try:
        told = (_PROC / str(pid) / "stat").read_bytes()
    except OSError:
        return None
    fields = told.rpartition(b")")[2].split()  # its name, in brackets before that, may hold anything
    return _Process(pid=pid, parent=int(fields[1]), born=int(fields[19]))


def _is_marked(pid: int, mark: str) -> bool:
    """Whether it was started with the mark; of another user's process that is not ours to know."""
    try:
        return f"{VARIABLE}={mark}".encode() in (_PROC / str(pid) / "environ").read_bytes()
    except OSError:
        return False


def _hold(one: _Process) -> int | None:
    """Stop it; gives a handle that stays this process's, or None where it has ended or is not ours to stop."""
    try:
        handle = os.pidfd_open(one.pid)
    except (AttributeError, OSError):  # an old kernel; or it is gone
        return None
    now = _read(one.pid)
    if now is not None and now.identity == one.identity and _send(handle, signal.SIGSTOP):
        return handle
    os.close(handle)
    return None


def _send(handle: int, number: signal.Signals) -> bool:
    try:
        signal.pidfd_send_signal(handle, number)
    except OSError:
        return False
    return True
