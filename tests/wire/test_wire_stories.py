"""What the wire tells of a run, one behaviour each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from openskelo.kernel import commands, definition, outcome
from openskelo.kernel.decide import decide
from openskelo.kernel.json import JsonObject
from openskelo.record import envelope
from openskelo.values import canonical
from openskelo.wire import run_status, wire_ids
from openskelo.wire.projection import Projection
from tests.kernel.stage import RUN, START, Stage, failure, flow, work
from tests.wire.shown import Shown

TOOLS = ("tool.proposed", "tool.started", "tool.completed")


def call(key: str, attempt: int = 1, item: int | None = None) -> str:
    return wire_ids.tool(RUN, key, 1, attempt, item)


def asked_call(shown: Shown) -> str:
    """The id of the tool in the open question about `a`."""
    tool: Any = shown.stage.asked("a").document["tool"]
    return tool["id"]


def handler(key: str, *sources: str, **more: Any) -> definition.Node:
    return work(key, *sources, handler="builtin:pass", config={"a": 1, "pinned": {"b": 2}}, **more)


def test_a_new_run_is_told_node_by_node_and_edge_by_edge() -> None:
    shown = Shown(work("a"), work("b", "a", after=("a",)), work("c", after=("a",)))
    events = Projection(RUN, shown.stage.workflow).apply(1, shown.stage.log[0])
    assert [event["type"] for event in events] == [
        *["edge.created"] * 2,
        "run.mode",
        *["node.patch"] * 3,
        "run.phase",
        "run.patch",
    ]
    assert [event["edge"] for event in events[:2]] == [
        {
            "id": wire_ids.edge(RUN, "a", "b", "out>a"),
            "from": wire_ids.node(RUN, "a"),
            "to": wire_ids.node(RUN, "b"),
            "bidirectional": False,
            "type": "handoff",
            "label": "out>a",
            "kind": "data",
        },
        {
            "id": wire_ids.edge(RUN, "a", "c", "after"),
            "from": wire_ids.node(RUN, "a"),
            "to": wire_ids.node(RUN, "c"),
            "bidirectional": False,
            "type": "handoff",
            "label": "after",
            "kind": "order",
        },
    ]


def test_the_envelope_is_the_facts_with_a_place_of_its_own() -> None:
    shown = Shown(work("a"))
    (_, told, *_), _ = (shown.projection.apply(seq, fact) for seq, fact in enumerate(shown.stage.log, 1))
    assert {name: told[name] for name in ("id", "runId", "ts", "type", "nodeId", "seq", "index")} == {
        "id": wire_ids.event(RUN, 1, 1),
        "runId": RUN,
        "ts": envelope.timestamp(START),
        "type": "node.patch",
        "nodeId": wire_ids.node(RUN, "a"),
        "seq": 1,
        "index": 1,
    }


def test_a_fact_out_of_turn_is_refused() -> None:
    shown = Shown(work("a"))
    with pytest.raises(ValueError, match="fact 2 does not follow fact 0"):
        shown.projection.apply(2, shown.stage.log[1])


# -- calls ------------------------------------------------------------------------------------------------------------


def test_a_handlers_attempt_is_a_call() -> None:
    shown = Shown(handler("a"))
    shown.stage.succeed("a")
    assert shown.told(*TOOLS) == [
        {"type": "tool.started", "tool": {"id": call("a"), "name": "builtin:pass", "args": {"a": 1}}},
        {"type": "tool.completed", "toolId": call("a"), "result": {"ok": True}},
    ]


def test_a_call_that_a_person_is_asked_about_is_proposed_first() -> None:
    shown = Shown(handler("a", effect="once"), mode="INTERACTIVE")
    shown.stage.ask("a")
    proposed: JsonObject = {"id": asked_call(shown), "name": "builtin:pass", "args": {"of": "a"}}
    assert shown.told(*TOOLS) == [{"type": "tool.proposed", "tool": proposed}]
    assert (shown.node("a")["status"], shown.node("a")["summary"]) == ("blocked", "a?")
    assert shown.node("a")["permissions"]["cliPermissionsMode"] == "gated"
    shown.stage.answer("a")
    shown.stage.succeed("a")
    assert shown.told(*TOOLS) == [
        {"type": "tool.started", "tool": proposed},
        {"type": "tool.completed", "toolId": proposed["id"], "result": {"ok": True}},
    ]


def test_a_proposed_call_and_the_question_about_it_have_the_same_tool_id_and_arguments() -> None:
    shown = Shown(handler("a", effect="once"), mode="INTERACTIVE")
    shown.stage.ask("a")
    proposed, asked = shown.told("tool.proposed", "approval.requested")
    assert [(event["tool"]["id"], event["tool"]["args"]) for event in (proposed, asked)] == [
        (asked_call(shown), {"of": "a"}),
        (asked_call(shown), {"of": "a"}),
    ]
    assert asked["approval"]["tool"]["id"] == asked_call(shown)


def test_a_call_of_an_agent_that_starts_before_it_is_asked_about_is_proposed_once() -> None:
    shown = Shown(work("a", effect="idempotent"))
    place: Any = {"at": shown.stage.at, "node": "a", "visit": 1, "attempt": 1}
    args: JsonObject = {"command": "ls"}
    tool: JsonObject = {"id": "c1", "name": "Bash", "args": args}
    started = commands.StartedCall(info={"id": "c1", "tool": "Bash"}, args={"value": args})
    shown.stage.step(commands.ReportProgress(calls=(started,), **place))
    question: JsonObject = {"tool": "Bash", "arguments": args}
    shown.stage.step(commands.AskAboutCall(call_id="c1", args=question, prompt="ls?", digest="sha256:1", **place))
    gate: JsonObject = {"decision": "deny", "why": "no", "asked": True}
    ruled = commands.RuledCall(call_id="c1", gate=gate, args={"value": args})
    ended = commands.EndedCall(call_id="c1", status="failed", duration_ms=0, result={"value": "no"})
    shown.stage.step(commands.ReportProgress(calls=(ruled, ended), **place))
    proposed, begun, over = shown.told(*TOOLS)
    assert [proposed, begun] == [{"type": "tool.proposed", "tool": tool}, {"type": "tool.started", "tool": tool}]
    assert (over["toolId"], over["result"]) == ("c1", {"ok": False, "durationMs": 0, "output": "no"})


@pytest.mark.parametrize("stored", [None, {"blob": canonical.digest("x"), "bytes": 40_000}])
def test_a_call_starts_with_the_arguments_as_a_person_has_changed_them(stored: JsonObject | None) -> None:
    shown = Shown(handler("a", effect="once"), mode="INTERACTIVE")
    shown.stage.ask("a")
    call_id = asked_call(shown)
    shown.told()
    shown.stage.answer("a", "modified", args={"of": "b"}, new_digest="sha256:n", stored=stored)
    tool: dict[str, Any] = {"id": call_id, "name": "builtin:pass", "args": {"of": "b"}}
    (started,) = shown.told("tool.started")
    assert started == {"type": "tool.started", "tool": tool if stored is None else {**tool, "stored": stored}}


def test_a_call_that_is_made_again_without_a_new_question_has_an_id_of_its_own() -> None:
    retry = definition.Retry(max_attempts=2)
    shown = Shown(handler("a", approval=definition.Approval(prompt="?"), retry=retry))
    shown.stage.ask("a")
    call_id = asked_call(shown)
    shown.stage.answer("a")
    shown.stage.fail("a")
    shown.stage.tick()
    assert [event["tool"]["id"] for event in shown.told("tool.started")] == [call_id, call("a", 2)]


def test_a_call_that_was_denied_is_completed_without_having_started() -> None:
    shown = Shown(handler("a", effect="once"), mode="INTERACTIVE")
    shown.stage.ask("a")
    call_id = asked_call(shown)
    shown.told()
    shown.stage.answer("a", "denied", reason="not today")
    assert shown.told(*TOOLS) == [
        {
            "type": "tool.completed",
            "toolId": call_id,
            "result": {"ok": False},
            "error": {"code": "APPROVAL_DENIED", "message": "not today"},
        }
    ]


@pytest.mark.parametrize("left", [{"skip": True}, {"items": {"value": []}, "count": 0}])
def test_a_call_that_a_changed_answer_leaves_nothing_to_do_for_is_cancelled(left: dict[str, Any]) -> None:
    approval = definition.Approval(prompt="?")
    shown = Shown(handler("a", when="x", foreach=definition.Foreach(items="x"), approval=approval), handler("b"))
    shown.stage.ask("a", count=2)
    assert shown.node("a")["items"]["total"] == 2
    call_id = asked_call(shown)
    shown.told()
    shown.stage.answer("a", "modified", args={"x": []}, new_digest="sha256:n", **left)
    why = "nothing is left to do with the inputs as a person has changed them"
    assert shown.told("tool.completed") == [
        {
            "type": "tool.completed",
            "toolId": call_id,
            "result": {"ok": False},
            "error": {"code": "CANCELLED", "message": why},
        }
    ]


def test_a_foreach_whose_items_a_person_changes_shows_the_new_number() -> None:
    shown = Shown(handler("a", foreach=definition.Foreach(items="x"), approval=definition.Approval(prompt="?")))
    shown.stage.ask("a", count=3)
    shown.stage.answer("a", "modified", args={"x": [5]}, new_digest="sha256:n", items={"value": [5]}, count=1)
    assert shown.node("a")["items"]["total"] == 1


def lose(stage: Stage) -> None:
    """The attempt fails, and nobody knows whether its effect happened."""
    stage.fail("a", failure("no answer", "TIMEOUT", happened="unknown"))


@pytest.mark.parametrize("cut", [Stage.crash, lose])
def test_a_call_whose_effect_is_uncertain_stays_open_until_it_is_made_again(cut: Callable[[Stage], object]) -> None:
    shown = Shown(handler("a", effect="once"))
    shown.told()
    cut(shown.stage)
    assert shown.told(*TOOLS) == []
    shown.stage.answer("a")
    assert shown.told(*TOOLS) == [
        {
            "type": "tool.completed",
            "toolId": call("a"),
            "result": {"ok": False},
            "error": {"code": "INTERRUPTED", "message": "the call was interrupted, and is made again"},
        },
        {"type": "tool.started", "tool": {"id": call("a", 2), "name": "builtin:pass", "args": {"a": 1}}},
    ]


@pytest.mark.parametrize("cut", [Stage.crash, lose])
def test_a_call_that_a_person_says_has_happened_is_completed(cut: Callable[[Stage], object]) -> None:
    shown = Shown(handler("a", effect="once"))
    shown.told()
    cut(shown.stage)
    assert shown.told(*TOOLS) == []
    shown.stage.answer("a", "modified", outputs={"value": {"out": 1}})
    assert shown.told(*TOOLS) == [{"type": "tool.completed", "toolId": call("a"), "result": {"ok": True}}]


# -- models -----------------------------------------------------------------------------------------------------------


def final(shown: Shown) -> list[Any]:
    return [
        {name: event[name] for name in ("content", "status", "attempt", "cached") if name in event}
        for event in shown.told("message.assistant.final")
    ]


def test_a_models_one_text_is_its_message() -> None:
    shown = Shown(work("a", mode="ai"))
    shown.stage.succeed("a", value="Bees\nbuzz.")
    assert final(shown) == [{"content": "Bees\nbuzz.", "status": "final", "attempt": 1, "cached": False}]
    assert shown.node("a")["summary"] == "Bees"


def test_any_other_answer_is_its_message_as_json() -> None:
    shown = Shown(work("a", mode="ai"))
    shown.stage.succeed("a", value=[1, "x"])
    assert final(shown) == [{"content": '{"out":[1,"x"]}', "status": "final", "attempt": 1, "cached": False}]


def test_an_attempt_without_an_answer_ends_its_message_too() -> None:
    shown = Shown(work("a", mode="ai", retry=definition.Retry(max_attempts=2)))
    shown.stage.fail("a")
    shown.stage.tick()
    shown.stage.crash()
    assert final(shown) == [
        {"content": "", "status": "failed", "attempt": 1, "cached": False},
        {"content": "", "status": "interrupted", "attempt": 2, "cached": False},
    ]


def test_a_large_answer_is_named_and_not_sent_along() -> None:
    shown = Shown(work("a", mode="ai"), work("b", "a"))
    stored: JsonObject = {"blob": canonical.digest("x"), "bytes": 40_000}
    shown.stage.report("a", outcome.Outcome(inputs_hash="sha256:in", outputs=stored, output_hash="sha256:o"))
    answer, handed = shown.told("message.assistant.final", "handoff.sent")
    assert (answer["content"], answer["stored"]) == ("", stored)
    assert (handed["envelope"]["payload"].get("structured"), handed["envelope"]["payload"]["stored"]) == (None, stored)


def test_what_a_model_has_used_is_counted_for_its_node_and_its_run() -> None:
    shown = Shown(work("a", mode="ai"), work("b", "a", mode="ai"))
    shown.stage.succeed("a", metrics=outcome.Metrics(tokens_in=5, tokens_out=2, cost_nanousd=3_000_000, wall_ms=70))
    shown.stage.succeed("b", metrics=outcome.Metrics(tokens_in=1, tokens_out=1, wall_ms=50))
    assert shown.node("a")["usage"] == {
        "promptTokens": 5,
        "completionTokens": 2,
        "totalTokens": 7,
        "costUsd": 0.003,
        "workMs": 70,
    }
    assert shown.run()["usage"]["workMs"] == 120
    assert shown.run()["usage"]["totalTokens"] == shown.run()["budget"]["tokens"]["used"] == 9


# -- handoffs and files -----------------------------------------------------------------------------------------------

NOTE = outcome.ArtifactNote(
    id="0f8fad5b-d9cb-469f-a165-70867728950e", kind="log", name="a.log", hash=canonical.digest(1), size=3
)


def test_a_value_goes_along_its_edge_with_the_files_that_were_made() -> None:
    shown = Shown(work("a"), work("b", "a"), work("c", after=("a",)))
    shown.told()
    shown.stage.succeed("a", value="Bees buzz.", artifacts=(NOTE,))
    seq = next(seq for seq, fact in enumerate(shown.stage.log, 1) if type(fact).__name__ == "AttemptSucceeded")
    edge = wire_ids.edge(RUN, "a", "b", "out>a")
    assert shown.told("handoff.sent") == [
        {
            "type": "handoff.sent",
            "envelope": {
                "kind": "handoff",
                "id": wire_ids.handoff(edge, seq),
                "fromNodeId": wire_ids.node(RUN, "a"),
                "toNodeId": wire_ids.node(RUN, "b"),
                "edgeId": edge,
                "createdAt": envelope.timestamp(START),
                "payload": {
                    "message": "Bees buzz.",
                    "structured": {"a": "Bees buzz."},
                    "artifacts": [{"type": "log", "ref": f"artifact://{NOTE.id}"}],
                    "status": {"ok": True},
                },
            },
        }
    ]


def test_a_value_waits_in_the_inbox_until_the_node_starts() -> None:
    shown = Shown(work("a"), work("b"), work("c", "a", "b"))
    shown.stage.succeed("a")
    assert shown.node("c")["inboxCount"] == 1
    shown.stage.succeed("b")
    counts = [event["patch"]["inboxCount"] for event in shown.told("node.patch") if "inboxCount" in event["patch"]]
    assert counts == [2, 0]


def test_a_foreach_is_one_node_with_numbers_and_hands_over_a_list() -> None:
    shown = Shown(work("a", foreach=definition.Foreach(items="x", concurrency=2)), work("b", "a"))
    shown.stage.resolve("a", count=3)
    shown.stage.succeed("a", item=0, value="x")
    shown.told()
    assert (shown.node("a")["items"], shown.node("a")["summary"]) == (
        {"total": 3, "done": 1, "running": 2},
        "1 of 3 items",
    )
    shown.stage.succeed("a", item=1, value="y")
    shown.stage.succeed("a", item=2, value="z")
    (handed,) = shown.told("handoff.sent")
    assert handed["envelope"]["payload"]["structured"] == {"a": ["x", "y", "z"]}
    assert (shown.node("a")["items"]["done"], shown.node("a")["summary"]) == (3, "3 items")


def test_a_long_list_is_not_sent_along() -> None:
    shown = Shown(work("a", foreach=definition.Foreach(items="x", concurrency=200)), work("b", "a"))
    shown.stage.checked = False
    shown.stage.resolve("a", count=101)
    for index in range(101):
        shown.stage.succeed("a", item=index)
    (handed,) = shown.told("handoff.sent")
    assert "structured" not in handed["envelope"]["payload"]


def test_a_files_path_is_found_on_reading() -> None:
    shown = Shown(work("a"), projection={"locate": lambda name: f"/somewhere/{name[7:]}"})  # pyright: ignore[reportUnknownLambdaType] - a text
    shown.stage.succeed("a", artifacts=(NOTE,))
    (told,) = shown.told("artifact.created")
    assert told["artifact"] == {
        "id": NOTE.id,
        "runId": RUN,
        "nodeId": wire_ids.node(RUN, "a"),
        "kind": "log",
        "name": "a.log",
        "path": f"/somewhere/{NOTE.hash[7:]}",
        "createdAt": envelope.timestamp(START),
        "ref": f"artifact://{NOTE.id}",
        "hash": NOTE.hash,
        "size": 3,
        "mediaType": "text/plain",
        "visit": 1,
        "attempt": 1,
        "item": None,
    }
    assert shown.run()["artifacts"] == {NOTE.id: told["artifact"]}


# -- people -----------------------------------------------------------------------------------------------------------


def test_a_question_is_told_with_all_that_an_answer_needs() -> None:
    shown = Shown(work("a", mode="approval", approval=definition.Approval(prompt="?", approvers=("nora",))))
    shown.stage.ask("a", expires_at=START + 1000)
    (asked,) = shown.told("approval.requested")
    tool = shown.stage.asked("a").document["tool"]
    assert asked == {
        "type": "approval.requested",
        "approvalId": shown.stage.asked("a").id,
        "tool": tool,
        "context": "a?",
        "approval": {
            "id": shown.stage.asked("a").id,
            "approvalId": shown.stage.asked("a").id,
            "runId": RUN,
            "runName": "flow",
            "nodeId": wire_ids.node(RUN, "a"),
            "node": "a",
            "kind": "approval",
            "tool": tool,
            "call": None,
            "context": "a?",
            "prompt": "a?",
            "form": {"type": "object"},
            "approvers": ["nora"],
            "digest": "sha256:a",
            "requestedAt": envelope.timestamp(START),
            "expiresAt": envelope.timestamp(START + 1000),
            "visit": 1,
            "item": None,
        },
    }
    assert (shown.run()["status"], shown.node("a")["status"]) == ("paused", "blocked")


def statuses(shown: Shown) -> list[str]:
    """The statuses of the run that the wire has told since the last look."""
    return [event["patch"]["status"] for event in shown.told("run.patch") if "status" in event["patch"]]


def test_a_run_is_queued_until_its_first_work_starts_and_never_paused_before_it_ends() -> None:
    shown = Shown(work("a"), work("b", "a"))
    shown.stage.succeed("a")
    shown.stage.succeed("b")
    assert statuses(shown) == ["queued", "running", "completed"]


def test_a_run_that_fails_is_not_told_as_paused_before() -> None:
    shown = Shown(work("a"), work("b"))
    shown.stage.fail("a")
    assert statuses(shown) == ["queued", "running", "failed"]


def test_a_run_whose_question_is_denied_goes_from_paused_to_its_end() -> None:
    shown = Shown(work("a", approval=definition.Approval(prompt="?")))
    shown.stage.ask("a")
    shown.stage.answer("a", "denied")
    assert statuses(shown) == ["queued", "running", "paused", "running", "failed"]


def test_a_run_that_no_driver_has_taken_yet_is_queued() -> None:
    stage = Stage(flow(work("a")))
    created = decide(stage.run, commands.CreateRun(at=START, definition="sha256:d", inputs={"value": {}}, by="nora"))
    projection = Projection(RUN, stage.workflow)
    for seq, fact in enumerate(created, 1):
        projection.apply(seq, fact)
    assert projection.snapshot()["status"] == "queued"


def test_a_node_shows_whether_its_model_or_handler_works_and_when_it_last_did() -> None:
    shown = Shown(work("a", mode="ai"))
    began = envelope.timestamp(START)
    connected = {"status": "connected", "streaming": False, "lastHeartbeatAt": began, "lastOutputAt": None}
    assert shown.node("a")["connection"] == connected
    shown.stage.at += 1000
    shown.stage.succeed("a")
    ended = envelope.timestamp(START + 1000)
    idle = {"status": "idle", "streaming": False, "lastHeartbeatAt": ended, "lastOutputAt": ended}
    assert shown.node("a")["connection"] == idle


def test_a_node_whose_work_a_person_does_has_no_connection() -> None:
    assert Shown(work("a", mode="approval", approval=definition.Approval(prompt="?"))).node("a")["connection"] is None


def test_a_run_that_ends_while_it_is_paused_is_not_shown_as_paused() -> None:
    shown = Shown(work("a"))
    shown.stage.step(commands.PauseRun(at=START, by="nora", reason="lunch"))
    assert (shown.run()["status"], shown.run()["pauseReason"]) == ("running", "lunch")
    shown.stage.succeed("a")
    assert (shown.run()["status"], shown.run()["pauseReason"]) == ("completed", None)


def test_an_answer_is_told_with_who_gave_it_and_why() -> None:
    shown = Shown(work("a", approval=definition.Approval(prompt="?")))
    shown.stage.ask("a")
    asked = shown.stage.asked("a").id
    shown.told()
    shown.stage.answer("a", "denied", by="ada", reason="no")
    assert shown.told("approval.resolved") == [
        {
            "type": "approval.resolved",
            "approvalId": asked,
            "resolution": {"status": "denied", "reason": "no"},
            "by": "ada",
            "digest": "sha256:a",
            "withdrawn": False,
        }
    ]


def test_a_question_that_is_withdrawn_is_told_as_denied_by_nobody() -> None:
    shown = Shown(work("a", approval=definition.Approval(prompt="?")))
    shown.stage.ask("a")
    asked = shown.stage.asked("a").id
    shown.told()
    shown.stage.step(commands.CancelRun(at=START, by="nora"))
    assert shown.told("approval.resolved") == [
        {
            "type": "approval.resolved",
            "approvalId": asked,
            "resolution": {"status": "denied", "reason": "withdrawn: the run ends"},
            "by": None,
            "digest": None,
            "withdrawn": True,
        }
    ]


def test_a_stall_is_told_with_its_evidence() -> None:
    shown = Shown(work("a", retry=definition.Retry(max_attempts=9, stall_after=2)))
    for _ in range(2):
        shown.stage.fail("a", "too long\nby far", output="sha256:same")
        shown.stage.tick()
    (told,) = shown.told("run.stalled")
    assert told["evidence"] == {
        "kind": "output",
        "repeats": 2,
        "code": "BAD",
        "outputHash": "sha256:same",
        "diffHash": None,
        "verificationFailure": "too long\nby far",
        "summaries": ["too long"],
    }


# -- how things stand -------------------------------------------------------------------------------------------------


def phases(shown: Shown) -> list[str]:
    return [event["phase"] for event in shown.told("run.phase")]


def test_phases_follow_what_blocks_say_they_are_for() -> None:
    shown = Shown(
        work("a"),
        work("b", "a", metadata={"phase": "verify"}),
        work("c", "b", metadata={"phase": "docs-sync"}),
    )
    for key in ("a", "b", "c"):
        shown.stage.succeed(key)
    assert phases(shown) == ["BOOT", "EXECUTE", "VERIFY", "DOCS_SYNC", "DONE"]


def test_only_a_bounce_takes_a_phase_back() -> None:
    back = definition.Bounce(when_gate="good", route_to="a", max_bounces=1, reset=("a", "b"))
    shown = Shown(work("a"), work("b", "a", metadata={"phase": "VERIFY"}, bounces=(back,)))
    shown.stage.succeed("a")
    shown.stage.fail("b", outcome.Failure(code="GATE_FAILED", message="no", gate="good"))
    assert phases(shown) == ["BOOT", "EXECUTE", "VERIFY", "EXECUTE"]
    assert (shown.node("b")["visits"], shown.node("b")["startedAt"]) == (1, None)


def test_a_run_that_waits_for_its_first_answer_is_not_in_boot_any_more() -> None:
    shown = Shown(work("a", approval=definition.Approval(prompt="?")))
    assert phases(shown) == ["BOOT"]
    shown.stage.ask("a")
    assert phases(shown) == ["EXECUTE"]


def test_a_node_that_waits_for_its_next_try_when_the_run_ends_was_cancelled() -> None:
    shown = Shown(work("a", retry=definition.Retry(max_attempts=3, delay_ms=50)))
    shown.stage.fail("a", "busy")
    assert (shown.node("a")["status"], shown.node("a")["summary"]) == ("idle", "will try again: busy")
    shown.stage.step(commands.CancelRun(at=START, by="nora"))
    node = shown.node("a")
    assert (node["status"], node["outcome"], node["summary"], node["endedAt"]) == (
        "idle",
        "cancelled",
        "cancelled",
        envelope.timestamp(START),
    )
    run = shown.stage.run
    assert run_status.node_status(run, run.nodes["a"], has_approval=False) == "idle"
    assert run_status.node_outcome(run, run.nodes["a"]) == "cancelled"


def test_a_foreach_runs_while_any_of_its_items_does() -> None:
    foreach = definition.Foreach(items="x", name="item", concurrency=2)
    shown = Shown(work("a", foreach=foreach, retry=definition.Retry(max_attempts=2, delay_ms=50)))
    shown.stage.step(commands.ResolveNode(at=START, node="a", visit=1, items={"value": [1, 2]}, count=2))
    shown.stage.fail("a", "busy", item=0)
    assert shown.node("a")["status"] == "running"
    shown.stage.fail("a", "busy", item=1)
    assert shown.node("a")["status"] == "idle"
    assert run_status.retry_times(shown.stage.run) == {"a": START + 50}


def test_a_second_attempt_says_what_was_wrong_with_the_first() -> None:
    shown = Shown(work("a", retry=definition.Retry(max_attempts=2)))
    assert shown.node("a")["summary"] == "attempt 1"
    shown.stage.fail("a", "too long")
    shown.stage.tick()
    assert shown.node("a")["summary"] == "attempt 2, after: too long"
    shown.stage.fail("a", "still too long")
    node = shown.node("a")
    assert (node["status"], node["outcome"], node["summary"]) == ("failed", "failed", "still too long")
    assert node["error"] == {"code": "BAD", "message": "still too long"}


def test_a_skipped_node_says_why() -> None:
    shown = Shown(work("a", when="x"), work("b", "a"))
    shown.stage.resolve("a", skip=True)
    assert [(shown.node(key)["outcome"], shown.node(key)["summary"]) for key in ("a", "b")] == [
        ("skipped", "skipped: its condition does not hold"),
        ("skipped", "skipped: what it needs was skipped"),
    ]


def test_a_node_that_a_fork_has_kept_says_so() -> None:
    kept = {"a": commands.Kept(outcome="succeeded", outputs={"value": {"out": 1}})}
    shown = Shown(work("a"), work("b", "a"), kept=kept, parent={"runId": RUN, "node": "b"})
    node = shown.node("a")
    assert (node["outcome"], node["visits"], node["summary"]) == (
        "succeeded",
        0,
        "kept from the run it was forked from",
    )
    assert shown.run()["parent"] == {"runId": RUN, "node": "b"}


def test_a_node_of_a_sub_workflow_names_the_node_that_stands_for_it() -> None:
    shown = Shown(
        work("sub/inputs"), work("sub/in/er", "sub/inputs"), work("sub/in", "sub/in/er"), work("sub", "sub/in")
    )
    parents = {key: shown.node(key)["parent"] for key in ("sub/inputs", "sub/in/er", "sub/in", "sub")}
    sub, inner = wire_ids.node(RUN, "sub"), wire_ids.node(RUN, "sub/in")
    assert parents == {"sub/inputs": sub, "sub/in/er": inner, "sub/in": sub, "sub": None}


def test_nothing_is_shown_before_the_first_fact() -> None:
    assert Projection(RUN, flow(work("a"))).snapshot() == {
        "id": RUN,
        "seq": 0,
        "nodes": {},
        "edges": {},
        "artifacts": {},
        "approvals": {},
    }


def test_a_foreach_that_keeps_failed_items_counts_them_and_hands_over_null() -> None:
    foreach = definition.Foreach(items="x", concurrency=3, on_fail="keep")
    listed = definition.Binding(node="a", port="errors")
    after = definition.Node(
        key="c", mode="deterministic", inputs=(definition.Port(name="e", schema={}),), bindings={"e": listed}
    )
    shown = Shown(handler("a", foreach=foreach), work("b", "a"), after)
    shown.stage.resolve("a", count=2)
    shown.stage.fail("a", "no", 0)
    assert (shown.node("a")["status"], shown.node("a")["items"], shown.node("a")["summary"]) == (
        "running",
        {"total": 2, "done": 1, "running": 1, "failed": 1},
        "1 of 2 items, 1 failed",
    )
    shown.stage.succeed("a", 1, "y")
    handed = [event["envelope"]["payload"]["structured"] for event in shown.told("handoff.sent")]
    assert handed == [{"a": [None, "y"]}, {"e": [{"index": 0, "code": "BAD", "message": "no"}]}]
    assert (shown.node("a")["outcome"], shown.node("a")["summary"]) == ("succeeded", "2 items, 1 failed")


def test_the_call_of_an_item_that_a_person_gives_up_is_completed_as_failed() -> None:
    foreach = definition.Foreach(items="x", on_fail="keep")
    shown = Shown(handler("a", foreach=foreach, effect="once"))
    shown.stage.resolve("a", count=1)
    shown.stage.crash()
    shown.told()
    shown.stage.answer("a", "denied")
    assert shown.told("tool.completed") == [
        {
            "type": "tool.completed",
            "toolId": call("a", item=0),
            "result": {"ok": False},
            "error": {"code": "UNCERTAIN_EFFECT", "message": "uncertain: denied by nora"},
        }
    ]
    assert shown.node("a")["items"] == {"total": 1, "done": 1, "running": 0, "failed": 1}
