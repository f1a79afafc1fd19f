"""Every scheduler keeps the same laws, whatever the workflow and whatever happens to the run."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping
from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from openskelo.errors import Refused
from openskelo.kernel import commands, definition, events
from openskelo.kernel import run as runs
from openskelo.kernel.apply import apply
from openskelo.kernel.flows.scheduler import SCHEDULERS, scheduler_of
from openskelo.structs import replace
from tests.kernel import live_play, relay, test_histories
from tests.kernel.play import Play
from tests.kernel.stage import RUN, START, Stage, flow, work

SEEDS = st.integers(0, 2**32)


def _finished(play: Play) -> Play:
    test_histories.finish(play, trouble=0.1)
    return play


#: By kind: a random run that has ended, through crashes, pauses and refused commands.
PLAYS: Mapping[str, Callable[[int], Play]] = {
    "blocks": lambda seed: _finished(test_histories.begin(seed)),
    "plan": lambda seed: _finished(test_histories.begin_plan(seed)),
    "graph": live_play.play,
    "relay": lambda seed: _finished(relay.begin(seed)),
}


def play_to_the_end(kind: str, seed: int) -> Play:
    """Return a random run of this kind that has ended."""
    return PLAYS[kind](seed)


@pytest.fixture(scope="module", autouse=True)
def _new_kind() -> Iterator[None]:
    with relay.added():
        yield


def replay(play: Play) -> Iterator[tuple[runs.Run, events.Event]]:
    """Yield the run before each of its events, with the event; the event is applied when the caller goes on."""
    run = runs.new(RUN, play.workflow)
    for event in play.log:
        yield run, event
        apply(run, event)


def test_every_kind_of_workflow_has_a_scheduler() -> None:
    assert set(SCHEDULERS) == set(PLAYS) == {*get_args(definition.Kind), "relay"}


def test_a_new_kind_ends_as_ok_when_each_of_its_nodes_has_run() -> None:
    stage = Stage(relay.workflow(work("a"), work("b"), work("c")))
    assert stage.create() == ["run.created", "attempt.started a 1.1"]
    assert stage.succeed("a") == ["attempt.succeeded a 1.1", "attempt.started b 1.1"]
    assert stage.succeed("b") == ["attempt.succeeded b 1.1", "attempt.started c 1.1"]
    assert stage.succeed("c") == ["attempt.succeeded c 1.1", "run.ended ok"]


@pytest.mark.parametrize("kind", PLAYS)
@settings(max_examples=15)
@given(SEEDS)
def test_a_scheduler_only_reads_the_run_when_it_decides(kind: str, seed: int) -> None:
    for run, event in replay(play_to_the_end(kind, seed)):
        if not run.created or run.ending is not None:
            continue
        before = copy.deepcopy(run)
        scheduler = scheduler_of(run)
        scheduler.closing(run, event.at)
        for node in run.nodes.values():
            scheduler.refuse_visit(run, node, event.at)
        if isinstance(event, events.AttemptSucceeded):
            scheduler.completion(run, event, None)
        assert run == before


@pytest.mark.parametrize("kind", PLAYS)
@settings(max_examples=30)
@given(SEEDS)
def test_what_is_entered_exists_and_may_start(kind: str, seed: int) -> None:
    for run, event in replay(play_to_the_end(kind, seed)):
        assert set(run.nodes) == set(run.workflow.nodes)
        if run.failed is not None or run.ending is not None:
            continue  # a failed node is done, though attempts on other items of it are still to be stopped
        for key in (*run.ready, *run.resolving, *run.finishing, *(attempt.node for attempt in run.in_flight.values())):
            node = run.nodes[key]
            assert (node.visit > 0, node.status in ("ready", "resolving", "active", "asking")) == (True, True)
        if isinstance(event, events.AttemptStarted):
            node = run.nodes[event.node]
            assert event.node in run.ready
            assert scheduler_of(run).refuse_visit(run, node, event.at) is None


@pytest.mark.parametrize("kind", PLAYS)
@settings(max_examples=30)
@given(SEEDS)
def test_a_success_is_recorded_once(kind: str, seed: int) -> None:
    for run, event in replay(play_to_the_end(kind, seed)):
        if isinstance(event, events.AttemptSucceeded):
            completed = scheduler_of(run).completion(run, event, None)
            successes = [fact for fact in completed if isinstance(fact, events.AttemptSucceeded)]
            assert successes == [event]


@pytest.mark.parametrize("kind", PLAYS)
@settings(max_examples=30)
@given(SEEDS)
def test_a_node_that_is_done_is_left_or_entered_again(kind: str, seed: int) -> None:
    left: tuple[str, int] | None = None
    for run, event in replay(play_to_the_end(kind, seed)):
        if left is not None:
            key, visit = left
            node = run.nodes[key]
            assert node.visit > visit or node.status == "done" or _is_held(run, key)
        left = None
        if isinstance(event, events.NodeFinished | events.NodeSkipped | events.NodeFailed):
            left = event.node, event.visit
        if isinstance(event, events.AttemptSucceeded) and run.workflow.nodes[event.node].foreach is None:
            left = event.node, event.visit


def _is_held(run: runs.Run, key: str) -> bool:
    return run.graph_state is not None and run.graph_state.inboxes[key].held_edges is not None


@pytest.mark.parametrize("kind", PLAYS)
@settings(max_examples=30)
@given(SEEDS)
def test_a_failed_node_fails_the_run_or_the_run_goes_on_without_it(kind: str, seed: int) -> None:
    failed: events.AttemptFailed | events.NodeFailed | None = None
    for run, _event in replay(play_to_the_end(kind, seed)):
        if failed is not None:
            ends = run.failed is not None
            assert ends == (scheduler_of(run).closing(run, failed.at) is not None)
            assert ends or run.unfinished
        failed = None
        if isinstance(_event, events.NodeFailed) or (
            isinstance(_event, events.AttemptFailed) and _event.next == "fail"
        ):
            failed = _event


@pytest.mark.parametrize("kind", PLAYS)
@settings(max_examples=30)
@given(SEEDS)
def test_a_run_ends_as_ok_only_when_nothing_is_left_to_do(kind: str, seed: int) -> None:
    play = play_to_the_end(kind, seed)
    for run, event in replay(play):
        if isinstance(event, events.RunEnded) and event.ending == "ok":
            assert (run.unfinished, run.failed) == (0, None)
    assert play.run.ended


@pytest.mark.parametrize("kind", PLAYS)
def test_a_run_does_not_start_with_outputs_to_judge_of_a_node_that_is_not_its_first(kind: str) -> None:
    workflow = {
        "blocks": flow(work("a")),
        "plan": replace(flow(_step("a")), plan=definition.Plan(entry="a")),
        "graph": live_play.empty(),
        "relay": relay.workflow(work("a")),
    }[kind]
    assert workflow.kind == kind
    run = runs.new(RUN, workflow)
    create = commands.CreateRun(at=START, definition="d", inputs={"value": {}}, by="nora")
    scheduler_of(run).check_start(run, create)
    with pytest.raises(Refused) as refused:
        scheduler_of(run).check_start(run, replace(create, unjudged={"value": 1}, parent={"node": "b"}))
    assert refused.value.code == "KEPT_INVALID"


def _step(key: str) -> definition.Node:
    step = definition.Step(op="transform", args={})
    return definition.Node(key=key, mode="deterministic", step=step)
