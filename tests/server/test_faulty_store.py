"""A server over a store that fails at every call, by seed: it answers 503 and drives every run to its end."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from pathlib import Path
from random import Random

import httpx
import pytest

from openskelo.engine.drive import driven_run
from openskelo.engine.takeover import supervisor
from openskelo.kernel import commands
from openskelo.stores import api
from openskelo.stores.sqlite import data_dir as sqlite_data_dir
from tests.engine import faulty_store
from tests.server import house


def _until(call: Callable[[], httpx.Response], wanted: Callable[[httpx.Response], bool]) -> httpx.Response:
    """Repeat a request until its answer is as wanted; a store that fails is the server's trouble (503), no defect."""
    end = time.monotonic() + 100
    while time.monotonic() < end:
        answer = call()
        assert answer.status_code < 500 or answer.status_code == 503, answer.text
        if wanted(answer):
            return answer
        time.sleep(0.02)
    raise AssertionError("the answer never was as wanted")


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_runs_end_over_rest_although_the_store_fails_anywhere(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(supervisor, "CHECK_SECONDS", 0.05)
    monkeypatch.setattr(supervisor, "RETRY_SECONDS", 0.1)
    monkeypatch.setenv("W2_PLANTED_KEY", "swordfish-77")
    made: list[faulty_store.FaultyStore] = []

    def open_store(data_dir: Path) -> api.Store:
        store, faulty = faulty_store.wrap(sqlite_data_dir.open_store(data_dir), Random(seed), 0.0)
        made.append(faulty)
        return store

    with house.open_house(tmp_path / "own", open_store=open_store) as home, home.client() as client:
        (faulty,) = made
        faulty.likelihood = 0.05
        for number in range(3):
            key = {"idempotency-key": f"start-{number}"}
            body = {"workflow": "review.yaml"}
            started = _until(lambda: client.post("/api/runs", json=body, headers=key), lambda it: it.is_success)  # noqa: B023
            run_id = started.json()["id"]
            listed = _until(
                lambda: client.get("/api/approvals", params={"runId": run_id}),  # noqa: B023
                lambda it: it.is_success and bool(it.json()["approvals"]),
            )
            (asked,) = listed.json()["approvals"]
            _until(lambda: house.resolve(client, asked["id"]), lambda it: it.status_code in (200, 409))  # noqa: B023
            _until(
                lambda: client.get(f"/api/runs/{run_id}"),  # noqa: B023
                lambda it: it.is_success and it.json()["ending"] == "ok",
            )
        faulty.likelihood = 0.0
        assert client.get("/api/health").json() == {"status": "ok"}
        assert [run["ending"] for run in client.get("/api/runs").json()["runs"]] == ["ok"] * 3
    assert faulty.faults


class _Defect(asyncio.Future[None]):
    """A sender whose command cannot be acknowledged."""

    raised = False

    def done(self) -> bool:
        if self.raised:
            return super().done()
        self.raised = True
        raise RuntimeError("a defect of ours")


def test_a_server_whose_driver_has_died_is_not_well(tmp_path: Path) -> None:
    with house.open_house(tmp_path / "own") as home, home.client() as client:
        run_id = house.start(client)["id"]
        house.asked(client, run_id)

        async def kill() -> None:
            driver = home.engine._driver  # pyright: ignore[reportPrivateUsage] -- no caller can do this
            driven = await home.engine.ownership.take(run_id)  # it may be idle by now
            assert driven is not None
            pause = commands.PauseRun(at=driver.now(), by="ann", reason="operator")
            driven.send(driven_run.QueuedCommand(command=pause, done=_Defect()))
            await driven.wait_for_change()

        home.run(kill())
        assert house.problem(client.get("/api/health")) == (500, "INTERNAL")
        assert house.problem(client.post("/api/runs", json={"workflow": "review.yaml"})) == (500, "INTERNAL")
