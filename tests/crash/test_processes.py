"""Processes beside the one that drives: commands posted to it, workers under it, and what its death leaves running."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import cast

import pytest

import openskelo
from openskelo.engine import local
from openskelo.engine.commands import command_codec
from openskelo.engine.commands.input_checks import Answer
from openskelo.kernel.json import Json, JsonObject
from openskelo.stores.sqlite import data_dir
from openskelo.workflows.project import project_file
from tests.crash import witness
from tests.crash.world import World
from tests.engine import stage

NewWorld = Callable[[], World]
#: How long anything may take on a busy machine before it counts as never.
PATIENCE = 60.0


def until(true: Callable[[], bool]) -> None:
    """Wait for something that another process does."""
    end = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < end, "it never came true"
        time.sleep(0.01)


def is_running(pid: int) -> bool:
    """Whether a process runs; one that has ended and was not waited for does not."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    stat = Path(f"/proc/{pid}/stat")
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        return stat.read_text("utf-8").rpartition(")")[2].split()[0] not in "ZX"
    return not Path("/proc/self/stat").exists()


def post(world: World) -> str:
    """Post an answer to the open question, as another process does; gives the question's id."""

    async def answer() -> str:
        store = data_dir.open_store(world.root / ".skelo")
        try:
            (asked,) = await store.list_approvals()
            assert not await store.claim_run(asked.run_id)
            given = Answer(status="approved", by="bob")
            await store.queue_command(asked.run_id, command_codec.encode_answer(asked.approval_id, given))
            return asked.approval_id
        finally:
            await store.close()

    return asyncio.run(answer())


def answers(events: list[JsonObject], approval_id: str) -> list[Json]:
    """Who answered a question."""
    data = [cast("JsonObject", event["data"]) for event in events if event["type"] == "approval.resolved"]
    return [fact["by"] for fact in data if fact["approvalId"] == approval_id]


def test_a_command_that_its_driver_did_not_live_to_take_is_carried_out_later(new_world: NewWorld) -> None:
    world = new_world()
    pid = world.start(answers=False)
    until((world.root / "asked").exists)
    os.kill(pid, signal.SIGSTOP)  # it cannot take what is posted now
    asked = post(world)
    assert not world.kill()
    assert world.play()
    assert answers(witness.confirm(world), asked) == ["bob"]


@pytest.mark.parametrize("point", ["before append", "after append"])
def test_a_command_is_carried_out_once_when_its_driver_dies_over_it(new_world: NewWorld, point: str) -> None:
    world = new_world()
    pid = world.start(answers=False)
    until((world.root / "asked").exists)
    os.kill(pid, signal.SIGSTOP)
    asked = post(world)
    assert not world.kill()
    # Its recovery takes two appends at most until the command is consumed: die at each.
    for count in (1, 2):
        world.play(point, count)
    assert world.play()
    assert answers(witness.confirm(world), asked) == ["bob"]


def test_whoever_posts_to_a_driver_that_dies_drives_on(new_world: NewWorld) -> None:
    world = new_world()
    pid = world.start(answers=False)
    until((world.root / "asked").exists)
    os.kill(pid, signal.SIGSTOP)

    async def story() -> str:
        async with await local.Engine.open(project_file.project_at(world.root / "flow.yaml")) as engine:
            (asked,) = await engine.store.list_approvals()
            posting = asyncio.create_task(engine.answer(asked.approval_id, status="approved", by="bob"))
            while not await engine.store.list_commands([asked.run_id]):  # noqa: ASYNC110 -- others write there
                await asyncio.sleep(0.01)
            os.kill(pid, signal.SIGKILL)
            await posting
            assert await engine.store.is_driver_alive(asked.run_id)
            (pay,) = stage.approvals(await engine.wait(asked.run_id))
            assert pay["node"] == "pay"
            return asked.approval_id

    asked = stage.play(story)
    assert not world.ended()
    assert world.play()
    assert answers(witness.confirm(world), asked) == ["bob"]


def test_no_worker_outlives_a_killed_engine(new_world: NewWorld) -> None:
    world = new_world()
    assert not world.play("after line", 5)
    workers = {cast("int", line["pid"]) for line in world.ledger()}
    assert workers
    until(lambda: not any(map(is_running, workers)))


PROGRAM = """#!/bin/sh
echo $$ > pid.new
mv pid.new pid
exec sleep 1000
"""
FOREVER = """
name: forever
inputs: { site: string }
blocks: [{ id: it, mode: deterministic, deterministic: { handler: handlers/forever.sh } }]
"""


def test_no_program_outlives_a_killed_engine(new_world: NewWorld) -> None:
    world = new_world()
    program = world.root / "handlers" / "forever.sh"
    program.write_text(PROGRAM, "utf-8")
    program.chmod(0o755)
    (world.root / "flow.yaml").write_text(FOREVER, "utf-8")
    world.start()
    until((world.root / "pid").exists)
    pid = int((world.root / "pid").read_text("utf-8"))
    assert is_running(pid)
    assert not world.kill()
    until(lambda: not is_running(pid))


HANDLER = """
import os, pathlib, signal

def handler(ctx):
    trace = pathlib.Path("trace")
    first = not trace.exists()
    with trace.open("a") as file:
        print(os.getpid(), ctx.idempotency_key, file=file)
    if first:
        signal.pause()
    return {"n": 1}
"""


def test_a_worker_that_is_killed_under_the_engine_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "handlers").mkdir()
    (tmp_path / "handlers" / "it.py").write_text(HANDLER, "utf-8")
    trace = tmp_path / "trace"
    block = stage.block(
        "it", deterministic={"handler": "handlers/it.py"}, mode="deterministic", outputs={"n": "integer"}
    )
    flow = openskelo.from_document({"name": "it", "blocks": [{**block, "retry": {"max_attempts": 2}}]}, root=tmp_path)

    async def story() -> None:
        async with stage.engine(tmp_path) as engine:
            run_id = await engine.start(flow)
            await asyncio.to_thread(until, lambda: trace.exists() and trace.read_bytes().endswith(b"\n"))
            os.kill(int(trace.read_text("utf-8").split()[0]), signal.SIGKILL)
            document = await engine.wait(run_id)
            assert (document["ending"], document["outputs"]) == ("ok", {"n": 1})
            assert stage.node(document, "it")["attempts"] == 2
            events = [event async for event in engine.follow(run_id)]
            failed = [cast("JsonObject", event["data"]) for event in events if event["type"] == "attempt.failed"]
            assert [cast("JsonObject", fact["error"])["code"] for fact in failed] == ["HANDLER_EXITED"]

    stage.play(story)
    calls = [line.split() for line in trace.read_text("utf-8").splitlines()]
    assert len({pid for pid, _ in calls}) == 2
    assert len({key for _, key in calls}) == 1
