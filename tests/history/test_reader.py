"""What Python callers read, prove and compare of runs: the same as the commands, by methods of the engine."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest

import openskelo
from openskelo import errors
from openskelo.history import export, replay
from openskelo.kernel.json import JsonObject
from openskelo.stores import memory
from tests.engine import proving, stage


def test_runs_are_listed_newest_first_and_in_pages(tmp_path: Path) -> None:
    workshop = proving.Workshop()

    async def story() -> None:
        async with workshop.engine(tmp_path) as engine:
            started = [await proving.finish(engine) for _ in range(3)]
            listed = await engine.runs()
            assert [one["runId"] for one in listed] == started[::-1]
            assert {key: listed[0][key] for key in ("name", "status", "ending")} == {
                "name": "staged",
                "status": "completed",
                "ending": "ok",
            }
            assert set(listed[0]) == {"runId", "name", "status", "ending", "createdAt", "updatedAt"}
            assert [one["runId"] for one in await engine.runs(limit=1, offset=1)] == [started[1]]
            assert await engine.runs(status="paused") == []
            with pytest.raises(errors.InvalidInput, match="limit and offset must not be negative"):
                await engine.runs(limit=-1)

    stage.play(story)


def test_open_approvals_are_found_over_all_runs_and_in_one(tmp_path: Path) -> None:
    ask = stage.block("ask", mode="approval", outputs={"approved": "boolean"}, approval={"prompt": "Go?"})

    async def story() -> None:
        async with stage.engine(tmp_path) as engine:
            workflow = stage.workflow(ask)
            first, second = await engine.start(workflow), await engine.start(workflow)
            documents = [await engine.wait(run_id) for run_id in (first, second)]
            asked = [str(stage.approvals(document)[0]["id"]) for document in documents]
            assert [one["id"] for one in await engine.approvals()] == asked
            (one,) = await engine.approvals(second)
            assert {key: one[key] for key in ("id", "runId", "node", "prompt")} == {
                "id": asked[1],
                "runId": second,
                "node": "ask",
                "prompt": "Go?",
            }
            await engine.answer(asked[0], status="approved")
            assert [one["id"] for one in await engine.approvals()] == asked[1:]

    stage.play(story)


def test_equal_work_has_one_digest_of_receipts(tmp_path: Path) -> None:
    workshop = proving.Workshop()

    async def story() -> tuple[JsonObject, JsonObject]:
        async with workshop.engine(tmp_path) as engine:
            first, second = await proving.finish(engine), await proving.finish(engine)
            return await engine.receipts(first), await engine.receipts(second)

    first, second = stage.play(story)
    assert first["runId"] != second["runId"]
    assert first["digest"] == second["digest"]
    steps = [one["step_id"] for one in cast("list[JsonObject]", first["receipts"])]
    assert sorted(map(str, steps)) == ["draft", "each", "each", "post", "shout"]


def test_a_record_is_verified_where_it_is_and_as_a_file(tmp_path: Path) -> None:
    workshop = proving.Workshop()
    copy = tmp_path / "copy.skelo.jsonl"

    async def story() -> export.Exported:
        async with workshop.engine(tmp_path) as engine:
            run_id = await proving.finish(engine)
            made = await engine.export(run_id, copy, sign=True)
            assert copy.stat().st_mode & 0o777 == 0o600  # it holds what went through the run
            proved = await engine.verify(run_id)
            assert (proved.intact, proved.ended, proved.signature) == (True, True, "ok")
            with pytest.raises(errors.InvalidInput) as refused:
                await engine.export(run_id, copy)
            assert refused.value.code == "FILE_EXISTS"
            again = await engine.export(run_id, str(copy), overwrite=True)
            assert again.header == made.header  # the signature that was kept goes along
            return made

    made = stage.play(story)
    assert made.document()["file"] == str(copy)
    proved = openskelo.verify_file(str(copy))
    assert (proved.intact, proved.ended, proved.signature) == (True, True, "ok")
    assert proved.events == made.header.events
    data = copy.read_bytes()
    copy.write_bytes(data.replace(b"bees", b"wasp", 1))
    assert not openskelo.verify_file(copy).intact


def test_a_change_beside_the_log_is_found(tmp_path: Path) -> None:
    workshop = proving.Workshop()

    async def story() -> None:
        async with workshop.engine(tmp_path) as engine:
            run_id = await proving.finish(engine)
            await engine.store.flush()
            file = tmp_path / ".skelo" / "events" / "000000000001.jsonl"
            file.write_bytes(file.read_bytes().replace(b"bees", b"wasp"))
            assert [problem.code for problem in (await engine.verify(run_id)).problems] == ["FILE_DIFFERS"]

    stage.play(story)


def test_a_store_without_files_verifies_too(tmp_path: Path) -> None:
    async def story() -> None:
        async with stage.open_engine(tmp_path, memory.MemoryStore(), a=lambda _: {"x": 1}) as engine:
            run_id = await engine.start(stage.workflow(stage.block("a", outputs={"x": "integer"})))
            await engine.wait(run_id)
            proved = await engine.verify(run_id)
            assert (proved.intact, proved.ended, proved.events > 0) == (True, True, True)

    stage.play(story)


def test_pure_steps_are_done_again(tmp_path: Path) -> None:
    add = stage.block(
        "add",
        mode="deterministic",
        inputs={"a": "integer"},
        outputs={"b": "integer"},
        deterministic={"handler": "builtin:transform", "config": {"map": {"b": "inputs.a + 1"}}},
    )

    async def story() -> replay.Report:
        async with stage.engine(tmp_path) as engine:
            run_id = await engine.start(stage.workflow(add), {"a": 1})
            await engine.wait(run_id)
            return await engine.replay(run_id)

    report = stage.play(story)
    assert report.ok
    assert [(step.node, step.result) for step in report.steps] == [("add", "same")]


def test_two_runs_are_compared(tmp_path: Path) -> None:
    workshop = proving.Workshop()

    async def story() -> None:
        async with workshop.engine(tmp_path) as engine:
            first = await proving.finish(engine)
            second = await proving.finish(engine, None, {"topic": "ants"})
            compared = await engine.diff(first, second)
            assert (compared.same_workflow, compared.same_work) == (True, False)
            assert [(one.path, one.before, one.after) for one in compared.inputs] == [("/topic", "bees", "ants")]

    stage.play(story)


def test_a_workflow_is_explained_beside_its_past(tmp_path: Path) -> None:
    workflow = stage.workflow(stage.block("a", outputs={"x": "integer"}))

    async def story() -> tuple[JsonObject, JsonObject]:
        async with stage.engine(tmp_path, a=lambda _: {"x": 1}) as engine:
            before = await engine.explain(workflow)
            await engine.wait(await engine.start(workflow))
            return before, await engine.explain(workflow)

    before, after = stage.play(story)
    assert (before["name"], before["hash"], before["history"]) == ("staged", workflow.hash, None)
    history = cast("JsonObject", after["history"])
    assert (history["runs"], history["succeeded"]) == (1, 1)
    assert cast("JsonObject", history["average"])["steps"] == 1


def test_the_time_of_a_run_is_expected_to_be_that_of_past_runs_with_their_waits(tmp_path: Path) -> None:
    workflow = stage.workflow(stage.block("a", outputs={"x": "integer"}, retry={"max_attempts": 2, "delay_ms": 300}))
    tries = iter((False, True))

    def fail_once(_: object) -> JsonObject:
        if not next(tries):
            raise RuntimeError("not yet")
        return {"x": 1}

    async def story() -> JsonObject:
        async with stage.engine(tmp_path, a=fail_once) as engine:
            await engine.wait(await engine.start(workflow))
            return await engine.explain(workflow)

    explained = cast("dict[str, Any]", stage.play(story))
    took = explained["history"]["average"]["durationSec"]
    total = explained["totals"]["all"]
    assert took > 0.3
    assert total["expected"]["durationSec"] == took
    assert total["worst"]["durationSec"] >= took


@pytest.mark.parametrize("call", ["approvals", "receipts", "verify", "replay"])
def test_a_run_that_is_not_there_is_not_found(tmp_path: Path, call: str) -> None:
    async def story() -> None:
        async with stage.engine(tmp_path) as engine:
            with pytest.raises(errors.NotFound) as refused:
                await getattr(engine, call)("00000000-0000-4000-8000-000000000000")
            assert refused.value.code == "RUN_NOT_FOUND"

    stage.play(story)


def test_records_are_read_without_an_engine_while_another_drives(tmp_path: Path) -> None:
    workshop = proving.Workshop()

    async def story() -> None:
        async with workshop.engine(tmp_path) as engine:
            run_id = await proving.finish(engine)
            shown = await engine.show(run_id)
            async with openskelo.reading(engine.project) as records:
                assert [one["runId"] for one in await records.runs()] == [run_id]
                assert await records.show(run_id) == shown
                assert (await records.verify(run_id)).intact

    stage.play(story)


def test_a_place_where_nothing_was_run_has_no_records(tmp_path: Path) -> None:
    async def story() -> None:
        with pytest.raises(openskelo.NotFound, match="no runs are kept"):
            async with openskelo.reading(openskelo.Project(root=tmp_path, data_dir=tmp_path / ".skelo")):
                pass

    stage.play(story)
    assert not (tmp_path / ".skelo").exists()
