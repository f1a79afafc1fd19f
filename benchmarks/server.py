"""The server with much in its data dir: 10,000 finished runs to list, and 1,000 runs that wait for a person."""

from __future__ import annotations

import asyncio
import contextlib
import json
import signal
import statistics
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Generator, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import httpx

from benchmarks import measure, report
from openskelo.stores import api
from openskelo.stores.sqlite import data_dir as stores_data_dir

FINISHED = 10_000
EVENTS = 50
WAITING = 1_000
_BATCH = 200
_ASKING = """name: asking
blocks:
  - id: ask
    mode: approval
    outputs: { approved: boolean }
    approval: { prompt: "Go on?", timeout_sec: 86400 }
  - id: after
    mode: deterministic
    inputs: { go: { type: boolean, from: ask.approved } }
    outputs: { go: boolean }
    deterministic: { handler: "builtin:pass" }
"""


def figures(plan: measure.Plan) -> Iterator[report.Figure]:
    """Listing, paging and search; memory, listing and answers of runs that wait."""
    with plan.fresh() as folder:
        yield from _finished(folder, plan.count(FINISHED))
    with plan.fresh() as folder:
        yield from _waiting(folder, plan.count(WAITING))


def _finished(folder: Path, count: int) -> Iterator[report.Figure]:
    (folder / "skelo.yaml").write_text("name: many\n")
    asyncio.run(_fill(folder / ".skelo", count))
    with served(folder) as (client, _):
        cursor = client.get("/api/runs", params={"limit": 500}).json()["nextCursor"]
        asked: dict[str, dict[str, Any]] = {
            "listing": {"limit": 50},
            "a page far down": {"limit": 50, "cursor": cursor} if cursor else {"limit": 50},
            "search": {"limit": 50, "q": "number 7"},
            "search in vain": {"limit": 50, "q": "nobody has this"},
            "by status": {"limit": 50, "status": "paused"},
        }
        for what, query in asked.items():
            took = _worst(partial(client.get, "/api/runs", params=query))
            yield _figure(f"{what}, {count} finished runs", took, 100)


async def _fill(data_dir: Path, count: int) -> None:
    store = stores_data_dir.open_store(data_dir)
    line = b'{"data":{"text":"%s"},"type":"attempt.succeeded"}' % (b"x" * 300)
    for first in range(0, count, _BATCH):
        batch: list[api.Append] = []
        for number in range(first, min(count, first + _BATCH)):
            row = api.RunRow(
                run_id=str(uuid.uuid4()),
                name=f"workflow number {number}",
                workflow_hash="sha256:" + "0" * 64,
                status="completed",
                ending="ok",
                created_at=1_700_000_000_000 + number,
                updated_at=1_700_000_000_000 + number,
            )
            batch.append(api.Append(run_id=row.run_id, expected_seq=0, lines=(line,) * EVENTS, row=row))
        await store.append(batch)
    await store.close()


def _waiting(folder: Path, count: int) -> Iterator[report.Figure]:
    (folder / "skelo.yaml").write_text("name: waiting\n")
    (folder / "asking.yaml").write_text(_ASKING)
    with served(folder) as (client, _):
        for _ in range(count):
            client.post("/api/runs", json={"workflow": "asking.yaml"}).raise_for_status()
    with served(folder) as (client, process):
        took = _worst(lambda: client.get("/api/approvals", params={"limit": 500}))
        yield _figure(f"500 of {count} open approvals", took, 100)
        approvals = client.get("/api/approvals", params={"limit": 100}).json()["approvals"]
        times = [_answer(client, one) for one in approvals[: min(50, count)]]
        yield _figure(f"an answer until its run has ended, {count} waiting", max(times), 200)
        yield report.Figure(
            name="server",
            what=f"memory with {count} waiting runs",
            value=_megabytes(process.pid),
            unit="MB",
            bar=300,
        )


def _answer(client: httpx.Client, approval: dict[str, Any]) -> float:
    """Milliseconds from the answer to the end of its run, as a client sees it."""
    started = time.perf_counter()
    client.post(
        f"/api/approvals/{approval['id']}/resolve", json={"resolution": {"status": "approved"}}
    ).raise_for_status()
    while client.get(f"/api/runs/{approval['runId']}").json()["ending"] is None:
        time.sleep(0.002)
    return (time.perf_counter() - started) * 1000


def _figure(what: str, milliseconds: float, bar: float) -> report.Figure:
    return report.Figure(name="server", what=what, value=milliseconds, unit="ms", bar=bar)


def _worst(ask: Callable[[], httpx.Response]) -> float:
    """The 90th percentile of twenty answers, in milliseconds."""
    times: list[float] = []
    for _ in range(20):
        started = time.perf_counter()
        ask().raise_for_status()
        times.append((time.perf_counter() - started) * 1000)
    return statistics.quantiles(times, n=10)[-1]


def _megabytes(pid: int) -> float:
    listed = subprocess.run(["ps", "-o", "rss=", "-p", str(pid)], capture_output=True, text=True, check=True)
    return int(listed.stdout) / 1024


@contextlib.contextmanager
def served(folder: Path) -> Generator[tuple[httpx.Client, subprocess.Popen[str]]]:
    """A client of a server over the project in `folder`, and the server's process."""
    command = [sys.executable, "-m", "openskelo.cli.main", "serve", "--port", "0", "--json"]
    with (folder / "server.log").open("a") as errors:
        process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=errors, text=True)
    assert process.stdout is not None
    try:
        text = ""
        while not text.endswith("}\n"):
            line = process.stdout.readline()
            if not line:
                raise RuntimeError((folder / "server.log").read_text())
            text += line
        document = json.loads(text)
        headers = {"authorization": f"Bearer {document['token']}"}
        with httpx.Client(base_url=document["url"], headers=headers, timeout=60) as client:
            yield client, process
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60)
        process.stdout.close()
