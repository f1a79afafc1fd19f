"""A kind of workflow that the kernel does not have: its nodes run one after the other, in the order of the file.

It is added as docs/extending/scheduler.md says, and held to the laws of all schedulers.
"""

from __future__ import annotations

import sys
from collections.abc import Generator
from contextlib import contextmanager
from random import Random
from typing import Any, cast

from openskelo.kernel import definition, events
from openskelo.kernel.flows import dag, scheduler, visits
from openskelo.kernel.run import NodeState, Run
from tests.kernel import chance as chances
from tests.kernel.play import Play

check_start, refuse_visit, completion, closing = dag.check_start, dag.refuse_visit, dag.completion, dag.closing
node_failed = dag.node_failed


def start(run: Run, event: events.RunCreated) -> int:
    """Enter the first node; every node is unfinished."""
    _enter_next(run, event.at)
    return len(run.nodes)


def node_done(
    run: Run,
    node: NodeState,
    event: events.AttemptSucceeded | events.NodeFinished | events.NodeSkipped | events.NodeKept,
) -> None:
    """Enter the next node."""
    node.status = "done"
    run.unfinished -= 1
    _enter_next(run, event.at)


def _enter_next(run: Run, at: int) -> None:
    if all(node.status in ("waiting", "done") for node in run.nodes.values()):
        for node in run.nodes.values():
            if node.status == "waiting":
                visits.enter(run, node, at)
                return


class Workflow(definition.Workflow):
    """A workflow of this kind."""

    @property
    def kind(self) -> definition.Kind:
        """The new kind."""
        return cast("definition.Kind", "relay")


@contextmanager
def added() -> Generator[None]:
    """Let the kernel have this kind."""
    schedulers = cast("dict[Any, Any]", scheduler.SCHEDULERS)
    schedulers["relay"] = sys.modules[__name__]
    try:
        yield
    finally:
        del schedulers["relay"]


def workflow(*nodes: definition.Node) -> definition.Workflow:
    """A workflow of these nodes."""
    return Workflow(name="relay", hash="sha256:relay", nodes={node.key: node for node in nodes})


def begin(seed: int) -> Play:
    """A random run that was created."""
    chance = Random(seed)
    nodes: list[definition.Node] = []
    for index in range(chance.randint(1, 6)):
        edges = chances.edges(chance, [node.key for node in nodes])
        nodes.append(chances.node(chance, f"n{index}", *edges))
    play = Play(chance, workflow(*nodes))
    play.create()
    return play
