"""Live graphs: inboxes, turns, handoffs, interrupts, bounds; and what holds in every history of one."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from openskelo.errors import Refused
from openskelo.kernel import commands, definition, events, outcome, workflow_codec
from openskelo.kernel import run as runs
from openskelo.kernel.flows import graph
from tests.kernel import live_play
from tests.kernel.live_play import edge_id, worker
from tests.kernel.stage import Stage, flow, work


class Room(Stage):
    """A stage with a live graph on it."""

    def add(self, *keys: str, **more: Any) -> list[str]:
        told: list[str] = []
        for key in keys:
            told += self.step(commands.AddNode(at=self.at, by="nora", node=worker(key, **more)))
        return told

    def tie(self, source: str, target: str, *, both: bool = True) -> list[str]:
        return self.step(
            commands.AddEdge(
                at=self.at,
                by="nora",
                id=edge_id(source, target),
                source=source,
                target=target,
                bidirectional=both,
                type="handoff",
                label="task",
            )
        )

    def say(self, key: str, content: str, *, interrupt: bool = False) -> list[str]:
        return self.step(
            commands.SendMessage(
                at=self.at,
                by="nora",
                node=key,
                message_id=content,
                content={"value": content},
                interrupt=interrupt,
            )
        )

    def read(self, key: str) -> list[str]:
        """What the turn under way is about: texts, and who handed something over."""
        return [letter.source or str(letter.content["value"]) for letter in self.box(key).turn()]

    def box(self, key: str) -> Any:
        assert self.run.graph_state is not None
        return self.run.graph_state.inboxes[key]


def room(*keys: str, **more: Any) -> Room:
    found = Room(live_play.empty(**more))
    found.create()
    found.add(*keys)
    return found


def refused(code: str, room: Room, command: commands.Command) -> None:
    before = len(room.log)
    with pytest.raises(Refused) as raised:
        room.step(command)
    assert (raised.value.code, len(room.log)) == (code, before)


def test_an_empty_graph_waits_and_ends_when_somebody_says_so() -> None:
    live = Room(live_play.empty())
    assert live.create() == ["run.created"]
    assert runs.status(live.run) == "paused"
    assert live.step(commands.CompleteRun(at=live.at, by="nora")) == ["run.ending ok", "run.ended ok"]
    assert (runs.status(live.run), live.run.ending) == ("completed", "ok")


def test_a_message_begins_a_turn_that_reads_the_whole_inbox() -> None:
    live = room("a")
    assert live.say("a", "one") == ["message.received a", "attempt.started a 1.1"]
    assert runs.status(live.run) == "running"
    assert live.say("a", "two") == ["message.received a"]
    live.say("a", "three")
    assert live.read("a") == ["one"]
    assert live.succeed("a") == ["attempt.succeeded a 1.1", "attempt.started a 2.1"]
    assert live.read("a") == ["two", "three"]
    live.succeed("a")
    assert (runs.status(live.run), live.read("a"), len(live.box("a").past_turns)) == ("paused", [], 2)


def test_a_paused_graph_reads_all_that_came_before_its_turn() -> None:
    live = room("a")
    live.step(commands.PauseRun(at=live.at, by="nora"))
    live.say("a", "one")
    live.say("a", "two", interrupt=True)
    assert live.read("a") == ["one", "two"]
    assert live.step(commands.ResumeRun(at=live.at, by="nora"))[1:] == ["attempt.started a 1.1"]


def test_a_turn_is_handed_on_and_never_back_by_itself() -> None:
    live = room("a", "b", "c")
    live.tie("a", "b")
    live.tie("b", "c", both=False)
    live.say("a", "go")
    assert live.succeed("a") == ["attempt.succeeded a 1.1", "handoff.sent a", "attempt.started b 1.1"]
    assert live.read("b") == ["a"]
    assert live.succeed("b") == ["attempt.succeeded b 1.1", "handoff.sent b", "attempt.started c 1.1"]
    assert live.succeed("c", route="both") == ["attempt.succeeded c 1.1"]  # the edge leads one way only
    assert runs.status(live.run) == "paused"


def test_an_answer_goes_back_where_it_says_so_and_is_not_answered_by_itself() -> None:
    live = room("a", "b")
    live.tie("a", "b")
    live.say("a", "go")
    live.succeed("a")
    assert live.succeed("b", route="back") == ["attempt.succeeded b 1.1", "handoff.sent b", "attempt.started a 2.1"]
    assert live.succeed("a") == ["attempt.succeeded a 2.1"]
    live.say("a", "again")
    assert live.succeed("a", route="none") == ["attempt.succeeded a 3.1"]


def test_handoffs_and_messages_keep_their_order() -> None:
    live = room("a", "b")
    live.tie("a", "b")
    live.say("b", "first")
    live.say("a", "go")
    live.say("b", "second")
    live.succeed("a")
    live.say("b", "third")
    live.succeed("b")
    assert live.read("b") == ["second", "a", "third"]


def test_an_interrupt_cuts_the_turn_and_the_next_reads_both() -> None:
    live = room("a")
    live.say("a", "one")
    told = live.say("a", "stop", interrupt=True)
    assert told == ["message.received a", "attempt.cancelled a 1.1 interrupt", "attempt.started a 2.1"]
    assert live.read("a") == ["one", "stop"]


def test_an_effect_that_happens_once_is_not_interrupted() -> None:
    live = room()
    live.add("a", effect="once")
    live.say("a", "one")
    assert live.say("a", "stop", interrupt=True) == ["message.received a"]
    live.succeed("a")
    assert live.read("a") == ["stop"]


def test_an_interrupt_ends_the_wait_for_the_next_try() -> None:
    live = room()
    live.add("a", "b", retry=definition.Retry(max_attempts=3, delay_ms=50))
    live.say("a", "one")
    live.say("b", "other")
    live.fail("b")
    live.fail("a")
    assert live.run.backing_off == 2
    assert live.say("a", "queued") == ["message.received a"]
    assert live.say("a", "now", interrupt=True) == ["message.received a", "attempt.started a 2.1"]
    assert (live.run.backing_off, live.read("a")) == (1, ["one", "queued", "now"])
    assert live.tick(50) == ["attempt.due b", "attempt.started b 1.2"]


def test_an_interrupt_withdraws_the_question_before_a_turn() -> None:
    live = room()
    live.add("a", approval=definition.Approval(prompt="?"))
    live.say("a", "one")
    live.ask("a")
    assert live.say("a", "queued") == ["message.received a"]
    told = live.say("a", "now", interrupt=True)
    assert told == ["message.received a", "approval.withdrawn a interrupt"]
    assert (live.run.approvals, live.read("a")) == ({}, ["one", "queued", "now"])
    live.ask("a")
    assert live.answer("a") == ["approval.resolved a approved by nora", "attempt.started a 2.1"]


def test_what_comes_after_a_yes_waits_for_the_next_turn() -> None:
    live = room()
    live.add("a", approval=definition.Approval(prompt="?"))
    live.say("a", "one")
    live.ask("a")
    live.step(commands.PauseRun(at=live.at, by="nora"))
    live.answer("a")
    live.say("a", "two")
    assert live.read("a") == ["one"]


def test_a_failed_turn_fails_its_node_only() -> None:
    live = room("a")
    live.say("a", "one")
    assert live.fail("a") == ["attempt.failed a 1.1 fail"]
    node = live.run.nodes["a"]
    assert (runs.status(live.run), node.outcome, node.error and node.error["code"]) == ("paused", "failed", "BAD")
    live.say("a", "again")
    assert (live.read("a"), node.outcome, node.error) == (["again"], None, None)
    live.say("a", "meanwhile")
    assert live.fail("a") == ["attempt.failed a 2.1 fail", "attempt.started a 3.1"]


def test_a_denied_turn_fails_its_node_only() -> None:
    live = room()
    live.add("a", approval=definition.Approval(prompt="?"))
    live.say("a", "one")
    live.ask("a")
    assert live.answer("a", "denied") == ["approval.resolved a denied by nora", "attempt.failed a 1.1 fail"]
    assert (runs.status(live.run), live.run.nodes["a"].outcome) == ("paused", "failed")


def test_planning_fails_a_node_with_effects_and_the_graph_goes_on() -> None:
    live = Room(live_play.empty())
    live.create(global_mode="PLANNING")
    live.add("a", effect="idempotent")
    assert live.say("a", "act") == ["message.received a", "node.failed a denied PLANNING_MODE"]
    assert runs.status(live.run) == "paused"


def test_a_node_has_so_many_turns_and_a_run_so_many_steps() -> None:
    live = room(max_steps=3)
    live.add("a", turn=definition.Turn(max_turns=1))
    live.add("b")
    live.say("a", "one")
    live.succeed("a")
    assert live.say("a", "two") == ["message.received a", "node.failed a failed TURN_LIMIT"]
    for _ in range(2):
        live.say("b", "go")
        live.succeed("b")
    live.say("b", "more")
    assert live.ends() == ("budget_exceeded", "BUDGET_EXCEEDED")


def loop(**more: Any) -> Room:
    """Two nodes that answer each other in a circle, until one has said the same three times."""
    live = room(**more)
    live.add("a", "b")
    live.tie("a", "b", both=False)
    live.tie("b", "a", both=False)
    live.say("a", "go")
    for _ in range(3):
        live.succeed("a", value="x")
        live.succeed("b", value="y")
    return live


def test_the_same_again_and_again_is_held_until_a_person_has_been_asked() -> None:
    live = loop()
    assert live.run.approvals != {}
    asked = live.asked("b")
    assert (asked.kind, live.run.nodes["b"].status, runs.status(live.run)) == ("stalled", "asking", "paused")
    assert live.say("b", "queued") == ["message.received b"]
    told = live.answer("b")
    assert told == [
        "approval.resolved b approved by nora",
        "handoff.sent b",
        "attempt.started b 4.1",
        "attempt.started a 4.1",
    ]
    assert live.read("b") == ["queued"]


def test_a_held_turn_that_is_denied_goes_nowhere() -> None:
    live = loop()
    assert live.answer("b", "denied") == ["approval.resolved b denied by nora", "node.failed b failed STALLED"]
    assert (runs.status(live.run), live.run.nodes["b"].outcome) == ("paused", "failed")


def test_a_held_turn_goes_along_edges_that_are_still_there() -> None:
    live = loop()
    live.step(commands.RemoveEdge(at=live.at, by="nora", id=edge_id("b", "a")))
    assert live.answer("b") == ["approval.resolved b approved by nora"]


def test_what_a_person_asks_for_may_be_the_same_each_time() -> None:
    live = room("a", "b")
    live.tie("a", "b", both=False)
    for number in range(5):
        live.say("a", str(number))
        live.succeed("a", value="x")
        live.succeed("b", value=number)
    assert live.run.approvals == {}


def test_a_loop_within_a_turn_is_asked_about_as_in_blocks() -> None:
    live = room()
    live.add("a", retry=definition.Retry(max_attempts=9, stall_after=2))
    live.say("a", "one")
    live.fail("a", output="sha256:1")
    live.tick()
    live.fail("a", output="sha256:1")
    assert live.answer("a")[0] == "approval.resolved a approved by nora"
    assert runs.status(live.run) == "running"


def test_a_crash_in_a_turn_reads_the_same_again() -> None:
    live = room("a")
    live.say("a", "one")
    live.say("a", "two")
    assert live.crash() == ["run.recovered", "attempt.interrupted a 1.1 crash", "attempt.started a 1.2"]
    assert live.read("a") == ["one"]


def test_an_effect_in_doubt_is_asked_about_and_handed_on_when_it_happened() -> None:
    live = room()
    live.add("a", effect="once")
    live.add("b")
    live.tie("a", "b")
    live.say("a", "one")
    live.crash()
    refused("NODE_BUSY", live, commands.RemoveNode(at=live.at, by="nora", node="a"))
    assert live.say("a", "two", interrupt=True) == ["message.received a"]
    told = live.answer("a", "modified", outputs={"value": {"out": 1}}, args={})
    assert told == [
        "approval.resolved a modified by nora",
        "attempt.succeeded a 1.1",
        "handoff.sent a",
        "attempt.started a 2.1",
        "attempt.started b 1.1",
    ]


class Watch:
    """Knows what every turn has used."""

    def used(self, flight: runs.Attempt) -> outcome.Metrics:
        return outcome.Metrics(tokens_in=flight.visit, cost_nanousd=2)

    def said(self, flight: runs.Attempt) -> str | None:
        return f"word {flight.visit}"

    def may_begin(self) -> bool:
        return True


def test_turns_that_are_interrupted_or_removed_are_charged_what_they_have_used() -> None:
    live = Room(live_play.empty(), meter=Watch())
    live.create()
    live.add("a")
    live.say("a", "one")
    live.say("a", "two", interrupt=True)
    assert (live.run.spent.tokens, live.run.spent.cost_nanousd) == (1, 2)
    assert [event.said for event in live.log if isinstance(event, events.AttemptCancelled)] == ["word 1"]
    live.step(commands.RemoveNode(at=live.at, by="nora", node="a"))
    assert (live.run.spent.tokens, live.run.spent.cost_nanousd) == (3, 4)


def test_a_removed_node_takes_its_work_questions_and_edges_along() -> None:
    live = room("a", "b")
    live.add("c", approval=definition.Approval(prompt="?"))
    live.add("d", retry=definition.Retry(max_attempts=2, delay_ms=50))
    live.tie("a", "b")
    for key in ("a", "c", "d"):
        live.say(key, "go")
    live.ask("c")
    live.fail("d")
    assert live.step(commands.RemoveNode(at=live.at, by="nora", node="a")) == [
        "attempt.cancelled a 1.1 removed",
        "edge.removed",
        "node.removed a",
    ]
    assert live.step(commands.RemoveNode(at=live.at, by="nora", node="c")) == [
        "approval.withdrawn c removed",
        "node.removed c",
    ]
    live.step(commands.RemoveNode(at=live.at, by="nora", node="d"))
    assert (set(live.run.nodes), live.run.timers, runs.status(live.run)) == ({"b"}, [], "paused")
    refused("NODE_EXISTS", live, commands.AddNode(at=live.at, by="nora", node=worker("a")))


def test_a_changed_node_is_another_one_from_its_next_turn_on() -> None:
    live = room("a")
    gated = worker("a", approval=definition.Approval(prompt="?"))
    live.step(commands.ChangeNode(at=live.at, by="nora", node=gated))
    assert live.say("a", "one") == ["message.received a"]
    assert live.run.nodes["a"].status == "resolving"
    refused("NODE_BUSY", live, commands.ChangeNode(at=live.at, by="nora", node=gated))
    live.ask("a")
    live.answer("a")
    live.succeed("a")
    live.step(commands.ChangeNode(at=live.at, by="nora", node=worker("a")))
    assert live.say("a", "two")[-1] == "attempt.started a 2.1"


def test_orders_that_the_graph_does_not_allow_change_nothing() -> None:
    live = room("a", "b")
    live.tie("a", "b")
    at = live.at

    def edge(source: str, target: str) -> commands.AddEdge:
        return commands.AddEdge(
            at=at,
            by="nora",
            id=edge_id(source, target),
            source=source,
            target=target,
            bidirectional=True,
            type="report",
            label="x",
        )

    refused("NODE_EXISTS", live, commands.AddNode(at=at, by="nora", node=worker("a")))
    refused("NODE_UNKNOWN", live, commands.ChangeNode(at=at, by="nora", node=worker("x")))
    refused("NODE_INVALID", live, commands.ChangeNode(at=at, by="nora", node=worker("a", mode="ai")))
    refused("NODE_UNKNOWN", live, commands.RemoveNode(at=at, by="nora", node="x"))
    refused("EDGE_EXISTS", live, edge("a", "b"))
    refused("EDGE_INVALID", live, edge("a", "a"))
    refused("NODE_UNKNOWN", live, edge("a", "x"))
    refused("EDGE_UNKNOWN", live, commands.RemoveEdge(at=at, by="nora", id="x"))
    live.say("a", "go")
    refused("RUN_BUSY", live, commands.CompleteRun(at=at, by="nora"))
    refused("RESOLUTION_INVALID", *_skip())


def _skip() -> tuple[Room, commands.Command]:
    """A turn is not skipped."""
    live = room()
    live.add("a", approval=definition.Approval(prompt="?"))
    live.say("a", "one")
    return live, commands.ResolveNode(at=live.at, node="a", visit=1, skip=True)


@pytest.mark.parametrize(
    "more",
    [
        {"turn": None},
        {"mode": "approval"},
        {"when": "true"},
        {"after": ("b",)},
        {"foreach": definition.Foreach(items="x")},
        {"cache": True},
        {"approval": definition.Approval(prompt="?", on_deny="continue")},
    ],
)
def test_a_node_that_has_no_meaning_in_a_live_graph_is_refused(more: dict[str, Any]) -> None:
    live = room()
    refused("NODE_INVALID", live, commands.AddNode(at=live.at, by="nora", node=worker("a", **more)))


def test_a_graph_and_an_inbox_have_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("MAX_NODES", "MAX_EDGES", "MAX_UNREAD"):
        monkeypatch.setattr(graph, name, 2)
    live = room("a", "b")
    refused("GRAPH_FULL", live, commands.AddNode(at=live.at, by="nora", node=worker("c")))
    live.tie("a", "b")
    live.tie("b", "a")
    with pytest.raises(Refused, match="at most 2 edges"):
        live.step(
            commands.AddEdge(
                at=live.at, by="n", id="x", source="a", target="b", bidirectional=True, type="report", label="y"
            )
        )
    live.step(commands.PauseRun(at=live.at, by="nora"))
    live.say("a", "one")
    live.say("a", "two")
    with pytest.raises(Refused, match="unread messages"):
        live.say("a", "three")


def test_a_run_of_blocks_takes_no_orders_of_a_graph() -> None:
    blocks = Stage(flow(work("a")))
    blocks.create()
    with pytest.raises(Refused, match="not a live graph"):
        blocks.step(commands.CompleteRun(at=blocks.at, by="nora"))


def test_a_node_is_read_back_as_it_was_written() -> None:
    node = worker("a", turn=definition.Turn(role="writer", capabilities={"writeCode": False}, max_turns=7))
    assert workflow_codec.decode_node(workflow_codec.encode_node(node)) == node


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32))
def test_every_live_graph_keeps_what_it_promises(seed: int) -> None:
    """`LivePlay.send` checks after every command: no idle node has unread letters, the sets are what a scan finds."""
    assert live_play.play(seed).run.ended


# -- conversations ----------------------------------------------------------------------------------------------------


def opened(live: Room, **session: Any) -> None:
    """Let the agent of the turn under way have a session."""
    node = live.run.nodes["a"]
    live.step(
        commands.ReportProgress(
            at=live.at,
            node="a",
            visit=node.visit,
            attempt=node.slots[0].attempt,
            session={"sessionId": "s", "visit": node.visit, **session},
        )
    )


def steer(live: Room, text: str) -> bool:
    """Give a word to the turn under way; return whether that turn reads it."""
    live.step(
        commands.SendMessage(at=live.at, by="nora", node="a", message_id=text, content={"value": text}, steer=True)
    )
    last = [event for event in live.log if isinstance(event, events.MessageReceived)][-1]
    return last.steers is True


def test_a_word_during_a_turn_is_read_by_it_if_its_agent_can_be_steered() -> None:
    live = room("a")
    assert not steer(live, "one")  # no turn is under way
    assert not steer(live, "two")  # nothing is known of its agent
    opened(live, steering=False)
    assert not steer(live, "three")
    opened(live, steering=True)
    assert steer(live, "four")
    assert live.read("a") == ["one", "four"]
    live.succeed("a")
    assert live.read("a") == ["two", "three"]
    assert not steer(live, "five")  # the session is not that of this turn yet


def test_a_steered_word_is_read_again_after_an_interrupt() -> None:
    live = room("a")
    live.say("a", "one")
    opened(live, steering=True)
    steer(live, "two")
    live.say("a", "three", interrupt=True)
    assert live.read("a") == ["one", "two", "three"]


def reset(live: Room) -> list[str]:
    return live.step(commands.ResetSession(at=live.at, by="nora", node="a"))


def test_a_reset_forgets_the_conversation_at_once_or_when_the_turn_is_over() -> None:
    live = room("a")
    live.say("a", "one")
    opened(live)
    live.succeed("a")
    assert reset(live) == ["session.reset a"]
    assert (live.run.nodes["a"].session, len(live.box("a").past_turns)) == (None, 0)
    live.say("a", "two")
    opened(live)
    reset(live)
    assert live.run.nodes["a"].session is not None  # the turn under way keeps it
    live.say("a", "three")
    live.succeed("a")
    assert (live.run.nodes["a"].session, len(live.box("a").past_turns)) == (None, 0)
    assert live.read("a") == ["three"]


def test_a_reset_before_a_turn_has_begun_holds_for_that_turn() -> None:
    live = room("a")
    live.say("a", "one")
    live.succeed("a")
    live.step(commands.PauseRun(at=live.at, by="nora"))
    live.say("a", "two")
    reset(live)
    assert (len(live.box("a").past_turns), live.box("a").reset_due) == (0, False)
    refused("NODE_UNKNOWN", live, commands.ResetSession(at=live.at, by="nora", node="nobody"))


def retry(live: Room) -> list[str]:
    return live.step(commands.RetryTurn(at=live.at, by="nora", node="a"))


def test_a_failed_turn_and_one_under_way_are_taken_again() -> None:
    live = room("a")
    refused("NODE_IDLE", live, commands.RetryTurn(at=live.at, by="nora", node="a"))
    live.say("a", "one")
    live.fail("a")
    assert retry(live) == ["turn.retried a", "attempt.started a 2.1"]
    live.say("a", "two")
    assert live.read("a") == ["one"]
    assert retry(live) == ["attempt.cancelled a 2.1 interrupt", "attempt.started a 3.1"]
    assert live.read("a") == ["one", "two"]
    live.succeed("a")
    refused("NODE_IDLE", live, commands.RetryTurn(at=live.at, by="nora", node="a"))


def test_a_turn_whose_effect_happens_once_is_not_taken_again_while_it_goes_on() -> None:
    live = Room(live_play.empty())
    live.create()
    live.add("a", effect="once")
    live.say("a", "one")
    refused("NODE_BUSY", live, commands.RetryTurn(at=live.at, by="nora", node="a"))


def test_what_is_asked_in_a_turn_is_withdrawn_when_it_is_taken_again() -> None:
    live = room("a")
    live.say("a", "one")
    live.step(
        commands.AskAboutCall(
            at=live.at, node="a", visit=1, attempt=1, call_id="c", args={"tool": "x"}, prompt="?", digest="sha256:d"
        )
    )
    assert retry(live)[:2] == ["attempt.cancelled a 1.1 interrupt", "approval.withdrawn a over"]
    assert not live.run.approvals
