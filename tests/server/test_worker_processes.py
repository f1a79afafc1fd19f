"""`skelo worker`, and the workers of `skelo serve --processes N`: they share runs, and no run is lost with one."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

from tests import forked_skelo
from tests.server import house
from tests.server.test_serve import root, served, skelo, stop

__all__ = ["root"]  # the fixture

pytestmark = pytest.mark.slow

RUNS = 40
HANDLERS = """
import os
import time

def slow(ctx):
    time.sleep(0.05)
    with open("drivers.txt", "a") as seen:  # the parent of a worker process of handlers is the driver
        seen.write(f"{os.getppid()}\\n")
    return {"n": int(ctx.block_id[1:])}
"""


def until(true: Callable[[], object], seconds: float = 100.0) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end
        time.sleep(0.02)


def workers_of(process: forked_skelo.Process) -> list[int]:
    """The ids of the server's `skelo worker` children."""
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    return [int(pid) for pid in children if b"worker" in Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")]


def drivers(root: Path) -> set[int]:
    seen = root / "drivers.txt"
    return {int(line) for line in seen.read_text().split()} if seen.exists() else set()


def start_all(client: httpx.Client) -> list[str]:
    return [house.start(client, "slow.yaml")["id"] for _ in range(RUNS)]


def assert_all_ended(client: httpx.Client, run_ids: list[str]) -> None:
    for run_id in run_ids:
        done = house.until(client, run_id, lambda document: document["ending"] is not None)
        assert (done["ending"], done["outputs"]) == ("ok", {"n": 5})
    assert client.get(f"/api/runs/{run_ids[-1]}/verify").json()["intact"] is True


def test_a_server_and_its_worker_share_the_runs(root: Path) -> None:
    (root / "handlers.py").write_text(HANDLERS)
    with served(root, "--processes=2") as (process, client):
        until(lambda: workers_of(process))
        (worker,) = workers_of(process)
        assert_all_ended(client, start_all(client))
        assert drivers(root) == {process.pid, worker}
        assert stop(process, signal.SIGTERM) == 0
    assert not Path(f"/proc/{worker}").exists()


def test_the_runs_of_a_killed_worker_go_on_and_another_worker_takes_its_place(root: Path) -> None:
    (root / "handlers.py").write_text(HANDLERS)
    with served(root, "--processes=2") as (process, client):
        until(lambda: workers_of(process))
        (worker,) = workers_of(process)
        run_ids = start_all(client)
        until(lambda: worker in drivers(root))
        os.kill(worker, signal.SIGKILL)
        assert_all_ended(client, run_ids)
        until(lambda: workers_of(process))
        assert workers_of(process) != [worker]


def test_workers_end_with_a_server_that_is_killed(root: Path) -> None:
    with served(root, "--processes=3") as (process, _):
        until(lambda: len(workers_of(process)) == 2)
        workers = workers_of(process)
        assert stop(process, signal.SIGKILL) == -9
        until(lambda: not any(Path(f"/proc/{worker}").exists() for worker in workers))


def test_a_worker_goes_on_with_a_run_that_was_left_and_suspends_it_when_stopped(root: Path) -> None:
    with served(root) as (process, client):
        run_id = house.start(client, "slow.yaml")["id"]
        assert stop(process, signal.SIGKILL) == -9
    worker = forked_skelo.start(["worker", "--json"], folder=root)
    assert worker.stdout is not None
    assert json.loads(worker.stdout.read(2) + worker.stdout.readline() + worker.stdout.readline()) == {
        "dataDir": str(root / ".skelo")
    }

    def events() -> list[str]:
        return [json.loads(line)["type"] for line in skelo(root, "events", run_id, "--json").stdout.splitlines()]

    until(lambda: "run.recovered" in events())
    worker.send_signal(signal.SIGTERM)
    assert worker.wait(20) == 0
    worker.communicate()
    shown = json.loads(skelo(root, "show", run_id, "--json").stdout)
    assert shown["status"] in ("paused", "completed")
    if shown["status"] == "paused":
        assert "run.paused" in events()
