"""A clock that is set back or ahead: a run waits for no moment twice, and nothing but its own time is counted.

The time in the log never goes back.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time
from datetime import datetime
from pathlib import Path
from typing import cast

import pytest

import openskelo
from openskelo.kernel.json import Json, JsonObject
from openskelo.workflows.project import project_file
from tests.engine import stage

HOUR = 3_600_000_000_000
FLOW = stage.workflow(stage.block("work", retry={"max_attempts": 3}))


class Clock:
    """The system's clock, which may be set back, or ahead (by less than nothing)."""

    def __init__(self) -> None:
        self._real = time.time_ns
        self.behind = 0

    def __call__(self) -> int:
        return self._real() - self.behind


def test_a_retry_comes_in_time_although_the_clock_was_set_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    monkeypatch.setattr(time, "time_ns", clock)

    async def work(ctx: openskelo.Context) -> JsonObject:
        clock.behind = (0, HOUR, 2 * HOUR, 0)[ctx.attempt]
        if ctx.attempt < 3:
            raise openskelo.AttemptFailed("not yet", retry_after_ms=200)
        return {}

    async def story() -> None:
        async with stage.engine(tmp_path, work=work) as engine:
            run_id = await engine.start(FLOW)
            document = await engine.wait(run_id)
            assert (document["ending"], stage.node(document, "work")["attempts"]) == ("ok", 3)
            moments = [cast("str", event["ts"]) async for event in engine.follow(run_id)]
            assert moments == sorted(moments)

    stage.play(story)


def test_a_run_from_the_future_goes_on_at_the_usual_speed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    monkeypatch.setattr(time, "time_ns", clock)
    calls: list[int] = []

    async def work(ctx: openskelo.Context) -> JsonObject:
        calls.append(ctx.attempt)
        if len(calls) < 2:
            raise openskelo.AttemptFailed("not yet", retry_after_ms=400)
        return {}

    async def story() -> None:
        async with stage.engine(tmp_path, work=work) as engine:
            run_id = await engine.start(FLOW)
            while not calls:  # noqa: ASYNC110  whoever is called says no more
                await asyncio.sleep(0.01)
        clock.behind = HOUR
        async with stage.engine(tmp_path, work=work) as engine:
            await engine.resume(run_id)
            assert (await engine.wait(run_id))["ending"] == "ok"

    stage.play(story)
    assert len(calls) == 2


def asking(**approval: Json) -> openskelo.Workflow:
    """One approval, then `work`."""
    review: dict[str, Json] = {
        "id": "review",
        "mode": "approval",
        "outputs": {"approved": "boolean"},
        "approval": {"prompt": "Go on?", **approval},
    }
    return stage.workflow(review, stage.block("work", after=["review"]))


async def nothing(_ctx: openskelo.Context) -> JsonObject:
    return {}


def test_a_run_from_the_future_lets_no_approval_of_another_run_expire(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock()
    monkeypatch.setattr(time, "time_ns", clock)

    async def story() -> None:
        clock.behind = -24 * HOUR
        async with stage.engine(tmp_path, work=nothing) as engine:
            future = await engine.start(asking())
            await engine.wait(future)
        clock.behind = 0
        async with stage.engine(tmp_path, work=nothing) as engine:
            run_id = await engine.start(asking(timeout_sec=3600, on_timeout="approve"))
            await engine.wait(run_id)
            await engine.resume(future)
            (asked,) = stage.approvals(await engine.wait(future))
            await engine.answer(asked["id"], status="approved", by="ann")
            assert (await engine.wait(future))["ending"] == "ok"
            await asyncio.sleep(0.2)  # the driver has looked for expired approvals meanwhile
            document = await engine.show(run_id)
            assert (document["status"], len(stage.approvals(document))) == ("paused", 1)
            moments = [cast("str", event["ts"]) async for event in engine.follow(future)]
            assert moments == sorted(moments)

    stage.play(story)


def test_a_jump_of_the_clock_that_is_corrected_heals_in_the_same_engine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock()
    monkeypatch.setattr(time, "time_ns", clock)

    async def story() -> None:
        async with stage.engine(tmp_path, work=nothing) as engine:
            clock.behind = -24 * HOUR
            await engine.wait(await engine.start(FLOW))
            clock.behind = 0
            run_id = await engine.start(asking(timeout_sec=3600, on_timeout="approve"))
            document = await engine.wait(run_id)
            row = await engine.store.find_run(run_id)
            assert row is not None
            assert abs(row.created_at - time.time_ns() // 1_000_000) < 60_000
            await asyncio.sleep(0.2)
            assert len(stage.approvals(await engine.show(run_id))) == 1
            assert document["status"] == "paused"

    stage.play(story)


def test_the_deadline_of_an_approval_is_by_the_clock_also_in_a_run_from_the_future(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock()
    monkeypatch.setattr(time, "time_ns", clock)

    async def work(_ctx: openskelo.Context) -> JsonObject:
        await asyncio.sleep(0.05)
        clock.behind = 0  # the clock is corrected while the run goes on
        return {}

    def later(timeout_sec: int) -> openskelo.Workflow:
        review: dict[str, Json] = {
            "id": "review",
            "mode": "approval",
            "after": ["work"],
            "outputs": {"approved": "boolean"},
            "approval": {"prompt": "Go on?", "timeout_sec": timeout_sec, "on_timeout": "approve"},
        }
        return stage.workflow(stage.block("work"), review)

    async def story() -> None:
        async with stage.engine(tmp_path, work=work) as engine:
            clock.behind = -24 * HOUR
            run_id = await engine.start(later(3600))
            (asked,) = stage.approvals(await engine.wait(run_id))
            expires = datetime.fromisoformat(cast("str", asked["expiresAt"])).timestamp()
            assert abs(expires - 3600 - time.time_ns() / 1e9) < 60
            await engine.answer(asked["id"], status="approved", by="ann")
            assert (await engine.wait(run_id))["ending"] == "ok"
            clock.behind = -24 * HOUR
            run_id = await engine.start(later(1))
            async for event in engine.follow(run_id):
                if event["type"] == "approval.resolved":
                    assert cast("JsonObject", event["data"])["by"] == "timer"
            assert (await engine.wait(run_id))["ending"] == "ok"

    stage.play(story)


def wall_ms(document: openskelo.RunDocument) -> float:
    """The wall time that a run has used."""
    return document["budget"]["wallMs"]["used"]


def test_a_clock_that_is_set_ahead_uses_up_no_wall_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    monkeypatch.setattr(time, "time_ns", clock)

    async def work(ctx: openskelo.Context) -> JsonObject:
        await asyncio.sleep(0.3)
        clock.behind = -24 * HOUR
        await asyncio.sleep(0.3)  # the poller sees the new time
        if ctx.attempt < 2:
            raise openskelo.AttemptFailed("again")
        return {}

    async def story() -> None:
        async with stage.engine(tmp_path, work=work) as engine:
            run_id = await engine.start(
                stage.workflow(
                    stage.block("work", retry={"max_attempts": 2}), budgets={"max_wall_ms": HOUR // 1_000_000}
                )
            )
            document = await engine.wait(run_id)
            assert (document["ending"], stage.node(document, "work")["attempts"]) == ("ok", 2)
            assert 900 <= wall_ms(document) < HOUR // 1_000_000
            events = [event async for event in engine.follow(run_id)]
            moments = [cast("str", event["ts"]) for event in events]
            assert moments == sorted(moments)
            (skipped,) = [event for event in events if event["type"] == "run.time_skipped"]
            day = 24 * HOUR // 1_000_000
            assert abs(cast("int", cast("JsonObject", skipped["data"])["skippedMs"]) - day) < 60_000
            assert datetime.fromisoformat(moments[-1]).timestamp() > time.time() + 23 * 3600

    stage.play(story)


def test_wall_time_goes_on_although_the_clock_is_set_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    monkeypatch.setattr(time, "time_ns", clock)

    async def work(_ctx: openskelo.Context) -> JsonObject:
        clock.behind = HOUR
        await asyncio.sleep(0.5)
        return {}

    async def endless(_ctx: openskelo.Context) -> JsonObject:
        clock.behind = 2 * HOUR
        await asyncio.sleep(600)
        return {}

    async def story() -> None:
        async with stage.engine(tmp_path, work=work, endless=endless) as engine:
            document = await engine.wait(await engine.start(FLOW))
            assert (document["ending"], wall_ms(document) >= 500) == ("ok", True)
            flow = stage.workflow(stage.block("endless"), budgets={"max_wall_ms": 300})
            assert (await engine.wait(await engine.start(flow)))["ending"] == "budget_exceeded"

    stage.play(story)


#: `skelo`, in a process whose clock differs by the first argument.
SKELO = """
import sys, time
real, ahead = time.time_ns, int(sys.argv[1])
time.time_ns = lambda: real() + ahead
from openskelo.cli.main import main
sys.exit(main(sys.argv[2:]))
"""
WORK = """
import asyncio, pathlib
async def handler(ctx):
    pathlib.Path(f"began-{ctx.attempt}").touch()
    while not pathlib.Path("go").exists():
        await asyncio.sleep(0.01)
    return {}
"""
PROJECT = {
    "handlers/work.py": WORK,
    "skelo.yaml": "",
    "flow.yaml": """
name: flow
budgets: { max_wall_ms: 3600000 }
blocks: [{ id: work, mode: deterministic, deterministic: { handler: handlers/work.py } }]
""",
}


def skelo(folder: Path, ahead: int, *words: str) -> subprocess.Popen[str]:
    """Start a command in a process whose clock is ahead."""
    return subprocess.Popen(
        [sys.executable, "-c", SKELO, str(ahead), *words], cwd=folder, stdout=subprocess.PIPE, text=True
    )


def kill_at_work(process: subprocess.Popen[str], began: Path) -> None:
    """Kill a process once its attempt has begun."""
    with process:
        while not began.exists():
            assert process.poll() is None
            time.sleep(0.01)
        process.kill()


@pytest.mark.slow
@pytest.mark.parametrize("order", ["resume", "pause"])
def test_processes_with_different_clocks_count_only_the_time_in_which_one_drove_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, order: str
) -> None:
    """The first process dies; the second one's clock is a day ahead; the last one's clock is right again."""
    for name, text in PROJECT.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, "utf-8")
    kill_at_work(skelo(tmp_path, 0, "run", "flow.yaml"), tmp_path / "began-1")
    if order == "resume":
        kill_at_work(skelo(tmp_path, 24 * HOUR, "resume", "last"), tmp_path / "began-2")
    else:
        clock = Clock()
        monkeypatch.setattr(time, "time_ns", clock)
        clock.behind = -24 * HOUR

        async def story() -> None:
            async with await openskelo.Engine.open(project_file.project_at(tmp_path)) as engine:
                (row,) = await engine.store.list_runs()
                assert wall_ms(await engine.show(row.run_id)) < 60_000
                await engine.pause(row.run_id)
                document = await engine.show(row.run_id)
                assert (document["status"], wall_ms(document) < 60_000) == ("paused", True)

        stage.play(story)
    (tmp_path / "go").touch()
    with skelo(tmp_path, 0, "resume", "last", "--json") as process:
        assert process.stdout is not None
        document = json.loads(process.stdout.read())
    assert (process.returncode, document["ending"], wall_ms(document) < 60_000) == (0, "ok", True)
    with skelo(tmp_path, 0, "verify", "last") as process:
        assert process.stdout is not None
        assert "intact and ended" in process.stdout.read()


@pytest.mark.slow
def test_a_run_that_no_process_drove_for_a_day_can_be_cancelled_without_using_a_day(tmp_path: Path) -> None:
    for name, text in PROJECT.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, "utf-8")
    kill_at_work(skelo(tmp_path, 0, "run", "flow.yaml"), tmp_path / "began-1")
    with skelo(tmp_path, 24 * HOUR, "show", "last", "--json") as process:
        assert process.stdout is not None
        document = json.loads(process.stdout.read())
    assert (document["status"], wall_ms(document) < 60_000) == ("running", True)
    with skelo(tmp_path, 24 * HOUR, "cancel", "last"):
        pass
    with skelo(tmp_path, 24 * HOUR, "show", "last", "--json") as process:
        assert process.stdout is not None
        document = json.loads(process.stdout.read())
    assert (document["ending"], wall_ms(document) < 60_000) == ("cancelled", True)
    with skelo(tmp_path, 24 * HOUR, "events", "last") as process:
        assert process.stdout is not None
        assert "the system's clock skipped 24 h, which does not count as wall time" in process.stdout.read()
