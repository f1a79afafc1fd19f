"""The order in which work happens to complete does not matter: what comes out is what a naive reading says.

The oracle below knows nothing of the kernel: it asks of each node, recursively, whether it runs and on what.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from openskelo.kernel import commands, decide, definition, outcome
from openskelo.kernel import run as runs
from openskelo.kernel.decide import step
from openskelo.kernel.json import Json
from openskelo.values import canonical
from tests.kernel import chance as chances
from tests.kernel.stage import RUN, START, flow, work

SKIPPED = "skipped"


@dataclass(frozen=True)
class World:
    """A workflow, and what its expressions would come to: whether each node runs, over how many items."""

    workflow: definition.Workflow
    runs: Mapping[str, bool]
    counts: Mapping[str, int]


def world(chance: Random) -> World:
    """A random graph of up to nine nodes with conditions, items, optional ports and mere waiting."""
    nodes: dict[str, definition.Node] = {}
    for index in range(chance.randint(1, 9)):
        key = f"n{index}"
        needed, welcome, after = chances.edges(chance, list(nodes))
        nodes[key] = work(
            key,
            *needed,
            optional=tuple(welcome),
            after=tuple(after),
            when="x" if chance.random() < 0.4 else None,
            foreach=definition.Foreach(items="x", concurrency=chance.randint(1, 3)) if chance.random() < 0.3 else None,
        )
    decided = {key: node.when is None or chance.random() < 0.6 for key, node in nodes.items()}
    counts = {key: chance.randint(0, 4) for key in nodes}
    return World(flow(*nodes.values(), parallel=chance.randint(1, 4)), decided, counts)


def result(key: str, item: int | None, inputs: Mapping[str, Json]) -> str:
    """What the work of a node gives: a name for what it was given."""
    return canonical.digest([key, item, inputs])


# -- the oracle -------------------------------------------------------------------------------------------------------


def naive(of: World, key: str) -> Json:
    """`skipped`, or the value of a node: one result, or the list of those of its items."""
    node = of.workflow.nodes[key]
    sources = {name: naive(of, binding.node) for name, binding in node.bindings.items()}
    waited_for = [naive(of, source) for source in node.after]
    everything = [*sources.values(), *waited_for]
    needs_a_skipped_one = any(sources[port.name] == SKIPPED for port in node.inputs if port.required)
    if needs_a_skipped_one or (everything and all(value == SKIPPED for value in everything)) or not of.runs[key]:
        return SKIPPED
    inputs = {name: value for name, value in sources.items() if value != SKIPPED}
    if node.foreach is None:
        return result(key, None, inputs)
    return [result(key, item, inputs) for item in range(of.counts[key])]


# -- the run ----------------------------------------------------------------------------------------------------------


def value(node: runs.NodeState) -> Json:
    """A finished node as the oracle would tell it."""
    assert node.status == "done"
    if node.outcome == "skipped":
        return SKIPPED
    if node.item_outputs is not None:
        return [None if outputs is None else outputs["value"] for outputs in node.item_outputs]
    assert node.outputs is not None
    return node.outputs["value"]


def played(of: World, chance: Random) -> dict[str, Json]:
    """Drive the run in an order of chance's choosing, with a crash now and then; what each node came to."""
    run = runs.new(RUN, of.workflow)
    step(run, commands.CreateRun(at=START, definition="d", inputs={}, by="nora"))
    crashes = 0
    while not run.ended:
        if chance.random() < 0.05 and crashes < 5:
            crashes += 1
            step(run, commands.Recover(at=START))
        owed: list[str | runs.Attempt] = [*decide.resolutions(run), *run.in_flight.values()]
        step(run, move(of, run, chance.choice(owed)))
    assert run.ending == "ok"
    return {key: value(node) for key, node in run.nodes.items()}


def move(of: World, run: runs.Run, what: str | runs.Attempt) -> commands.Command:
    """The values of a node's expressions, or the result of its work on what the run holds for it."""
    if isinstance(what, str):
        visit = run.nodes[what].visit
        if not of.runs[what]:
            return commands.ResolveNode(at=START, node=what, visit=visit, skip=True)
        if of.workflow.nodes[what].foreach is None:
            return commands.ResolveNode(at=START, node=what, visit=visit)
        items = {"value": list(range(of.counts[what]))}
        return commands.ResolveNode(at=START, node=what, visit=visit, items=items, count=of.counts[what])
    sources = {name: value(run.nodes[bound.node]) for name, bound in of.workflow.nodes[what.node].bindings.items()}
    inputs = {name: found for name, found in sources.items() if found != SKIPPED}
    outputs = {"value": result(what.node, what.item, inputs)}
    return commands.ReportAttempt(
        at=START,
        node=what.node,
        visit=what.visit,
        attempt=what.attempt,
        item=what.item,
        outcome=outcome.Outcome(inputs_hash="", outputs=outputs),
    )


@settings(max_examples=250)
@given(st.integers(0, 2**32))
def test_any_order_of_completion_gives_what_the_naive_reading_gives(seed: int) -> None:
    of = world(Random(seed))
    expected = {key: naive(of, key) for key in of.workflow.nodes}
    for order in range(3):
        assert played(of, Random(f"{seed}/{order}")) == expected


def test_the_worlds_have_what_they_are_meant_to_try() -> None:
    """Skips through joins, joins that go on without a skipped source, and empty lists do occur."""
    worlds = [world(Random(seed)) for seed in range(200)]
    values = [(of, key, naive(of, key)) for of in worlds for key in of.workflow.nodes]
    assert any(found == [] for _, _, found in values)
    assert any(found == SKIPPED and of.runs[key] for of, key, found in values)
    assert any(
        found != SKIPPED and any(naive(of, bound.node) == SKIPPED for bound in of.workflow.nodes[key].bindings.values())
        for of, key, found in values
    )
