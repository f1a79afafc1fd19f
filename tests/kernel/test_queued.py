"""A run for which there is no room stays queued: it has begun no work, and its wall time does not run."""

from __future__ import annotations

from openskelo.kernel import budget, commands, definition, outcome
from openskelo.kernel import run as runs
from tests.kernel.stage import Stage, flow, work


class Room:
    """A meter that has room for the run, or has not."""

    def __init__(self) -> None:
        self.is_free = False
        self.asked = 0

    def used(self, _flight: runs.Attempt) -> outcome.Metrics:
        return outcome.Metrics()

    def said(self, _flight: runs.Attempt) -> str | None:
        return None

    def may_begin(self) -> bool:
        self.asked += 1
        return self.is_free


def queued(workflow: definition.Workflow) -> tuple[Stage, Room]:
    room = Room()
    stage = Stage(workflow, meter=room)
    assert stage.create() == ["run.created"]
    assert (runs.status(stage.run), room.asked) == ("queued", 1)
    return stage, room


def test_a_run_without_room_is_queued_until_a_tick_finds_room() -> None:
    stage, room = queued(flow(work("a"), work("b", "a")))
    assert stage.tick(5) == []
    assert runs.status(stage.run) == "queued"
    room.is_free = True
    assert stage.tick(5) == ["attempt.started a 1.1"]
    assert runs.status(stage.run) == "running"


def test_a_run_that_has_begun_is_not_asked_again_if_there_is_room() -> None:
    stage, room = queued(flow(work("a"), work("b", "a")))
    room.is_free = True
    stage.tick()
    room.is_free, room.asked = False, 0
    assert stage.succeed("a") == ["attempt.succeeded a 1.1", "attempt.started b 1.1"]
    assert room.asked == 0


def test_a_queued_run_uses_no_wall_time() -> None:
    stage, room = queued(flow(work("a"), limits=definition.Limits(max_wall_ms=1000)))
    assert (stage.tick(5000), budget.wall_ms(stage.run, stage.at), budget.wall_deadline(stage.run)) == ([], 0, None)
    room.is_free = True
    assert stage.tick(5000) == ["attempt.started a 1.1"]
    stage.at += 400
    assert budget.wall_ms(stage.run, stage.at) == 400
    assert stage.succeed("a") == ["attempt.succeeded a 1.1", "run.ended ok"]


def test_a_queued_run_can_be_cancelled() -> None:
    stage, _ = queued(flow(work("a")))
    stage.step(commands.CancelRun(at=stage.at, by="nora"))
    assert (runs.status(stage.run), stage.run.ending) == ("failed", "cancelled")


def test_a_queued_run_that_is_paused_goes_on_being_queued_when_it_is_resumed() -> None:
    stage, room = queued(flow(work("a")))
    assert stage.step(commands.PauseRun(at=stage.at, by="nora", reason="lunch")) == ["run.paused"]
    assert runs.status(stage.run) == "paused"
    room.is_free = True
    assert stage.tick() == []
    room.is_free = False
    assert stage.step(commands.ResumeRun(at=stage.at, by="nora")) == ["run.resumed"]
    assert runs.status(stage.run) == "queued"
