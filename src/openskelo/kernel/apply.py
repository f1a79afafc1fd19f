"""Apply a fact to a run. Never refuses, never chooses, and costs the same however long the run is.

What a fact means for the sets of owed work is said here and in the three files this one calls: `places` (entering and
leaving nodes), `landing` (attempts) and `asking` (people).
"""

from __future__ import annotations

from typing import assert_never

from openskelo.kernel import asking, events, graph_events, landing, places
from openskelo.kernel.flows import plan, turns
from openskelo.kernel.places import asks, needs_resolution
from openskelo.kernel.run import Run, is_busy

__all__ = ["apply", "asks", "needs_resolution"]


def apply(run: Run, event: events.Event) -> None:
    """Make `event` part of the run."""
    match event:
        case events.AttemptSucceeded():
            landing.succeeded(run, event)
        case events.AttemptStarted():
            landing.started(run, event)
        case events.RunCreated():
            _run_created(run, event)
        case events.RunEnded():
            run.ending, run.error, run.ended = event.ending, event.error, True
        case events.AttemptFailed():
            landing.failed(run, event)
        case events.AttemptInterrupted():
            landing.interrupted(run, event)
        case events.AttemptCancelled():
            landing.cancelled(run, event)
        case events.RetryDue():
            landing.due(run, event)
        case events.NodeKept() | events.NodeUnjudged() | events.ItemsKept():
            places.kept(run, event)
        case events.NodeResolved():
            places.resolved(run, event)
        case events.NodeSkipped():
            places.skipped(run, event)
        case events.NodeFinished():
            places.finish(run, run.nodes[event.node], event.at)
        case events.NodeFailed():
            landing.fail(run, run.nodes[event.node], event)
        case events.NodeBounced():
            places.bounced(run, event)
        case events.ApprovalRequested():
            asking.requested(run, event)
        case events.ApprovalResolved():
            asking.resolved(run, event)
        case events.ApprovalWithdrawn():
            asking.withdrawn(run, event)
        case events.ArtifactCreated():
            run.artifacts.append({**event.artifact, "node": event.node})
        case events.RunRecovered():
            _run_recovered(run)
        case (
            graph_events.NodeAdded()
            | graph_events.NodeChanged()
            | graph_events.NodeRemoved()
            | graph_events.EdgeAdded()
            | graph_events.EdgeRemoved()
            | graph_events.MessageReceived()
            | graph_events.HandoffSent()
        ):
            turns.apply(run, event)
        case _:  # the type checker holds what is left to what it takes
            _run_changed(run, event)
    run.updated_at = event.at
    if not run.in_flight or run.active_since is None:  # else its time runs on
        _keep_time(run, event.at)


def _keep_time(run: Run, at: int) -> None:
    """Wall time runs while the run is busy, and stands still while only a person can move it."""
    if is_busy(run):
        if run.active_since is None:
            run.active_since = at
    elif run.active_since is not None:
        run.spent.wall_ms += max(0, at - run.active_since)
        run.active_since = None


def _run_created(run: Run, event: events.RunCreated) -> None:
    run.created = True
    run.created_at = event.at
    run.inputs = event.inputs
    run.definition = event.definition
    run.mode = event.mode
    run.global_mode = event.global_mode
    run.parent = event.parent
    run.no_cache = event.no_cache is True
    _learn_resolves(run)
    if run.course is not None:
        plan.begin(run, run.course, event)
        return
    for node in run.nodes.values():
        if node.waiting == 0:
            places.enter(run, node, event.at)


def _learn_resolves(run: Run) -> None:
    if run.mode == "AUTO" and run.live is None:
        run.resolves = run.graph.resolving
    else:
        nodes = run.workflow.nodes
        run.resolves = frozenset(key for key, node in nodes.items() if places.needs_resolution(run, node))


def _run_changed(
    run: Run,
    event: events.RunStalled | events.RunPaused | events.RunResumed | events.RunModeChanged | events.RunEnding,
) -> None:
    match event:
        case events.RunStalled():
            turns.held(run, event)  # else evidence for people; the question that follows it holds the state
        case events.RunPaused():
            run.paused = event.reason
        case events.RunResumed():
            run.paused = None
        case events.RunModeChanged():
            run.mode, run.global_mode = event.mode, event.global_mode
            _learn_resolves(run)
        case events.RunEnding():
            run.ending, run.error = event.ending, event.error
            if run.live is not None:
                run.unfinished = 0
            run.bouncing = None  # what was to be entered anew will not be
        case _:
            assert_never(event)


def _run_recovered(run: Run) -> None:
    """The time nobody drove the run is not the run's; what was in flight is lost until `follow` rules on it."""
    if run.active_since is not None:
        run.spent.wall_ms += max(0, run.updated_at - run.active_since)
        run.active_since = None
    run.lost.update(run.in_flight)
    run.in_flight.clear()
