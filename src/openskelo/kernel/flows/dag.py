"""The scheduler of blocks: a node is entered when all of its sources are done (`dependencies`).

Nodes without sources are entered when the run starts; several may run at once. The run ends when every node is done.
It implements `scheduler.Scheduler`.
"""

from __future__ import annotations

from openskelo.errors import Refused
from openskelo.kernel import commands, events, outcome
from openskelo.kernel.flows import visits
from openskelo.kernel.run import NodeState, Run

# -- decide -----------------------------------------------------------------------------------------------------------


def check_start(run: Run, command: commands.CreateRun) -> None:
    """Raise Refused KEPT_INVALID if `unjudged` outputs do not belong to a node that the run starts with."""
    if command.unjudged is None:
        return
    key = str((command.parent or {}).get("node"))
    spec = run.workflow.nodes.get(key)
    starts = all(source in command.kept for source in run.dependencies.sources.get(key, ()))
    if spec is None or not starts or key in command.kept or spec.foreach is not None or spec.work.asks_person:
        raise Refused(f"the run does not start with {key}, whose outputs were given", code="KEPT_INVALID")


def refuse_visit(_run: Run, _node: NodeState, _at: int) -> events.NodeFailed | None:
    """Return None: a bounce rule limits how often blocks are entered."""
    return None


def completion(
    _run: Run, succeeded: events.AttemptSucceeded, _outcome: outcome.Outcome | None
) -> tuple[events.Event, ...]:
    """Return the success alone; `node_done` enters the targets."""
    return (succeeded,)


def closing(run: Run, at: int) -> events.RunEnding | None:
    """Return the ending of a run that failed or is stuck; None if it can go on, or every node is done."""
    return visits.failed_ending(run, at)


# -- apply ------------------------------------------------------------------------------------------------------------


def start(run: Run, event: events.RunCreated) -> int:
    """Enter every node that has no source; return the number of all nodes."""
    for node in run.nodes.values():
        if node.waiting == 0:
            visits.enter(run, node, event.at)
    return len(run.nodes)


def node_done(
    run: Run,
    node: NodeState,
    event: events.AttemptSucceeded | events.NodeFinished | events.NodeSkipped | events.NodeKept,
) -> None:
    """Enter the targets of the node whose sources are all done now."""
    node.status = "done"
    run.unfinished -= 1
    for key in run.dependencies.targets[node.key]:
        target = run.nodes[key]
        target.waiting -= 1
        if target.waiting == 0 and target.status == "waiting":
            visits.enter(run, target, event.at)


def node_failed(run: Run, node: NodeState, event: events.AttemptFailed | events.NodeFailed) -> None:
    """Fail the run."""
    visits.fail_run(run, node, event)
