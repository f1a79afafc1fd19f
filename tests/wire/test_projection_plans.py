"""Plans on the wire: steps are nodes, jumps are edges, and a step that is entered again begins anew."""

from __future__ import annotations

from typing import Any

import pytest

from openskelo.kernel import definition, outcome
from openskelo.kernel.json import Json, JsonObject
from openskelo.wire import node_document, run_status, wire_ids
from openskelo.wire.projection import Projection
from tests.kernel.stage import RUN, Stage, flow
from tests.wire import patching, wired

PLAN = definition.Plan(entry="write")


def step(key: str, op: definition.Op, args: JsonObject | None = None, **more: Any) -> definition.Node:
    modes: dict[str, definition.Mode] = {"route_expert": "ai", "ask_human": "approval"}
    retry = more.pop("retry", definition.ONE_TRY)
    shape = definition.Step(op=op, args=args or {}, **more)
    return definition.Node(key=key, mode=modes.get(op, "deterministic"), label=key, step=shape, retry=retry)


def plan() -> definition.Workflow:
    """Write, check, and write again until the check holds; then commit under a retry, and emit."""
    nodes = flow(
        step("write", "route_expert", save_as="text", next="check"),
        step("check", "verify", {"checker_id": "fine"}, save_as="v", next="look"),
        step("look", "branch", then="again", otherwise="write"),
        step("again", "retry", target="commit", next="done", retry=definition.Retry(max_attempts=2, stall_after=0)),
        step("commit", "tool_call", {"tool_id": "git"}, next=None),
        step("done", "emit", ending="ok"),
    )
    return definition.Workflow(name=nodes.name, hash=nodes.hash, nodes=nodes.nodes, plan=PLAN)


class Shown(Stage):
    """A stage whose facts are shown as they become true, and checked."""

    def __init__(self, workflow: definition.Workflow) -> None:
        super().__init__(workflow, checked=False)
        self.projection = Projection(RUN, workflow)
        self.told: list[dict[str, Any]] = []

    def show(self) -> Any:
        for fact in self.log[self.projection.seq :]:
            before = self.projection.snapshot()
            events = self.projection.apply(self.projection.seq + 1, fact)
            self.told += events
            assert patching.fold(before, events) == self.projection.snapshot()
            assert [fault for event in events for fault in wired.faults("event", event)] == []
        snapshot: Any = self.projection.snapshot()
        assert wired.faults("run", snapshot) == []
        belongs = run_status.node_phases(self.workflow)
        for key, node in self.run.nodes.items():
            trace = self.projection._details[key]  # pyright: ignore[reportPrivateUsage] - what it says is tested here
            shown = {
                **node_document.constant_fields(self.run, self.workflow.nodes[key], belongs[key], lambda _: False),
                **node_document.current_fields(self.run, node, trace),
            }
            assert snapshot["nodes"][wire_ids.node(RUN, key)] == shown
        assert snapshot["phase"] == run_status.run_phase(self.run)
        return snapshot

    def land(self, key: str, value: Json, holds: bool | None = None) -> Any:
        result = outcome.Outcome(
            inputs_hash="sha256:in", outputs={"value": {"output": value}}, output_hash="sha256:o", holds=holds
        )
        self.at += 1
        self.report(key, result)
        return self.show()


def node(snapshot: Any, key: str) -> Any:
    return snapshot["nodes"][wire_ids.node(RUN, key)]


def test_a_plan_is_shown_from_its_first_step_to_its_end() -> None:
    stage = Shown(plan())
    stage.create()
    first = stage.show()
    assert (first["kind"], first["phase"], node(first, "write")["status"]) == ("plan", "EXECUTE", "running")
    checking = stage.land("write", "Bees buzz.")
    assert (checking["phase"], node(checking, "write")["summary"]) == ("VERIFY", "Bees buzz.")
    looking = stage.land("check", {"ok": False}, holds=False)
    assert (looking["phase"], node(looking, "look")["status"]) == ("VERIFY", "running")
    back = stage.land("look", {"holds": False}, holds=False)
    assert (back["phase"], node(back, "write")["visits"], node(back, "write")["outcome"]) == ("EXECUTE", 2, None)
    stage.land("write", "Bees hum.")
    stage.land("check", {"ok": True}, holds=True)
    stage.land("look", {"holds": True}, holds=True)
    stage.land("again", {"target": "commit"})
    stage.fail("commit")
    stage.show()
    stage.tick(60_000)
    stage.show()
    ready = stage.land("commit", "abc")
    assert (node(ready, "commit")["attempts"], node(ready, "commit")["outcome"]) == (2, "succeeded")
    last = stage.land("done", {"result": "abc"})
    assert (last["status"], last["ending"], last["phase"]) == ("completed", "ok", "DONE")


def test_jumps_are_edges() -> None:
    stage = Shown(plan())
    stage.create()
    edges: Any = stage.show()["edges"]
    names = {wire_ids.node(RUN, key): key for key in stage.workflow.nodes}
    assert {(names[edge["from"]], names[edge["to"]], edge["label"], edge["kind"]) for edge in edges.values()} == {
        ("write", "check", "next", "jump"),
        ("check", "look", "next", "jump"),
        ("look", "again", "then", "jump"),
        ("look", "write", "else", "jump"),
        ("again", "commit", "tries", "jump"),
        ("again", "done", "next", "jump"),
    }


def test_a_step_calls_its_checker_and_its_tool() -> None:
    stage = Shown(plan())
    stage.create()
    stage.show()
    stage.land("write", "x")
    stage.land("check", {"ok": True}, holds=True)
    calls = [event["tool"] for event in stage.told if event["type"] == "tool.started"]
    assert [(call["name"], call["args"]) for call in calls] == [("fine", {"checker_id": "fine"})]
    (answer,) = (event for event in stage.told if event["type"] == "message.assistant.final")
    assert (answer["content"], answer["status"]) == ("x", "final")


@pytest.mark.parametrize(
    ("key", "phase"),
    [("write", "EXECUTE"), ("check", "VERIFY"), ("look", "VERIFY"), ("again", "VERIFY"), ("commit", "EXECUTE")],
)
def test_steps_that_only_lead_on_after_a_check_belong_to_verification(key: str, phase: str) -> None:
    assert run_status.node_phases(plan())[key] == phase
