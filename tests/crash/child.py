"""The process that is killed: `python child.py` forks one engine for each job on its standard input.

It has imported everything beforehand, so that hundreds of real processes can be killed in a short time. A job is a line
of JSON; the answers are `started PID` and, when that process has ended, `ended PID STATUS`.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import traceback
import urllib.request
from pathlib import Path
from random import Random
from typing import Any, TypedDict, cast

import openskelo
from openskelo import errors
from openskelo.engine import local
from openskelo.executors.attempt import performer as attempt_performer
from openskelo.executors.attempt import running_attempt
from openskelo.executors.handlers import project_handler
from openskelo.handlers import http_exchange
from openskelo.handlers.builtin import http_request, transform, write_file
from openskelo.history.run_document import ApprovalDocument, RunDocument
from openskelo.kernel.json import Json
from openskelo.stores import api, guarded
from openskelo.stores.sqlite import data_dir
from openskelo.values.cel import expression
from openskelo.values.schema import validator
from openskelo.workflows import load
from openskelo.workflows.project import project_file
from tests.engine import faulty_store

#: Loaded before the fork.
PRELOADED = (local, project_handler, http_exchange, http_request, transform, write_file, expression, validator)


class Job(TypedDict):
    """Which world to play in, and where to die: at the `count`-th time that the process comes to `point`.

    Points: `before append`, `after append`, `before effect`, `after effect`, `after line` (of the ledger, in the worker
    process), or none. `answers` false leaves questions open and waits at the first one for ever. With `faults`, a seed,
    the store fails now and then.
    """

    root: str
    site: str
    point: str | None
    count: int
    answers: bool
    faults: int | None


class Fuse:
    """Kills this process, as the system would, when it comes to a point for the n-th time."""

    def __init__(self, job: Job) -> None:
        self._point = job["point"]
        self._left = job["count"]

    def at(self, point: str) -> None:
        """The process has come to a point."""
        if point == self._point:
            self._left -= 1
            if self._left == 0:
                os.kill(os.getpid(), signal.SIGKILL)


class CrashingLog:
    """A store that can be cut before and after every append; notes outside of it what was acknowledged."""

    def __init__(self, inner: api.Store, fuse: Fuse, acknowledged: Path) -> None:
        self._inner = inner
        self._fuse = fuse
        self._acknowledged = acknowledged

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    async def append(self, batch: list[api.Append]) -> None:
        """As the inner store does."""
        self._fuse.at("before append")
        await self._inner.append(batch)
        with self._acknowledged.open("ab", buffering=0) as file:
            file.write(b"".join(line + b"\n" for append in batch for line in append.lines))
        with self._acknowledged.with_name("appends").open("a", encoding="utf-8") as file:
            file.write(f"{sum(len(append.lines) for append in batch)}\n")
        self._fuse.at("after append")


class CrashingPerformer(attempt_performer.Performer):
    """A performer that can be cut before and after every attempt's work."""

    fuse: Fuse

    async def perform(self, attempt: running_attempt.RunningAttempt) -> attempt_performer.AttemptResult:
        """As it always does."""
        self.fuse.at("before effect")
        attempted = await super().perform(attempt)
        self.fuse.at("after effect")
        return attempted


async def play(job: Job) -> None:
    """Start the run, or resume the one there is, and answer what is asked until it has ended."""
    root = Path(job["root"])
    project = project_file.project_at(root / "flow.yaml")
    fuse = Fuse(job)
    store = cast("api.Store", CrashingLog(data_dir.open_store(project.data_dir), fuse, root / "acknowledged.jsonl"))
    if job["faults"] is not None:
        store = guarded.guard(faulty_store.wrap(store, Random(job["faults"]), 0.04)[0])
    performer = CrashingPerformer(project=project, blobs=store)
    performer.fuse = fuse
    async with local.Engine(project, store, performer) as engine:
        engine._driver.start()  # pyright: ignore[reportPrivateUsage] -- what `open` does with a performer of its own
        document: RunDocument | None = None
        while document is None or document["ending"] is None:
            try:
                document = await _go_on(engine, job, root)
                for asked in document["approvals"]:
                    await _answer(engine, asked, job)
            except (errors.StoreError, errors.Refused):
                if job["faults"] is None:
                    raise
    (root / "result.json").write_text(json.dumps(document), "utf-8")


async def _go_on(engine: openskelo.Engine, job: Job, root: Path) -> RunDocument:
    rows = await engine.store.list_runs()
    if not rows:
        run_id = await engine.start(load.load(root / "flow.yaml"), {"site": job["site"]})
        return await engine.wait(run_id)
    (row,) = rows
    found = [line + b"\n" async for lines in engine.store.read_events(row.run_id) for line in lines]
    (root / f"found-{os.getpid()}.jsonl").write_bytes(b"".join(found))
    if row.ending is None:
        await engine.resume(row.run_id)
    return await engine.wait(row.run_id)


async def _answer(engine: openskelo.Engine, asked: ApprovalDocument, job: Job) -> None:
    """Say yes, and to what is uncertain say what the outside world knows."""
    if not job["answers"]:
        (Path(job["root"]) / "asked").touch()
        await asyncio.Event().wait()
    approval = asked["id"]
    happened = _happened(asked, job) if asked["kind"] == "uncertain" else None
    if happened is None:
        await engine.answer(approval, status="approved", by="ann")
    else:
        await engine.answer(approval, status="modified", modified_args=happened, by="ann", reason="the ledger says so")


def _happened(asked: ApprovalDocument, job: Job) -> dict[str, Json] | None:
    """The outputs of an effect that was cut, if it happened."""
    if asked["node"] == "pay":
        ledger = Path(job["root"]) / "ledger.jsonl"
        lines = ledger.read_text("utf-8").splitlines() if ledger.exists() else []
        return {"paid": True} if any(json.loads(line)["node"] == "pay" for line in lines) else None
    with urllib.request.urlopen(f"{job['site']}/orders", timeout=60) as answer:
        return {"status": 201} if int(answer.read()) else None


def _fork(job: Job) -> int:
    pid = os.fork()
    if pid:
        return pid
    try:
        errors = os.open(Path(job["root"]) / "stderr", os.O_CREAT | os.O_WRONLY | os.O_APPEND)
        nothing = os.open(os.devnull, os.O_RDWR)
        for target, source in ((0, nothing), (1, nothing), (2, errors)):
            os.dup2(source, target)
        if job["point"] == "after line":
            os.environ["CRASH_AFTER_LINE"] = str(job["count"])
        asyncio.run(play(job))
        os._exit(0)
    except BaseException:
        os.write(2, traceback.format_exc().encode())
        os._exit(1)


def main() -> None:
    """Fork a process for each job, one after the other."""
    pid: int | None = None
    for text in sys.stdin:
        if pid is not None:
            os.waitpid(pid, 0)  # only now may its number belong to another process
        pid = _fork(json.loads(text))
        sys.stdout.write(f"started {pid}\n")
        sys.stdout.flush()
        found = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
        assert found is not None
        status = found.si_status if found.si_code == os.CLD_EXITED else -found.si_status
        sys.stdout.write(f"ended {pid} {status}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
