"""One temporary project with everything its run touches: plays it in a process, kills that, and checks what is left."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import shutil
import signal
import subprocess
import sys
import uuid
from collections.abc import Generator
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

from openskelo.kernel.json import JsonObject
from tests.crash import child
from tests.crash.site import Site

PROJECT = Path(__file__).with_name("project")


class Nursery:
    """Makes the processes that are killed, one at a time."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def start(self, job: child.Job) -> int:
        """Begin to play; gives the process's id."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(job) + "\n")
        self._process.stdin.flush()
        return self._says("started")[0]

    def ended(self, pid: int) -> int:
        """Wait for the end of a process; gives its status, minus a signal's number."""
        while (found := self._says("ended"))[0] != pid:
            pass  # a caller did not wait for an earlier one
        return found[1]

    def _says(self, what: str) -> tuple[int, ...]:
        assert self._process.stdout is not None
        while (line := self._process.stdout.readline().split())[0] != what:
            pass
        return tuple(map(int, line[1:]))


@contextlib.contextmanager
def nursery() -> Generator[Nursery]:
    """A nursery, ended with the block."""
    command = [sys.executable, "-m", "tests.crash.child"]
    root = Path(__file__).parents[2]
    with subprocess.Popen(command, cwd=root, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield Nursery(process)
        finally:
            process.kill()


@dataclass(slots=True)
class World:
    """A copy of the project, and the server it speaks to."""

    root: Path
    site: Site
    nursery: Nursery
    pid: int = 0
    name: str = field(default_factory=lambda: uuid.uuid4().hex)

    @classmethod
    def make(cls, folder: Path, site: Site, nursery: Nursery) -> World:
        """A new one, in which nothing has happened yet."""
        world = cls(folder, site, nursery)
        shutil.copytree(PROJECT, folder, ignore=shutil.ignore_patterns("__pycache__"))
        return world

    def start(
        self, point: str | None = None, count: int = 0, *, answers: bool = True, faults: int | None = None
    ) -> int:
        """Begin to play, up to a point; gives the process's id."""
        job = child.Job(
            root=str(self.root),
            site=self.site.url(self.name),
            point=point,
            count=count,
            answers=answers,
            faults=faults,
        )
        self.pid = self.nursery.start(job)
        return self.pid

    def ended(self) -> bool:
        """Wait for the process; whether it came to its end, or else was killed. Nothing else may happen to it."""
        status = self.nursery.ended(self.pid)
        assert status in (0, -signal.SIGKILL), self.stderr()
        return status == 0

    def play(self, point: str | None = None, count: int = 0, *, faults: int | None = None) -> bool:
        """Play up to a point, or to the end; whether it came to the end."""
        self.start(point, count, faults=faults)
        return self.ended()

    def kill(self) -> bool:
        """Kill the process that was started, if it has not ended by itself; whether it came to its end."""
        os.kill(self.pid, signal.SIGKILL)
        return self.ended()

    def stderr(self) -> str:
        """What the processes had to say."""
        path = self.root / "stderr"
        return path.read_text("utf-8") if path.exists() else ""

    def result(self) -> JsonObject:
        """The run's document, as the process that came to the end saw it."""
        return cast("JsonObject", json.loads((self.root / "result.json").read_text("utf-8")))

    def append_ends(self) -> set[int]:
        """How many lines the record had before the first append and after each one."""
        sizes = map(int, (self.root / "appends").read_text("utf-8").split())
        return set(itertools.accumulate(sizes, initial=0))

    def ledger(self, node: str | None = None) -> list[JsonObject]:
        """The lines that handlers left, of one node or of all."""
        path = self.root / "ledger.jsonl"
        lines = path.read_text("utf-8").splitlines() if path.exists() else []
        found = cast("list[JsonObject]", [json.loads(line) for line in lines])
        return [line for line in found if node is None or line["node"] == node]

    def files(self) -> dict[str, str]:
        """Every file that the run wrote, hidden ones included."""
        return {path.name: path.read_text("utf-8") for path in (self.root / "out").iterdir()}
