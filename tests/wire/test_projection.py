"""The wire in every history: patches add up to snapshots, documents keep to their schemas, what is opened is closed."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

from openskelo.kernel import run as runs
from openskelo.kernel.apply import apply
from openskelo.kernel.json import JsonObject
from openskelo.record import envelope
from openskelo.wire import edges, node_document, run_status, wire_ids
from openskelo.wire.projection import Projection
from tests.kernel.play import Play
from tests.kernel.stage import RUN
from tests.wire import patching, wired

SEEDS = st.integers(0, 2**32)


def told(play: Play) -> tuple[list[list[dict[str, Any]]], list[Any]]:
    """The wire events of each fact, and the snapshots before, between and after them."""
    projection = Projection(RUN, play.workflow)
    snapshots: list[Any] = [projection.snapshot()]
    each: list[list[dict[str, Any]]] = []
    for seq, fact in enumerate(play.log, 1):
        each.append(projection.apply(seq, fact))
        snapshots.append(projection.snapshot())
    return each, snapshots


def flat(each: list[list[dict[str, Any]]]) -> list[dict[str, Any]]:
    return [event for events in each for event in events]


@settings(max_examples=60)
@given(SEEDS)
def test_a_snapshot_and_the_events_after_it_are_the_later_snapshot(seed: int) -> None:
    play = wired.history(seed)
    each, snapshots = told(play)
    assert snapshots[0] == patching.empty(RUN)
    for number, events in enumerate(each):
        assert patching.fold(snapshots[number], events) == snapshots[number + 1]
    chance = Random(seed)
    for _ in range(5):
        early, late = sorted(chance.choices(range(len(snapshots)), k=2))
        assert patching.fold(snapshots[early], flat(each[early:late])) == snapshots[late]
    assert patching.fold(snapshots[0], flat(each)) == snapshots[-1]
    assert snapshots[-1]["seq"] == len(play.log)


@settings(max_examples=30)
@given(SEEDS)
def test_projecting_from_scratch_gives_the_same_events_and_documents(seed: int) -> None:
    play = wired.history(seed)
    each, snapshots = told(play)
    again = Projection(RUN, play.workflow)
    for line, events, snapshot in zip(sealed(play), each, snapshots[1:], strict=True):
        stored, fact = envelope.open_line(line)
        assert again.apply(stored["seq"], fact) == events  # pyright: ignore[reportArgumentType] - an integer
        assert again.snapshot() == snapshot


def sealed(play: Play) -> list[bytes]:
    chain = envelope.Chain(RUN)
    return list(envelope.seal(chain, play.log))


@settings(max_examples=60)
@given(SEEDS)
def test_no_node_changes_without_a_patch_and_the_command_line_agrees(seed: int) -> None:
    """After every fact each node's document is what looking at the whole run gives."""
    play = wired.history(seed)
    projection = Projection(RUN, play.workflow)
    run = runs.new(RUN, play.workflow)
    phases = run_status.node_phases(play.workflow)
    reaching = edges.workflow_edges(RUN, play.workflow).incoming
    for seq, fact in enumerate(play.log, 1):
        projection.apply(seq, fact)
        apply(run, fact)
        snapshot: Any = projection.snapshot()
        asked = {question.node for question in run.approvals.values()}
        for key, node in run.nodes.items():
            document = snapshot["nodes"][wire_ids.node(RUN, key)]
            trace = projection._details[key]  # pyright: ignore[reportPrivateUsage] - what it says is tested elsewhere
            assert document == {
                **node_document.constant_fields(run, play.workflow.nodes[key], phases[key], lambda _: False),
                **node_document.current_fields(run, node, trace),
            }
            assert document["status"] == run_status.node_status(run, node, has_approval=key in asked)
            if node.status == "waiting":
                there = [edge for edge in reaching[key] if run.nodes[edge.source].outcome == "succeeded"]
                assert document["inboxCount"] == len(there)
        if run.plan_state is None or run.ending is None or run.ended:  # a plan that is being stopped has no step
            assert snapshot["phase"] == run_status.run_phase(run)
        assert set(snapshot["approvals"]) == set(run.approvals)
        assert snapshot["status"] == runs.status(run)
        if snapshot["status"] == "paused":
            assert run.paused is not None or run.approvals, "paused although no person is asked"


@settings(max_examples=40)
@given(SEEDS)
def test_every_document_keeps_to_its_published_schema(seed: int) -> None:
    each, snapshots = told(wired.history(seed))
    for events, snapshot in zip(each, snapshots[1:], strict=True):
        assert [fault for event in events for fault in wired.faults("event", event)] == []
        assert wired.faults("run", snapshot) == []


@settings(max_examples=60)
@given(SEEDS)
@example(628348694)  # a person allows anew what was cut before
def test_whatever_is_opened_is_closed_once_and_in_order(seed: int) -> None:
    """Calls and questions; and every model's attempt that was started ends in one final message."""
    each, snapshots = told(wired.history(seed))
    open_calls: set[str] = set()
    proposed: set[str] = set()
    open_questions: set[str] = set()
    messages: Counter[str] = Counter()
    for event in flat(each):
        match event["type"]:
            case "tool.proposed":
                assert event["tool"]["id"] not in open_calls
                open_calls.add(event["tool"]["id"])
                proposed.add(event["tool"]["id"])
            case "tool.started":
                assert event["tool"]["id"] not in open_calls - proposed
                open_calls.add(event["tool"]["id"])
            case "tool.completed":
                open_calls.remove(event["toolId"])
            case "approval.requested":
                open_questions.add(event["approvalId"])
            case "approval.resolved":
                open_questions.remove(event["approvalId"])
            case "message.assistant.final":
                messages[event["messageId"]] += 1
            case _:
                pass
    assert (open_calls, open_questions) == (set(), set())
    assert set(messages.values()) <= {1}
    last = snapshots[-1]
    failed = {"failed": "failed"}  # a finished node is idle, unless it has failed
    assert all(node["status"] == failed.get(node["outcome"], "idle") for node in last["nodes"].values())
    assert (last["phase"], last["approvals"]) == ("DONE", {})


@settings(max_examples=30)
@given(SEEDS)
def test_events_are_numbered_within_their_fact_and_end_with_the_runs_patch(seed: int) -> None:
    play = wired.history(seed)
    each, _ = told(play)
    stored: list[JsonObject] = [envelope.open_line(line)[0] for line in sealed(play)]
    for fact, events in zip(stored, each, strict=True):
        assert [event["index"] for event in events] == list(range(len(events)))
        assert {(event["seq"], event["ts"], event["runId"]) for event in events} == {(fact["seq"], fact["ts"], RUN)}
        assert [event["type"] for event in events].index("run.patch") == len(events) - 1
        assert events[-1]["patch"]["seq"] == fact["seq"]
    found = [event["id"] for event in flat(each)]
    assert len(set(found)) == len(found)


def test_the_histories_have_every_event_that_blocks_and_plans_can_have() -> None:
    kinds: Counter[str] = Counter()
    kinds_of_runs: Counter[str] = Counter()
    for seed in range(250):
        each, snapshots = told(wired.history(seed))
        kinds_of_runs[snapshots[-1]["kind"]] += 1
        kinds.update(event["type"] for event in flat(each))
    assert min(kinds_of_runs["blocks"], kinds_of_runs["plan"]) > 30
    assert set(kinds) == {
        "run.patch",
        "run.phase",
        "run.mode",
        "run.stalled",
        "node.patch",
        "edge.created",
        "handoff.sent",
        "message.assistant.final",
        "tool.proposed",
        "tool.started",
        "tool.completed",
        "approval.requested",
        "approval.resolved",
        "artifact.created",
    }
