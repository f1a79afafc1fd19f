"""What a step costs depends neither on how long the run is nor on how many nodes it has: counted, not timed."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest

from openskelo.kernel import commands, decide, definition, outcome
from openskelo.kernel import run as runs
from openskelo.kernel.decide import step
from tests.kernel.stage import RUN, START, Stage, flow, work

SMALL, LARGE = 100, 10_000


def operations(act: Callable[[], object]) -> int:
    """How many lines and calls of Python `act` takes, and how many calls into C."""
    count = 0

    def line(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal count
        count += 1
        return line

    def call(frame: FrameType, event: str, _: Any) -> None:
        nonlocal count
        count += event == "c_call"

    traced, profiled, collecting = sys.gettrace(), sys.getprofile(), gc.isenabled()
    gc.disable()  # others have asked to be called when it runs, which it does when it likes
    sys.settrace(line)
    sys.setprofile(call)
    try:
        act()
    finally:
        sys.settrace(traced)
        sys.setprofile(profiled)
        if collecting:
            gc.enable()
    return count


def begun(workflow: definition.Workflow) -> runs.Run:
    run = runs.new(RUN, workflow)
    step(run, commands.CreateRun(at=START, definition="d", inputs={}, by="nora"))
    return run


def report(flight: runs.Attempt, failure: outcome.Failure | None = None) -> commands.ReportAttempt:
    return commands.ReportAttempt(
        at=START,
        node=flight.node,
        visit=flight.visit,
        attempt=flight.attempt,
        item=flight.item,
        outcome=outcome.Outcome(inputs_hash="i", outputs={"value": 1}, failure=failure),
    )


def land(run: runs.Run) -> None:
    step(run, report(next(iter(run.in_flight.values()))))


def chain(length: int) -> runs.Run:
    return begun(flow(work("n0"), *(work(f"n{index}", f"n{index - 1}") for index in range(1, length))))


def wide(length: int) -> runs.Run:
    return begun(flow(*(work(f"n{index}") for index in range(length)), parallel=4))


def items(length: int) -> runs.Run:
    run = begun(flow(work("a", foreach=definition.Foreach(items="x")), work("b", "a")))
    step(run, commands.ResolveNode(at=START, node="a", visit=1, items={"value": []}, count=length))
    return run


def retried(length: int) -> runs.Run:
    run = begun(flow(work("a", retry=definition.Retry(max_attempts=10**9, stall_after=0))))
    for _ in range(length // 10):
        step(run, report(next(iter(run.in_flight.values())), outcome.Failure(code="BAD", message="x")))
    return run


@pytest.mark.parametrize("shape", [chain, wide, items, retried])
def test_a_step_costs_the_same_in_a_large_run(shape: Callable[[int], runs.Run]) -> None:
    costs: list[int] = []
    for size in (SMALL, LARGE):
        run = shape(size)
        for _ in range(3):
            land(run) if shape is not retried else None
        costs.append(operations(lambda run=run: land(run)))
    assert costs[0] == costs[1]
    assert costs[0] > 50  # something was counted


def test_a_step_costs_the_same_late_in_a_run() -> None:
    run = chain(3_000)
    land(run)
    early = operations(lambda: land(run))
    for _ in range(2_900):
        land(run)
    assert operations(lambda: land(run)) == early


def parked(size: int) -> runs.Run:
    """So many people are asked, and one node is at work."""
    approval = definition.Approval(prompt="?")
    nodes = (work(f"p{index}", mode="approval", approval=approval) for index in range(size))
    run = begun(flow(*nodes, work("a"), work("b", "a"), work("c", "b")))
    for index in range(size):
        ask = commands.Ask(prompt="?", args={}, form={}, digest="d", expires_at=START + 10 + index)
        step(run, commands.ResolveNode(at=START, node=f"p{index}", visit=1, ask=ask))
    return run


def test_parked_questions_cost_the_others_nothing() -> None:
    def look(run: runs.Run) -> Callable[[], object]:
        return lambda: (land(run), decide.wake_at(run), decide.expired(run, START + 12), decide.expired(run, START))

    few, many = parked(20), parked(1_000)
    assert len(decide.expired(many, START + 12)) == 3
    assert operations(look(few)) == operations(look(many))


def test_the_count_of_operations_sees_a_scan() -> None:
    """The instrument works: a look at every node is seen to grow with their number."""
    small, large = chain(SMALL), chain(1_000)

    def scan(run: runs.Run) -> Callable[[], object]:
        return lambda: [node for node in run.nodes.values() if node.status == "ready"]

    assert operations(scan(large)) > 5 * operations(scan(small))
    assert Stage(small.workflow).at == START
