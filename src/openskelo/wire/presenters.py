"""One presenter for each kind of workflow: the difference between projections of blocks, plans and live graphs.

A presenter says which nodes a fact may change beside its own, and keeps the run's phase up to date without looking at
all nodes: `run_status.run_phase` in O(1).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from openskelo.kernel import definition, events
from openskelo.kernel import run as runs
from openskelo.wire import run_status

#: Facts after which a node may be done, so that the nodes after it may change too.
_MAY_RELEASE_TARGETS = (events.AttemptSucceeded, events.NodeFinished, events.NodeSkipped, events.NodeKept)


class Presenter:
    """The answers to what a projection asks about its run. `update` is called for each node that a fact has changed."""

    #: True if a node that has succeeded hands its outputs over to the nodes after it, without a fact that says so.
    hands_over = True
    #: True if a node that is entered again begins with new details. Those of blocks are reset by the bounce.
    resets_on_entry = True

    def __init__(self, run: runs.Run) -> None:
        self._run = run
        self._phases = run_status.node_phases(run.workflow)
        self._has_started = False

    def node_phase(self, key: str) -> run_status.NodePhase:
        """Return the phase that a node belongs to."""
        return self._phases.get(key, "EXECUTE")

    def changed_nodes(self, event: events.Event, key: str) -> Collection[str]:
        """Return the keys of the nodes that a fact about the node `key` may have changed."""
        del event
        return (key,)

    def update(self, key: str, node: runs.NodeState) -> None:
        """Take the node's status into account."""
        del key
        self._has_started = self._has_started or run_status.has_started(node)

    def phase(self) -> run_status.Phase:
        """Return the run's phase."""
        if self._run.ended:
            return "DONE"
        if self._has_started:
            return self._working_phase()
        return "BOOT"

    def _working_phase(self) -> run_status.NodePhase:
        return "EXECUTE"


class LiveGraphPresenter(Presenter):
    """A live graph is in EXECUTE. Its nodes hand over by facts of their own."""

    hands_over = False


class PlanPresenter(Presenter):
    """A plan is in the phase of the step that was entered last, and has at most one next step."""

    def __init__(self, run: runs.Run) -> None:
        super().__init__(run)
        self._current_step = ""

    def changed_nodes(self, event: events.Event, key: str) -> Collection[str]:
        """Return the step and the next one."""
        del event
        return dict.fromkeys((key, *self._run.ready, *self._run.resolving))

    def update(self, key: str, node: runs.NodeState) -> None:
        """Remember the step if it was entered."""
        super().update(key, node)
        if node.visit and node.status != "done":
            self._current_step = key

    def _working_phase(self) -> run_status.NodePhase:
        return self._phases[self._current_step]


class BlocksPresenter(Presenter):
    """Blocks are in the first phase with unfinished nodes: these are counted."""

    resets_on_entry = False

    def __init__(self, run: runs.Run) -> None:
        super().__init__(run)
        self._present = set(self._phases.values())
        self._unfinished: dict[run_status.NodePhase, int] = dict.fromkeys(run_status.PHASES, 0)
        # All nodes count as done until RunCreated, which touches every node, counts the unfinished ones.
        self._done: set[str] = set(run.workflow.nodes)

    def changed_nodes(self, event: events.Event, key: str) -> Collection[str]:
        """Return the node, and the nodes after it if it may be done now."""
        releases = isinstance(event, _MAY_RELEASE_TARGETS) and self._run.nodes[key].status == "done"
        if releases:
            return (key, *self._run.dependencies.targets[key])
        return (key,)

    def update(self, key: str, node: runs.NodeState) -> None:
        """Count the node if it is done now, or is no more."""
        super().update(key, node)
        is_done = node.status == "done"
        if is_done and key not in self._done:
            self._done.add(key)
            self._unfinished[self._phases[key]] -= 1
        elif not is_done and key in self._done:
            self._done.discard(key)
            self._unfinished[self._phases[key]] += 1

    def _working_phase(self) -> run_status.NodePhase:
        open_phases: set[run_status.NodePhase] = {phase for phase, count in self._unfinished.items() if count}
        return run_status.first_unfinished_phase(open_phases, self._present)


#: The presenter of each kind of workflow.
PRESENTERS: Mapping[definition.Kind, type[Presenter]] = {
    "blocks": BlocksPresenter,
    "plan": PlanPresenter,
    "graph": LiveGraphPresenter,
}
