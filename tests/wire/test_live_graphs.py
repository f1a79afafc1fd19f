"""Live graphs on the wire and under verification: patches add up, documents keep to their schemas, forgeries show."""

from __future__ import annotations

from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from openskelo.kernel import commands, definition, events, workflow_codec
from openskelo.record import bundle
from openskelo.record.state_check import StateCheck
from openskelo.structs import replace
from openskelo.values import canonical
from openskelo.wire import wire_ids
from openskelo.wire.projection import Projection
from tests.kernel import live_play, stage
from tests.kernel.flows.test_graph import Room, room
from tests.kernel.live_play import edge_id, worker
from tests.kernel.stage import RUN
from tests.record import verifying
from tests.record.test_histories import honest
from tests.wire import patching, wired

SEEDS = st.integers(0, 2**32)


class WiredLive(wired.Wired, live_play.LivePlay):
    """Turns that also leave files, verdicts and large values."""


@settings(max_examples=40, deadline=None)
@given(SEEDS)
def test_a_snapshot_and_the_events_after_it_are_the_later_snapshot(seed: int) -> None:
    play = live_play.play(seed, WiredLive)
    projection = Projection(RUN, play.workflow)
    snapshot: Any = patching.empty(RUN)
    for seq, fact in enumerate(play.log, 1):
        snapshot = patching.fold(snapshot, projection.apply(seq, fact))
        assert snapshot == projection.snapshot()
    assert (snapshot["kind"], snapshot["phase"], snapshot["seq"]) == ("graph", "DONE", len(play.log))


@settings(max_examples=12, deadline=None)
@given(SEEDS)
def test_what_is_told_keeps_to_the_published_schemas(seed: int) -> None:
    play = live_play.play(seed, WiredLive)
    projection = Projection(RUN, play.workflow)
    for seq, fact in enumerate(play.log, 1):
        for event in projection.apply(seq, fact):
            assert wired.faults("event", event) == []
    assert wired.faults("run", projection.snapshot()) == []


@settings(max_examples=60, deadline=None)
@given(SEEDS)
def test_every_live_graph_verifies(seed: int) -> None:
    play = live_play.play(seed)
    shape = replace(play.workflow, hash=canonical.digest("live"))
    log = [_of(fact, shape.hash) for fact in play.log]
    found = verifying.lines(stage.sealed(honest(log)), workflow=shape)
    assert [problem for problem in found.problems if problem.code != "DEFINITION_MISSING"] == []


def _of(fact: events.Event, name: str) -> events.Event:
    """The fact as one of a run that pins another hash."""
    if isinstance(fact, events.RunCreated):
        return replace(fact, workflow_hash=name)
    receipt = getattr(fact, "receipt", None)
    if receipt is None:
        return fact
    return replace(cast("Any", fact), receipt={**receipt, "workflow_hash": name})


def told(live: Room) -> list[dict[str, Any]]:
    projection = Projection(RUN, live.workflow)
    return [cast("Any", event) for seq, fact in enumerate(live.log, 1) for event in projection.apply(seq, fact)]


def test_a_large_message_and_a_large_answer_are_named_not_sent() -> None:
    live = room("a", "b")
    live.tie("a", "b")
    large: Any = {"blob": canonical.digest("x"), "bytes": 40_000}
    live.step(commands.SendMessage(at=live.at, by="nora", node="a", message_id=edge_id("m", "m"), content=large))
    (message,) = [event["message"] for event in told(live) if event["type"] == "message.user"]
    assert (message["content"], message["stored"]) == ("", large)
    assert [name for fact in live.log for name in bundle.blob_references(fact)][1:] == [large["blob"]]


def test_what_waits_is_counted_and_what_is_read_is_not() -> None:
    live = room("a")
    node_id = wire_ids.node(RUN, "a")
    live.say("a", "one")
    live.say("a", "two")
    projection = Projection(RUN, live.workflow)
    for seq, fact in enumerate(live.log, 1):
        projection.apply(seq, fact)
    shown: Any = projection.snapshot()["nodes"]
    assert (shown[node_id]["inboxCount"], shown[node_id]["status"]) == (1, "running")


def test_a_failed_node_shows_also_when_the_run_has_ended() -> None:
    live = room("a")
    live.say("a", "one")
    live.fail("a")
    live.step(commands.CompleteRun(at=live.at, by="nora"))
    statuses = [
        event["patch"]["status"] for event in told(live) if event["type"] == "node.patch" and "status" in event["patch"]
    ]
    assert statuses == ["idle", "running", "failed"]


def forged(fact: Any) -> str | None:
    """Why a fact cannot come next where `a` is tied to `b` one way, has spoken, and `b` is in a turn."""
    live = room("a", "b")
    live.tie("a", "b", both=False)
    live.say("a", "go")
    live.succeed("a")
    fold = StateCheck(RUN, live.workflow)
    assert [fold.check(event) for event in live.log] == [None] * len(live.log)
    return fold.check(fact)


def added(key: str, node: definition.Node) -> events.NodeAdded:
    return events.NodeAdded(at=1, node=key, definition=workflow_codec.encode_node(node), by="x")


def edge(name: str, source: str, target: str) -> events.EdgeAdded:
    return events.EdgeAdded(
        at=1, edge=name, source=source, target=target, bidirectional=True, type="handoff", label="", by="x"
    )


def handoff(node: str, to: str, *, name: str = "", turn: int = 1) -> events.HandoffSent:
    return events.HandoffSent(at=1, node=node, turn=turn, handoff_id="h", edge=name or edge_id("a", "b"), to=to)


@pytest.mark.parametrize(
    "fact",
    [
        added("a", worker("a")),
        added("c", worker("d")),
        added("c", worker("c", when="x")),
        events.NodeAdded(at=1, node="c", definition={}, by="x"),
        events.NodeChanged(at=1, node="b", definition=workflow_codec.encode_node(worker("b")), by="x"),
        events.NodeChanged(at=1, node="a", definition=workflow_codec.encode_node(worker("a", mode="ai")), by="x"),
        events.NodeRemoved(at=1, node="a", by="x"),
        events.NodeRemoved(at=1, node="c", by="x"),
        edge("e", "a", "a"),
        edge(edge_id("a", "b"), "a", "b"),
        events.EdgeRemoved(at=1, edge="e", by="x"),
        events.MessageReceived(
            at=1, node="c", message_id="m", role="user", content={"value": ""}, interrupt=False, by="x"
        ),
        handoff("a", "b", name="e"),
        handoff("b", "a"),
        handoff("a", "a"),
        handoff("a", "b", turn=7),
    ],
)
def test_a_fact_that_cannot_have_happened_is_refused(fact: events.GraphEvent) -> None:
    assert forged(fact) is not None


def test_facts_of_a_graph_do_not_happen_to_blocks() -> None:
    blocks = stage.Stage(stage.flow(stage.work("a")))
    blocks.create()
    for fact in (added("b", worker("b")), _cancelled(blocks)):
        fold = StateCheck(RUN, blocks.workflow)
        assert [fold.check(event) for event in blocks.log] == [None] * len(blocks.log)
        assert fold.check(fact) == "the run is no live graph"


def _cancelled(blocks: stage.Stage) -> events.Event:
    return events.AttemptCancelled(at=blocks.at, node="a", visit=1, attempt=1, reason="interrupt", receipt={})
