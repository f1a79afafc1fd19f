"""Runs that wait for one of the worker processes are queued: they have begun no work, and their clients see that."""

from __future__ import annotations

import signal
from pathlib import Path

import httpx
import pytest
import yaml

from openskelo.executors.handlers import project_handler
from openskelo.kernel.json import Json
from tests.server import house
from tests.server.test_serve import served, stop

pytestmark = pytest.mark.slow

RUNS = 40
#: Each run leaves a line when it begins, and ends when there is a file.
HANDLERS = """
import time
from pathlib import Path

def wait(ctx):
    with open("begun.txt", "a") as begun:
        begun.write(f"{ctx.run_id}\\n")
    while not Path("go.txt").exists():
        time.sleep(0.02)
    return {"n": 1}

async def hurry(ctx):
    return {"n": 2}
"""


def workflow(function: str) -> dict[str, Json]:
    block: dict[str, Json] = {
        "id": "wait",
        "mode": "deterministic",
        "outputs": {"n": "integer"},
        "deterministic": {"handler": f"handlers.py:{function}"},
    }
    return {"name": function, "budgets": {"max_wall_ms": 60_000}, "blocks": [block], "outputs": {"n": "wait.n"}}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "skelo.yaml").write_text("name: queued\n")
    (tmp_path / "handlers.py").write_text(HANDLERS)
    for function in ("wait", "hurry"):
        (tmp_path / f"{function}.yaml").write_text(yaml.safe_dump(workflow(function)))
    return tmp_path


def start_all(client: httpx.Client, root: Path) -> list[str]:
    """Start the runs, and return their ids once every worker of one process is busy."""
    run_ids = [house.start(client, "wait.yaml")["id"] for _ in range(RUNS)]
    house.until(client, run_ids[0], lambda _: len(begun(root)) >= project_handler.MOST_WORKERS)
    return run_ids


def begun(root: Path) -> set[str]:
    path = root / "begun.txt"
    return set(path.read_text().split()) if path.exists() else set()


def ids_with_status(client: httpx.Client, status: str) -> set[str]:
    page = client.get("/api/runs", params={"status": status, "limit": 100}).json()
    return {run["id"] for run in page["runs"]}


def fact_types(client: httpx.Client, run_id: str) -> list[str]:
    return [fact["type"] for fact in client.get(f"/api/runs/{run_id}/events?facts=1").json()["facts"]]


def assert_queued(client: httpx.Client, run_ids: set[str]) -> None:
    """They have begun no work."""
    for run_id in run_ids:
        run = client.get(f"/api/runs/{run_id}").json()
        (node,) = run["nodes"].values()
        assert (run["status"], node["status"], run["budget"]["wallMs"]["used"]) == ("queued", "idle", 0)
        assert fact_types(client, run_id) == ["run.created"]


def assert_all_end(client: httpx.Client, run_ids: list[str]) -> None:
    for run_id in run_ids:
        run = house.until(client, run_id, lambda found: found["ending"] is not None)
        assert (run["ending"], run["outputs"]) == ("ok", {"n": 1})
        assert client.get(f"/api/runs/{run_id}/verify").json()["intact"] is True


def test_runs_without_a_free_worker_are_queued_and_begin_in_their_order(root: Path) -> None:
    with served(root) as (_, client):
        run_ids = start_all(client, root)
        working = set(run_ids[: project_handler.MOST_WORKERS])
        assert (begun(root), ids_with_status(client, "running")) == (working, working)
        assert ids_with_status(client, "queued") == set(run_ids) - working
        assert_queued(client, set(run_ids) - working)
        other = house.start(client, "hurry.yaml")["id"]  # needs no worker
        house.until(client, other, lambda run: run["ending"] == "ok")
        (root / "go.txt").touch()
        assert_all_end(client, run_ids)
        told = client.get(f"/api/runs/{run_ids[-1]}/events").json()["events"]
        patches = [event["patch"] for event in told if event["type"] == "run.patch"]
        assert [patch["status"] for patch in patches if "status" in patch] == ["queued", "running", "completed"]


def test_runs_of_several_processes_are_queued_too(root: Path) -> None:
    with served(root, "--processes=2") as (_, client):
        run_ids = start_all(client, root)  # each process has workers of its own; how they share the runs is not fixed
        types = {run_id: fact_types(client, run_id) for run_id in run_ids}
        queued = ids_with_status(client, "queued")
        assert len(queued) >= RUNS - 2 * project_handler.MOST_WORKERS
        assert {run_id: types[run_id] for run_id in queued} == {run_id: ["run.created"] for run_id in queued}
        (root / "go.txt").touch()
        assert_all_end(client, run_ids)


def test_a_queued_run_can_be_cancelled_and_paused(root: Path) -> None:
    with served(root) as (_, client):
        *run_ids, paused, cancelled = start_all(client, root)
        assert client.post(f"/api/runs/{cancelled}/cancel").json()["ending"] == "cancelled"
        assert client.post(f"/api/runs/{paused}/pause").json()["status"] == "paused"
        (root / "go.txt").touch()
        assert_all_end(client, run_ids)
        assert client.post(f"/api/runs/{paused}/resume").status_code == 200
        assert_all_end(client, [paused])
        assert cancelled not in begun(root)


def test_runs_that_were_queued_when_the_server_was_killed_begin_in_the_next_one(root: Path) -> None:
    with served(root) as (process, client):
        run_ids = start_all(client, root)
        assert stop(process, signal.SIGKILL) == -9
    (root / "begun.txt").unlink()
    with served(root) as (_, client):
        house.until(client, run_ids[0], lambda _: len(begun(root)) == project_handler.MOST_WORKERS)
        house.until(client, run_ids[0], lambda _: len(ids_with_status(client, "queued")) == RUNS - len(begun(root)))
        (root / "go.txt").touch()
        assert_all_end(client, run_ids)
