"""Commands for another process: they stay queued until they are taken, and their sender learns that."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Awaitable, Callable
from pathlib import Path
from typing import cast

import pytest

import openskelo
from openskelo import errors
from openskelo.engine.commands import command_codec, command_router
from openskelo.kernel import commands
from openskelo.kernel.json import JsonObject
from openskelo.stores import api
from openskelo.stores.sqlite import data_dir, sqlite_store
from tests.engine import stage

ASK = stage.workflow(stage.block("ask", mode="approval", approval={"prompt": "Go on?"}))


@contextlib.asynccontextmanager
async def driven_by_a_sleeper(root: Path) -> AsyncGenerator[tuple[str, str]]:
    """A run (its id, and its question's) whose driver lives and does nothing, as a stopped process."""
    async with stage.engine(root) as engine:
        run_id = await engine.start(ASK)
        (asked,) = stage.approvals(await engine.wait(run_id))
    sleeper = data_dir.open_store(root / ".skelo")
    try:
        assert await sleeper.claim_run(run_id)
        yield run_id, str(asked["id"])
    finally:
        await sleeper.close()


def test_an_answer_that_nobody_has_taken_yet_stays_posted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command_router, "TAKEN_SECONDS", 0.3)

    async def story() -> None:
        async with driven_by_a_sleeper(tmp_path) as (run_id, asked), stage.engine(tmp_path) as engine:
            with pytest.raises(openskelo.Busy) as told:
                await engine.answer(asked, status="approved", by="ann")
            assert isinstance(told.value, errors.CommandQueued)
            assert (told.value.code, told.value.message, told.value.hint) == (
                "COMMAND_WAITING",
                f"the process that drives run {run_id} has not taken this yet; "
                "it stays queued, and is done as soon as that process, or another one, goes on with the run",
                f"there is no need to send it again; `skelo show {run_id[:8]}` shows its result",
            )
            (command,) = await engine.store.list_commands([run_id])
            assert cast("JsonObject", command.body["fields"])["status"] == "approved"
        async with stage.engine(tmp_path) as engine:
            await engine.resume(run_id)
            assert (await engine.wait(run_id))["ending"] == "ok"
            resolved = [event async for event in engine.follow(run_id) if event["type"] == "approval.resolved"]
            assert [one["data"]["by"] for one in resolved if isinstance(one["data"], dict)] == ["ann"]

    stage.play(story)


def test_of_two_who_answer_at_once_from_elsewhere_the_slower_is_told_so(tmp_path: Path) -> None:
    later = stage.block("later", mode="approval", after=["ask"], approval={"prompt": "And then?"})
    flow = stage.workflow(stage.block("ask", mode="approval", approval={"prompt": "Go on?"}), later)

    async def story() -> None:
        async with (
            stage.engine(tmp_path) as driving,
            stage.engine(tmp_path) as one,
            stage.engine(tmp_path) as two,
        ):
            run_id = await driving.start(flow)
            (asked,) = stage.approvals(await driving.wait(run_id))
            told = await asyncio.gather(
                one.answer(str(asked["id"]), status="approved", by="ann"),
                two.answer(str(asked["id"]), status="denied", reason="no", by="bob"),
                return_exceptions=True,
            )
            assert told[0] == run_id
            assert isinstance(told[1], openskelo.Refused)
            assert (told[1].code, told[1].message) == ("APPROVAL_CLOSED", "ann has answered first (approved)")
            assert [now["node"] for now in stage.approvals(await driving.wait(run_id))] == ["later"]

    stage.play(story)


class Late(sqlite_store.SqliteStore):
    """A log in whose process a moment passes before it looks at a row, in which `meanwhile` happens, once."""

    meanwhile: Callable[[], Awaitable[object]] | None = None

    async def find_run(self, run_id: str) -> api.RunRow | None:
        happening, self.meanwhile = self.meanwhile, None
        if happening is not None:
            await happening()
        return await super().find_run(run_id)


async def never() -> None:
    await asyncio.sleep(60)


def cancel() -> JsonObject:
    return command_codec.encode_command(commands.CancelRun(at=0, by="ann"))


def test_an_order_whose_taking_ended_the_run_was_taken(tmp_path: Path) -> None:
    async def story() -> object:
        async with driven_by_a_sleeper(tmp_path) as (run_id, _):
            pass
        late = Late(tmp_path / ".skelo")
        async with stage.engine(tmp_path) as other:

            async def take(_: str) -> None:
                raise AssertionError("the other one drives it")

            async def end() -> None:
                await other.resume(run_id)  # takes what is posted, and the run ends with it

            late.meanwhile = end
            await command_router.queue_and_wait(late, run_id, cancel(), take=take, wait_for_other_process=never)
            await late.close()
            return (await other.wait(run_id))["ending"]

    assert stage.play(story) == "cancelled"


def test_an_order_that_another_process_was_quicker_to_take_was_taken(tmp_path: Path) -> None:
    async def story() -> object:
        async with driven_by_a_sleeper(tmp_path) as (run_id, _):
            pass
        async with stage.engine(tmp_path) as engine, stage.engine(tmp_path) as other:

            async def take(_: str) -> None:
                await other.resume(run_id)
                raise errors.Busy(f"another process drives run {run_id}")

            await command_router.queue_and_wait(engine.store, run_id, cancel(), take=take, wait_for_other_process=never)
            return (await other.wait(run_id))["ending"]

    assert stage.play(story) == "cancelled"


def test_an_order_that_the_end_of_the_run_refuses_does_not_stay_posted(tmp_path: Path) -> None:
    async def story() -> tuple[str, object]:
        async with stage.engine(tmp_path) as engine:
            run_id = await engine.start(ASK)
            await engine.cancel(run_id)
            await engine.wait(run_id)
            with pytest.raises(openskelo.Refused) as told:
                await command_router.queue_and_wait(
                    engine.store, run_id, cancel(), take=engine.ownership.take, wait_for_other_process=never
                )
            return told.value.code, await engine.store.list_commands(None)

    assert stage.play(story) == ("RUN_ENDED", [])
