"""What a run owes now."""

from __future__ import annotations

from openskelo.kernel import decide, definition
from openskelo.kernel import run as runs
from tests.kernel.stage import RUN, START, Stage, flow, work


def test_attempts_in_flight_and_values_to_be_found() -> None:
    stage = Stage(flow(work("a"), work("b", when="x"), work("c", cache=True)))
    assert (list(stage.run.in_flight.values()), decide.resolutions(stage.run)) == ([], ())
    stage.create()
    assert list(stage.run.in_flight.values()) == [
        runs.Attempt(node="a", visit=1, slot=0, attempt=1, item=None, started_at=START, reserve=definition.Amount())
    ]
    assert decide.resolutions(stage.run) == ("b", "c")
    stage.fail("a")
    assert (list(stage.run.in_flight.values()), decide.resolutions(stage.run)) == ([], ())


def test_time_moves_nothing_that_only_a_person_can() -> None:
    stage = Stage(flow(work("p", mode="approval", approval=definition.Approval(prompt="?", timeout_ms=None))))
    assert decide.wake_at(stage.run) is None
    stage.create()
    stage.ask("p")
    assert (decide.wake_at(stage.run), decide.expired(stage.run, 2**60)) == (None, ())
    assert stage.run.id == RUN


def test_an_ended_run_wakes_nobody() -> None:
    retry = definition.Retry(max_attempts=2, delay_ms=1_000)
    stage = Stage(flow(work("a", retry=retry), work("b")))
    stage.create()
    stage.fail("a")
    stage.fail("b")
    assert stage.run.ended
    assert decide.wake_at(stage.run) is None
