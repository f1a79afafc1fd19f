"""A real `skelo serve` beside other processes on its data dir: numbers, webhooks, logs, retention, waiting runs."""

from __future__ import annotations

import asyncio
import json
import signal
import time
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

import openskelo
from openskelo.stores import delivery_queue
from tests.engine import stage
from tests.server import receiver
from tests.server.test_serve import root, served, skelo, stop

__all__ = ["root"]  # the fixture

pytestmark = pytest.mark.slow


def hooked(root: Path, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOOK", "a-long-random-text")
    (root / "skelo.yaml").write_text(
        "name: served\nallow: {private_addresses: true}\nsecrets: {HOOK: '${env:HOOK}'}\n"
        f"webhooks: [{{url: '{url}', secret: '${{secret:HOOK}}'}}]\n"
    )


def numbers(client: httpx.Client) -> dict[str, float]:
    answered = client.get("/metrics")
    assert (answered.status_code, answered.headers["content-type"]) == (
        200,
        "text/plain; version=0.0.4; charset=utf-8",
    )
    lines = [line for line in answered.text.splitlines() if not line.startswith("#")]
    return {line.rpartition(" ")[0]: float(line.rpartition(" ")[2]) for line in lines}


def test_what_a_terminal_does_is_told_and_counted_by_the_server(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with receiver.receiving() as to:
        hooked(root, to.url, monkeypatch)
        with served(root) as (process, client):
            until_it_listens(root)
            left = json.loads(skelo(root, "run", "asking.yaml", "--json").stdout)
            assert to.wait(1)[0].document["type"] == "approval.requested"
            found = numbers(client)
            assert found['openskelo_runs{ending="",status="paused"}'] == 1
            assert found['openskelo_webhook_deliveries{hook="http://127.0.0.1",state="dead"}'] == 0
            assert stop(process, signal.SIGKILL) == -9
        answered = skelo(root, "approve", left["approvals"][0]["id"], "--json")  # while no server runs
        assert answered.returncode == 0, answered.stderr
        with served(root):
            assert to.wait(2)[1].document["type"] == "run.ended"
        assert {got.document["runId"] for got in to.got} == {left["runId"]}


def until(true: Callable[[], bool], seconds: float = 100.0) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end
        time.sleep(0.02)


def until_it_listens(root: Path) -> None:
    """Wait until the server has noted where the feed ends: what comes after that is told."""
    until((root / ".skelo" / "webhooks.lock").exists)
    owed = delivery_queue.DeliveryQueue(root / ".skelo")
    try:
        until(lambda: owed.position("webhooks") is not None)
    finally:
        owed.close()


def test_doctor_says_what_webhooks_are_owed(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with receiver.receiving() as to:
        hooked(root, to.url, monkeypatch)
        to.usual = 410
        with served(root) as (_, client):
            until_it_listens(root)
            skelo(root, "run", "asking.yaml")
            to.wait(1)
            until(lambda: numbers(client)['openskelo_webhook_deliveries{hook="http://127.0.0.1",state="dead"}'] == 1)
    (found,) = [
        one for one in json.loads(skelo(root, "doctor", "--json").stdout)["checks"] if one["name"].startswith("webhook")
    ]
    assert (found["name"], found["state"]) == ("webhook http://127.0.0.1", "warn")
    assert "1 were given up" in found["detail"]
    assert "WEBHOOK_GONE" in found["detail"]


def test_numbers_are_for_those_who_may_read(root: Path) -> None:
    made = json.loads(skelo(root, "token", "add", "ann", "--role", "viewer", "--json").stdout)
    with served(root) as (_, client):
        assert client.get("/metrics").status_code == 401
        client.headers["authorization"] = f"Bearer {made['token']}"
        assert "openskelo_feed_lag" in numbers(client)


def test_the_log_on_stderr_is_json_lines(root: Path) -> None:
    (root / "skelo.yaml").write_text(
        "allow: {private_addresses: true}\nwebhooks: [{url: 'http://127.0.0.1:9/', secret: '${env:NOT_SET}'}]\n"
    )
    with served(root, "--log", "json") as (process, _):
        until_it_listens(root)
        skelo(root, "run", "asking.yaml")
        assert process.stderr is not None
        lines = [json.loads(process.stderr.readline())]
        while lines[-1]["logger"] != "openskelo.server.webhooks":
            lines.append(json.loads(process.stderr.readline()))
        process.send_signal(signal.SIGTERM)
        lines += [json.loads(line) for line in process.stderr.read().splitlines()]
        assert process.wait(20) == 0
    (said, *_) = [line for line in lines if line["logger"] == "openskelo.server.webhooks"]
    assert "SECRET_MISSING" in said["message"]
    assert set(said) == {"ts", "level", "logger", "message"}


def test_an_answer_is_not_taken_by_a_server_that_lacks_what_the_run_needs(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The terminal that answers has the secret. The server, which drives the run (`wait` goes on), has not."""
    (root / "skelo.yaml").write_text("secrets: {KEY: '${env:MAIL_KEY}'}\n")
    (root / "steps.py").write_text(
        "import pathlib, time\n\n"
        "def wait(ctx):\n    while not pathlib.Path('go').exists():\n        time.sleep(0.05)\n    return {}\n\n"
        "def send(ctx):\n    return {'sent': ctx.secret('KEY') == 'letter'}\n"
    )
    (root / "sending.yaml").write_text(
        "name: sending\nblocks:\n  - {id: ask, mode: approval, approval: {prompt: Send it?}}\n"
        "  - {id: wait, mode: deterministic, deterministic: {handler: 'steps.py:wait'}}\n"
        "  - {id: send, mode: deterministic, after: [ask], outputs: {sent: boolean},\n"
        "     deterministic: {handler: 'steps.py:send'}}\n"
    )
    monkeypatch.delenv("MAIL_KEY", raising=False)
    with served(root) as (process, client):
        run_id = client.post("/api/runs", json={"workflow": "sending.yaml"}).json()["id"]
        while not (asked := client.get("/api/approvals").json()["approvals"]):
            time.sleep(0.05)
        monkeypatch.setenv("MAIL_KEY", "letter")
        refused = skelo(root, "approve", asked[0]["id"], "--json")
        assert (refused.returncode, json.loads(refused.stdout)["error"]["code"]) == (2, "NEEDS_MISSING")
        assert [one["id"] for one in client.get("/api/approvals").json()["approvals"]] == [asked[0]["id"]]
        process.send_signal(signal.SIGTERM)
        assert process.stderr is not None
        assert f"an answer to run {run_id} is not taken: SECRET_MISSING" in process.stderr.read()
        assert process.wait(20) == 0
    (root / "go").touch()
    done = json.loads(skelo(root, "approve", asked[0]["id"], "--json").stdout)
    assert (done["ending"], done["outputs"]) == ("ok", {"sent": True})


def test_runs_are_pruned_under_a_server_that_runs(root: Path) -> None:
    with served(root) as (_, client):
        run_id = json.loads(skelo(root, "run", "slow.yaml", "--json").stdout)["runId"]
        assert client.get(f"/api/runs/{run_id}").json()["outputs"] == {"n": 5}
        assert skelo(root, "prune", "--keep", "0").returncode == 0
        assert client.get(f"/api/runs/{run_id}/verify").json()["intact"] is True
        for path in ("", "/nodes", "/events", "/receipts", "/verify", "/artifacts"):
            assert client.get(f"/api/runs/{run_id}{path}").status_code < 500, path
        assert client.get("/api/runs").status_code == 200
        assert json.loads(skelo(root, "run", "slow.yaml", "--json").stdout)["ending"] == "ok"


def test_a_server_starts_quickly_over_many_waiting_runs_and_goes_on_with_any_of_them(root: Path) -> None:
    runs = asyncio.run(_waiting(root, 200))
    for run_id in runs[:2]:
        started = time.monotonic()
        with served(root) as (process, client):
            assert time.monotonic() - started < 10
            answered = _answered(root, client, run_id)
            assert numbers(client)["openskelo_approvals_open"] == len(runs) - 1 - runs.index(run_id)
            assert answered["ending"] == "ok"
            assert stop(process, signal.SIGTERM) == 0
    left = json.loads(skelo(root, "approvals", "--json").stdout)["approvals"]
    assert {one["runId"] for one in left} == set(runs[2:])


def _answered(root: Path, client: httpx.Client, run_id: str) -> dict[str, object]:
    approvals = json.loads(skelo(root, "approvals", "--json").stdout)["approvals"]
    (asked,) = [one["id"] for one in approvals if one["runId"] == run_id]
    done = skelo(root, "approve", asked, "--json")
    assert done.returncode == 0, done.stderr
    until(lambda: client.get(f"/api/runs/{run_id}").json().get("ending") is not None)
    return client.get(f"/api/runs/{run_id}").json()


async def _waiting(root: Path, count: int) -> list[str]:
    workflow = openskelo.load(root / "asking.yaml")
    async with stage.open_engine(root) as engine:
        runs = [await engine.start(workflow) for _ in range(count)]
        for run_id in runs:
            await engine.wait(run_id)
    return runs
