"""To show a fact costs the same however many nodes the run has, and however long it is: counted, not timed."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from openskelo.kernel import commands, definition, events
from openskelo.kernel import run as runs
from openskelo.kernel.decide import step
from openskelo.wire.projection import Projection
from tests.kernel import test_cost as kernel_cost
from tests.kernel.stage import RUN, START, flow, work

SMALL, LARGE = 100, 10_000


class Shown:
    """A run that is projected while it goes on."""

    def __init__(self, workflow: definition.Workflow) -> None:
        self.run = runs.new(RUN, workflow)
        self.projection = Projection(RUN, workflow)
        self.show(self.step(commands.CreateRun(at=START, definition="d", inputs={}, by="nora")))

    def step(self, command: commands.Command) -> list[events.Event]:
        return step(self.run, command)

    def show(self, facts: list[events.Event]) -> int:
        return sum(len(self.projection.apply(self.projection.seq + 1, fact)) for fact in facts)

    def land(self) -> list[events.Event]:
        return self.step(kernel_cost.report(next(iter(self.run.in_flight.values()))))


def chain(length: int) -> Shown:
    return Shown(flow(work("n0"), *(work(f"n{index}", f"n{index - 1}") for index in range(1, length))))


def wide(length: int) -> Shown:
    return Shown(flow(*(work(f"n{index}") for index in range(length)), parallel=4))


def items(length: int) -> Shown:
    shown = Shown(flow(work("a", foreach=definition.Foreach(items="x")), work("b", "a")))
    command = commands.ResolveNode(at=START, node="a", visit=1, items={"value": []}, count=length)
    shown.show(shown.step(command))
    return shown


def parked(length: int) -> Shown:
    """So many people are asked, and a few nodes are at work."""
    approval = definition.Approval(prompt="?")
    people = [work(f"p{index}", mode="approval", approval=approval) for index in range(length)]
    shown = Shown(flow(*people, work("n0"), *(work(f"n{index}", f"n{index - 1}") for index in range(1, 10))))
    for person in people:
        ask = commands.Ask(prompt="?", args={}, form={}, digest="d", expires_at=None)
        shown.show(shown.step(commands.ResolveNode(at=START, node=person.key, visit=1, ask=ask)))
    return shown


def cost(shown: Shown) -> int:
    """How many operations it takes to show one more step."""
    facts = shown.land()
    count: list[int] = []
    operations = kernel_cost.operations(lambda: count.append(shown.show(facts)))
    assert count[0] >= 2  # something was shown
    return operations


@pytest.mark.parametrize("shape", [chain, wide, items, parked])
def test_a_fact_costs_the_same_in_a_large_run(shape: Callable[[int], Shown]) -> None:
    costs: list[int] = []
    for size in (SMALL, LARGE):
        shown = shape(size)
        for _ in range(3):
            shown.show(shown.land())
        costs.append(cost(shown))
    assert costs[0] == costs[1]
    assert costs[0] > 100  # something was counted


def test_a_fact_costs_the_same_late_in_a_run() -> None:
    shown = chain(1_000)
    shown.show(shown.land())
    early = cost(shown)
    for _ in range(900):
        shown.show(shown.land())
    assert cost(shown) == early
