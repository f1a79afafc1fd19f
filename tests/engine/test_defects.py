"""A defect of our own is told to whoever waits, and nobody waits for ever: whatever a handler does to its task."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from pathlib import Path

import pytest

import openskelo
from openskelo.executors.attempt import performer as attempt_performer
from openskelo.executors.attempt import running_attempt
from openskelo.executors.handlers import invocation
from openskelo.history.run_document import RunDocument
from openskelo.kernel.json import JsonObject
from openskelo.stores import memory
from tests.engine import stage


class Broken(memory.MemoryStore):
    """A store that fails as no store may: not with a StoreError."""

    async def read_blob(self, name: str) -> bytes:
        raise RuntimeError(f"cannot give {name[:6]}")


class Defective(attempt_performer.Performer):
    """A performer that fails as none may: not with an outcome."""

    async def perform(self, attempt: running_attempt.RunningAttempt) -> attempt_performer.AttemptResult:
        raise RuntimeError("cannot perform")


def test_whatever_a_store_raises_is_a_failure_of_the_store(tmp_path: Path) -> None:
    work = stage.block("work", inputs={"text": "string"})

    async def story() -> None:
        async with stage.open_engine(tmp_path, Broken(), work=lambda ctx: {}) as engine:
            run_id = await engine.start(stage.workflow(work), {"text": "x" * 100_000})
            try:
                await engine.wait(run_id)
            finally:
                assert not engine.ownership.has_defect(run_id)

    with pytest.raises(openskelo.StoreError, match="cannot give sha256") as caught:
        stage.play(story)
    assert caught.value.code == "STORE_IO"


def test_a_defect_around_an_attempt_is_told_to_whoever_waits(tmp_path: Path) -> None:
    async def story() -> None:
        project = openskelo.Project(root=tmp_path, data_dir=tmp_path / ".skelo")
        store = memory.MemoryStore()
        handlers: dict[str, invocation.Handler] = {"work": lambda ctx: {}}
        performer = Defective(project=project, blobs=store, local_handlers=handlers)
        async with openskelo.Engine(project, store, performer) as engine:
            engine._driver.start()  # pyright: ignore[reportPrivateUsage] -- what `open` does with its own performer
            run_id = await engine.start(stage.workflow(stage.block("work")))
            try:
                await engine.wait(run_id)
            finally:
                assert engine.ownership.has_defect(run_id)

    with pytest.raises(openskelo.OpenSkeloError, match="cannot perform") as caught:
        stage.play(story)
    assert caught.value.code == "INTERNAL"


def cancel_own_task() -> None:
    own = asyncio.current_task()
    assert own is not None
    own.cancel()


async def cancels_itself(ctx: openskelo.Context) -> JsonObject:
    cancel_own_task()
    await asyncio.sleep(0)
    return {}


async def made_up(ctx: openskelo.Context) -> JsonObject:
    raise GeneratorExit


@pytest.mark.parametrize("fields", [{}, {"timeout_ms": 20_000}])
@pytest.mark.parametrize(
    ("handler", "message"),
    [(cancels_itself, "CancelledError: the handler cancelled its own task"), (made_up, "GeneratorExit")],
)
def test_a_handler_that_ends_its_own_task_has_failed(
    tmp_path: Path, handler: invocation.Handler, message: str, fields: JsonObject
) -> None:
    async def story() -> RunDocument:
        async with stage.engine(tmp_path, work=handler) as engine:
            run_id = await engine.start(stage.workflow(stage.block("work", **fields)), {})
            return await engine.wait(run_id)

    document = stage.play(story)
    assert document["ending"] == "failed"
    assert stage.error(document) == {"code": "HANDLER_RAISED", "message": message, "node": "work"}


async def ends_with_it(ctx: openskelo.Context) -> JsonObject:
    raise GeneratorExit(ctx.secret("K"))


async def says_it(ctx: openskelo.Context) -> JsonObject:
    key = ctx.secret("K")
    raise openskelo.AttemptFailed(key, code=key, hint=key)


@pytest.mark.parametrize(
    ("handler", "error"),
    [
        (ends_with_it, {"code": "HANDLER_RAISED", "message": "GeneratorExit: [secret]", "node": "work"}),
        (says_it, {"code": "[secret]", "message": "[secret] ([secret])", "node": "work"}),
    ],
)
def test_no_secret_of_a_failure_reaches_the_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, handler: invocation.Handler, error: JsonObject
) -> None:
    monkeypatch.setenv("MY_KEY", "swordfish")
    project = openskelo.Project(root=tmp_path, data_dir=tmp_path / ".skelo", secrets={"K": "${env:MY_KEY}"})

    async def story() -> RunDocument:
        async with await openskelo.Engine.open(project, handlers={"work": handler}) as engine:
            run_id = await engine.start(stage.workflow(stage.block("work", retry={"max_attempts": 2})), {})
            document = await engine.wait(run_id)
            events = [str(event) async for event in engine.follow(run_id, until_end=False)]
            assert (len(events) > 5, [event for event in events if "swordfish" in event]) == (True, [])
            return document

    assert stage.play(story).get("error") == error


def chain(*handlers: str) -> openskelo.Workflow:
    """Blocks one after the other, each with one of the local handlers."""
    blocks = [
        stage.block(
            f"b{at}", mode="deterministic", deterministic={"handler": f"local:{name}"}, after=[f"b{at - 1}"][:at]
        )
        for at, name in enumerate(handlers)
    ]
    return stage.workflow(*blocks)


def test_a_cancellation_that_a_handler_asks_for_hits_nobody_else(tmp_path: Path) -> None:
    """It would come with the next wait: in the middle of a turn, or in the work of another."""

    async def parting(ctx: openskelo.Context) -> JsonObject:
        cancel_own_task()
        return {}

    async def waiting(ctx: openskelo.Context) -> JsonObject:
        await asyncio.sleep(0)
        return {}

    async def story() -> list[RunDocument]:
        async with stage.engine(tmp_path, parting=parting, waiting=waiting) as engine:
            runs = [await engine.start(chain("parting", "waiting", "parting", "waiting"), {}) for _ in range(3)]
            return [await engine.wait(run_id) for run_id in runs]

    assert [document["ending"] for document in stage.play(story)] == ["ok", "ok", "ok"]


def test_a_cancellation_that_comes_between_two_attempts_loses_neither(tmp_path: Path) -> None:
    async def leaving(ctx: openskelo.Context) -> JsonObject:
        own = asyncio.current_task()
        assert own is not None
        asyncio.get_running_loop().call_soon(own.cancel)  # when the task next lets others have their turn
        time.sleep(0.005)  # noqa: ASYNC251 -- it blocks, so that it will
        return {}

    async def story() -> RunDocument:
        async with stage.engine(tmp_path, leaving=leaving) as engine:
            return await engine.wait(await engine.start(chain("leaving", "leaving", "leaving"), {}))

    assert stage.play(story)["ending"] == "ok"


CTRL_C = """
import asyncio, pathlib, signal, sys
import openskelo

async def interrupted(ctx):
    signal.raise_signal(signal.SIGINT)  # asyncio cancels the program first
    signal.raise_signal(signal.SIGINT)
    return {}

async def main():
    root = pathlib.Path(sys.argv[1])
    project = openskelo.Project(root=root, data_dir=root / ".skelo")
    block = {"id": "work", "mode": "deterministic", "deterministic": {"handler": "local:interrupted"}}
    async with await openskelo.Engine.open(project, handlers={"interrupted": interrupted}) as engine:
        await engine.wait(await engine.start(openskelo.from_document({"name": "w", "blocks": [block]}), {}))

try:
    asyncio.run(main())
except KeyboardInterrupt:
    print("stopped")
"""


def test_ctrl_c_in_the_middle_of_a_handler_ends_the_program_and_not_the_attempt(tmp_path: Path) -> None:
    program = [sys.executable, "-c", CTRL_C, str(tmp_path)]
    ended = subprocess.run(program, capture_output=True, text=True, timeout=30, check=False)
    assert (ended.stdout, ended.returncode) == ("stopped\n", 0), ended.stderr

    async def story() -> list[str]:
        async with stage.open_engine(tmp_path) as engine:
            (row,) = await engine.store.list_runs()
            return await stage.types(engine, row.run_id)

    assert stage.play(story)[-1] == "attempt.started"
