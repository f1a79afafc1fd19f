"""The stream: 100 subscribers x 1,000 events/s on loopback, over three processes, and one client that never reads."""

from __future__ import annotations

import asyncio
import contextlib
import math
import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import orjson

import openskelo
from benchmarks import flows, measure, report
from openskelo.kernel.json import JsonObject

SUBSCRIBERS = 100
EVENTS_A_SECOND = 1000
#: Runs of ten steps, so many at a time; what a step and its share of the run's beginning and end tell, in events.
STEPS = 10
AT_ONCE = 5
EVENTS_A_STEP = 9.9
SECONDS = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What one measurement gave: what clients saw, seconds, the server's, and its memory in MB before and at most."""

    seen: dict[str, Any]
    seconds: float
    cpu: float
    before: float
    most: float


def figures(plan: measure.Plan) -> Iterator[report.Figure]:
    """The 99th percentile of how long an event is under way, from the fact's own time to each client; and memory."""
    count = plan.count(SUBSCRIBERS)
    runs = round(EVENTS_A_SECOND * (1 if plan.quick else SECONDS) / EVENTS_A_STEP / STEPS)
    found = [_measured(plan, count, runs) for _ in range(plan.rounds)]
    middle = sorted(found, key=lambda one: one.seen["p99"])[len(found) // 2]
    wrong = sum(one.seen["wrong"] + one.seen["resyncs"] for one in found)
    rate = middle.seen["events"] / middle.seconds
    yield report.Figure(
        name="stream",
        what=f"p99 fan-out to {count} subscribers",
        value=math.inf if wrong else middle.seen["p99"] * 1e3,
        unit="ms",
        bar=250,
        rounds=tuple(one.seen["p99"] * 1e3 for one in found),
        note=f"{rate:.0f} events/s to each, {wrong} lost or out of order, p50 {middle.seen['p50'] * 1e3:.0f} ms, "
        f"{middle.seen['messages'] / middle.seconds:.0f} messages/s to each, "
        f"{middle.cpu / middle.seconds:.0%} of a core",
    )
    growth = [max(one.most - one.before, 0.1) for one in found]
    yield report.Figure(
        name="stream",
        what="  memory that the server takes, one client stuck",
        value=max(growth),
        unit="MB",
        bar=64,
        rounds=tuple(growth),
        note=f"from {middle.before:.0f} MB with all connected",
    )


def _measured(plan: measure.Plan, count: int, runs: int) -> Found:
    with (
        plan.fresh() as folder,
        socket.create_server(("127.0.0.1", 0)) as listening,
        _process("stream_server", str(folder / "data"), str(listening.fileno()), keep=listening) as server,
    ):
        host = f"127.0.0.1:{listening.getsockname()[1]}"
        with _process("stream_clients", host, str(count), str(runs)) as clients:
            _line(clients, "ready")
            before, cpu = _memory(server.pid), _cpu(server.pid)
            started = time.perf_counter()
            most = asyncio.run(_load(folder, runs, server.pid))
            seen = orjson.loads(_line(clients, "{"))
            return Found(
                seen=seen,
                seconds=time.perf_counter() - started,
                cpu=_cpu(server.pid) - cpu,
                before=before,
                most=most,
            )


async def _load(folder: Path, runs: int, server: int) -> float:
    """Runs at the wanted pace; gives the most memory that the server had meanwhile."""
    pace = EVENTS_A_STEP / EVENTS_A_SECOND
    clock = asyncio.get_running_loop().time
    due = clock()

    async def step(ctx: openskelo.Context) -> JsonObject:
        nonlocal due
        due = max(due + pace, clock() - 0.1)
        await asyncio.sleep(due - clock())
        return ctx.inputs

    flow = flows.chain(STEPS)
    most = 0.0
    left = iter(range(runs))
    async with await flows.engine(folder, handlers={"give_back": step}) as engine:

        async def work() -> None:
            nonlocal most
            for _ in left:
                await engine.wait(await engine.start(flow, {"n": 1}))
                most = max(most, _memory(server))

        await asyncio.gather(*(work() for _ in range(AT_ONCE)))
    return most


@contextlib.contextmanager
def _process(name: str, *args: str, keep: socket.socket | None = None) -> Generator[subprocess.Popen[str]]:
    command = [sys.executable, "-m", f"benchmarks.{name}", *args]
    kept = () if keep is None else (keep.fileno(),)
    root = Path(__file__).resolve().parent.parent
    with subprocess.Popen(command, cwd=root, stdout=subprocess.PIPE, text=True, pass_fds=kept) as process:
        try:
            yield process
        finally:
            process.kill()


def _line(process: subprocess.Popen[str], beginning: str) -> str:
    said: IO[str] | None = process.stdout
    line = "" if said is None else said.readline()
    if not line.startswith(beginning):
        raise RuntimeError(f"the clients said {line!r}")
    return line


def _memory(process: int) -> float:
    """What a process holds in memory, in MB."""
    found = re.search(r"VmRSS:\s+(\d+) kB", Path(f"/proc/{process}/status").read_text())
    return 0.0 if found is None else int(found.group(1)) / 1024


def _cpu(process: int) -> float:
    """The processor time that a process has used, in seconds."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
