"""Replaying runs: pure steps are done again, everything else is checked by hash, nothing outside is touched."""

from __future__ import annotations

from pathlib import Path

import pytest

import openskelo
from openskelo import errors
from openskelo.executors.attempt import performer as attempt_performer
from openskelo.history import replay
from openskelo.kernel.json import Json
from tests.engine import proving, stage


def performer(engine: openskelo.Engine, workshop: proving.Workshop) -> attempt_performer.Performer:
    handlers = {"draft": workshop.draft, "shout": workshop.shout, "each": workshop.each, "post": workshop.post}
    return attempt_performer.Performer(project=engine.project, blobs=replay.DiscardedBlobs(), local_handlers=handlers)


def replayed(root: Path, *, sign: str = "!", draft_size: int = 1) -> tuple[replay.Report, list[str]]:
    """Finish a run, change the world, replay: the report, and the handlers that were called for it."""
    workshop = proving.Workshop()
    workshop.draft_size = draft_size

    async def story() -> replay.Report:
        async with workshop.engine(root) as engine:
            run_id = await proving.finish(engine)
            workshop.sign = sign
            workshop.calls.clear()
            return await replay.replay(engine.store, run_id, performer(engine, workshop))

    return stage.play(story), workshop.calls


def results(report: replay.Report) -> list[tuple[str, int | None, str]]:
    """What came of each step, in the order of the log but for items, which land as they like."""
    order = list(dict.fromkeys(step.node for step in report.steps))
    steps = sorted(report.steps, key=lambda step: (order.index(step.node), step.item or 0))
    return [(step.node, step.item, step.result) for step in steps]


def test_pure_steps_come_out_the_same_and_nothing_else_is_done_again(tmp_path: Path) -> None:
    report, calls = replayed(tmp_path, draft_size=100_000)
    assert results(report) == [
        ("draft", None, "checked"),
        ("shout", None, "same"),
        ("each", 0, "same"),
        ("each", 1, "same"),
        ("post", None, "checked"),
    ]
    assert report.ok
    assert sorted(calls) == ["each a", "each b", "shout"]
    assert all(step.recorded == step.found for step in report.steps)
    assert report.document()["counts"] == {"same": 3, "different": 0, "checked": 2, "unchecked": 0, "altered": 0}


def test_a_step_that_is_not_pure_after_all_is_shown_with_both_hashes(tmp_path: Path) -> None:
    report, _ = replayed(tmp_path, sign="?")
    different = [step for step in report.steps if step.result == "different"]
    assert [step.node for step in different] == ["shout"]
    assert different[0].found not in (None, different[0].recorded)
    assert not report.ok


def test_outputs_that_are_not_those_of_the_receipt_are_altered(tmp_path: Path) -> None:
    workshop = proving.Workshop()
    workshop.draft_size = 100_000

    async def story() -> replay.Report:
        async with workshop.engine(tmp_path) as engine:
            waiting = stage.workflow(stage.block("draft", inputs={"topic": "string"}, outputs=proving.TEXT))
            run_id = await proving.finish(engine, waiting)
            (blob,) = [path for path in (tmp_path / ".skelo" / "blobs").rglob("*") if path.is_file()]
            blob.write_bytes(b"other")
            return await replay.replay(engine.store, run_id, performer(engine, workshop))

    report = stage.play(story)
    assert (results(report), report.ok) == ([("draft", None, "altered")], False)


def test_failed_attempts_and_peoples_answers_are_listed_as_such(tmp_path: Path) -> None:
    tries: list[int] = []

    async def shaky(ctx: openskelo.Context) -> dict[str, Json]:
        tries.append(ctx.attempt)
        if ctx.attempt == 1:
            raise RuntimeError("not yet")
        return {"text": "there"}

    flow = stage.workflow(
        stage.block("shaky", outputs=proving.TEXT, effect="pure", retry={"max_attempts": 2}),
        stage.block("ask", mode="approval", approval={"prompt": "Fine?"}, after=["shaky"]),
    )

    async def story() -> replay.Report:
        async with stage.open_engine(tmp_path, shaky=shaky) as engine:
            run_id = await engine.start(flow)
            document = await engine.wait(run_id)
            await engine.answer(str(stage.approvals(document)[0]["id"]), status="approved", by="ada")
            assert (await engine.wait(run_id))["ending"] == "ok"
            again = attempt_performer.Performer(
                project=engine.project, blobs=replay.DiscardedBlobs(), local_handlers={"shaky": shaky}
            )
            return await replay.replay(engine.store, run_id, again)

    report = stage.play(story)
    assert [(step.node, step.attempt, step.result, step.reason) for step in report.steps] == [
        ("shaky", 1, "unchecked", "the attempt failed"),
        ("shaky", 2, "same", ""),
        ("ask", 1, "checked", "a person answered"),
    ]
    assert tries == [1, 2, 2]


def test_gates_are_not_run_again(tmp_path: Path) -> None:
    (tmp_path / "skelo.yaml").write_text("allow: {commands: true}\n")
    gate: dict[str, Json] = {"name": "note", "type": "command", "argv": ["sh", "-c", "echo seen >> gates.txt"]}
    block = stage.block("shout", inputs={"text": "string"}, outputs=proving.TEXT, effect="pure", post_gates=[gate])
    flow = openskelo.from_document({"name": "gated", "blocks": [block]}, root=tmp_path)
    workshop = proving.Workshop()

    async def story() -> replay.Report:
        project = openskelo.Project(root=tmp_path, data_dir=tmp_path / ".skelo", allow_commands=True)
        async with await openskelo.Engine.open(project, handlers={"shout": workshop.shout}) as engine:
            run_id = await proving.finish(engine, flow, {"text": "hi"})
            return await replay.replay(engine.store, run_id, performer(engine, workshop))

    assert results(stage.play(story)) == [("shout", None, "same")]
    assert (workshop.calls, (tmp_path / "gates.txt").read_text()) == (["shout", "shout"], "seen\n")


def test_a_handler_that_is_gone_makes_the_step_different(tmp_path: Path) -> None:
    workshop = proving.Workshop()

    async def story() -> replay.Report:
        async with workshop.engine(tmp_path) as engine:
            run_id = await proving.finish(engine)
            empty = attempt_performer.Performer(
                project=engine.project, blobs=replay.DiscardedBlobs(), local_handlers={}
            )
            return await replay.replay(engine.store, run_id, empty)

    report = stage.play(story)
    gone = [step for step in report.steps if step.result == "different"]
    assert [step.node for step in gone] == ["shout", "each", "each"]
    assert gone[0].reason.startswith("HANDLER_UNKNOWN")


def test_an_unknown_run_is_not_found(tmp_path: Path) -> None:
    workshop = proving.Workshop()

    async def story() -> None:
        async with workshop.engine(tmp_path) as engine:
            with pytest.raises(errors.NotFound):
                await replay.replay(engine.store, "3f0e8f0a-1111-4222-8333-444455556666", performer(engine, workshop))

    stage.play(story)
