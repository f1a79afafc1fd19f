"""The scheduler interface: what `decide`, `follow` and `apply` ask of the scheduler of a run.

A scheduler is a module with the functions of `Scheduler`. The first four are part of `decide`: they read the run,
return events or raise Refused, and change nothing. The last three are part of `apply`: they change the run's state, and
never refuse. `scheduler_of` is the only place where the kind of a workflow chooses between them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from openskelo.kernel import commands, definition, events, outcome
from openskelo.kernel.flows import dag, graph, plan
from openskelo.kernel.run import NodeState, Run


class Scheduler(Protocol):
    """Decides which nodes of a run are entered, and how the run ends."""

    def check_start(self, run: Run, command: commands.CreateRun, /) -> None:
        """Raise Refused KEPT_INVALID if the run cannot start with what the command keeps of another run."""
        ...

    def refuse_visit(self, run: Run, node: NodeState, at: int, /) -> events.NodeFailed | None:
        """Return the failure of a node that has been entered too often; None if it may start."""
        ...

    def completion(
        self, run: Run, succeeded: events.AttemptSucceeded, outcome: outcome.Outcome | None, /
    ) -> tuple[events.Event, ...]:
        """Return the events of a successful attempt: `succeeded` (perhaps amended), and what goes with it.

        `outcome` is what the executor has reported; None if a person's answer stands for the attempt.
        """
        ...

    def closing(self, run: Run, at: int, /) -> events.RunEnding | None:
        """Return how a run ends that failed, is stuck, or has an ending other than ok.

        None means that the run can go on, waits, or (if nothing is `unfinished`) has completed.
        """
        ...

    def start(self, run: Run, event: events.RunCreated, /) -> int:
        """Create the state that only this kind of run has, and enter the first nodes; return what is unfinished.

        It becomes `run.unfinished`. The run ends as ok when that is 0, which only its scheduler can tell: it counts the
        nodes down in `node_done`, or returns 1 and sets 0 at the end.
        """
        ...

    def node_done(
        self,
        run: Run,
        node: NodeState,
        event: events.AttemptSucceeded | events.NodeFinished | events.NodeSkipped | events.NodeKept,
        /,
    ) -> None:
        """Mark the node as done and enter the nodes that follow. Its outcome and outputs are set already."""
        ...

    def node_failed(self, run: Run, node: NodeState, event: events.AttemptFailed | events.NodeFailed, /) -> None:
        """Mark the node as failed, and the run too unless it goes on without the node."""
        ...


SCHEDULERS: Mapping[definition.Kind, Scheduler] = {"blocks": dag, "plan": plan, "graph": graph}


def scheduler_of(run: Run) -> Scheduler:
    """Return the scheduler of the run."""
    return SCHEDULERS[run.workflow.kind]
