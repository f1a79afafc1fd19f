"""How a run goes from node to node: order, joins, skips, and the end."""

from __future__ import annotations

import pytest

from openskelo.errors import Refused
from openskelo.kernel import commands, definition, events, outcome, receipts
from openskelo.kernel import run as runs
from openskelo.structs import replace
from openskelo.values import canonical
from tests.kernel.stage import RUN, START, Stage, flow, work


def test_a_chain_starts_each_step_in_the_append_that_ends_the_one_before() -> None:
    stage = Stage(flow(work("a"), work("b", "a"), work("c", "b")))
    assert runs.status(stage.run) == "queued"
    assert stage.create() == ["run.created", "attempt.started a 1.1"]
    assert runs.status(stage.run) == "running"
    assert stage.succeed("a") == ["attempt.succeeded a 1.1", "attempt.started b 1.1"]
    assert stage.succeed("b") == ["attempt.succeeded b 1.1", "attempt.started c 1.1"]
    assert stage.succeed("c") == ["attempt.succeeded c 1.1", "run.ended ok"]
    assert runs.status(stage.run) == "completed"
    assert stage.outcomes() == {"a": "succeeded", "b": "succeeded", "c": "succeeded"}


def test_the_facts_of_a_run_of_one_node_are_exactly_these() -> None:
    stage = Stage(flow(work("a")))
    stage.create(parent={"runId": "p"})
    stage.at += 5
    stage.succeed("a", value=1)
    receipt = {
        "plan_id": "flow",
        "step_id": "a",
        "op": "deterministic",
        "ts": START + 5,
        "inputs_hash": "sha256:in",
        "output_ref": "var:a",
        "output_hash": canonical.digest({"out": 1}),
        "metrics": {"tokens_in": 0, "tokens_out": 0, "wall_ms": 0},
        "visit": 1,
        "attempt": 1,
        "status": "succeeded",
        "workflow_hash": stage.workflow.hash,
        "prev": receipts.GENESIS,
    }
    assert stage.log == [
        events.RunCreated(
            at=START,
            workflow="flow",
            workflow_hash=stage.workflow.hash,
            definition="sha256:d",
            inputs={"value": {}},
            mode="AUTO",
            global_mode="IMPLEMENTATION",
            by="nora",
            parent={"runId": "p"},
        ),
        events.AttemptStarted(at=START, node="a", visit=1, attempt=1),
        events.AttemptSucceeded(
            at=START + 5, node="a", visit=1, attempt=1, outputs={"value": {"out": 1}}, receipt=receipt
        ),
        events.RunEnded(
            at=START + 5,
            ending="ok",
            spent={"steps": 1, "tokens": 0, "costNanousd": 0, "toolNanousd": 0, "wallMs": 5},
            receipt_head=receipts.digest(receipt),
        ),
    ]


def test_a_join_waits_for_all_its_sources() -> None:
    stage = Stage(flow(work("a"), work("b"), work("c", "a", "b")))
    assert stage.create() == ["run.created", "attempt.started a 1.1", "attempt.started b 1.1"]
    assert stage.succeed("b") == ["attempt.succeeded b 1.1"]
    assert stage.succeed("a") == ["attempt.succeeded a 1.1", "attempt.started c 1.1"]


def test_no_more_attempts_are_in_flight_than_the_workflow_allows() -> None:
    stage = Stage(flow(work("a"), work("b"), work("c"), parallel=2))
    assert stage.create() == ["run.created", "attempt.started a 1.1", "attempt.started b 1.1"]
    assert stage.succeed("b") == ["attempt.succeeded b 1.1", "attempt.started c 1.1"]


def test_a_workflow_that_allows_no_parallel_work_goes_one_by_one() -> None:
    stage = Stage(flow(work("a"), work("b"), parallel=0))
    assert stage.create() == ["run.created", "attempt.started a 1.1"]
    assert stage.succeed("a") == ["attempt.succeeded a 1.1", "attempt.started b 1.1"]


def test_a_retry_that_is_due_waits_for_room_among_those_in_flight() -> None:
    retry = definition.Retry(max_attempts=2, delay_ms=10)
    stage = Stage(flow(work("a", retry=retry), work("b"), work("c"), parallel=1))
    stage.create()
    assert stage.fail("a") == ["attempt.failed a 1.1 retry +10", "attempt.started b 1.1"]
    assert stage.tick(10) == ["attempt.due a"]
    assert stage.succeed("b") == ["attempt.succeeded b 1.1", "attempt.started c 1.1"]
    assert stage.succeed("c") == ["attempt.succeeded c 1.1", "attempt.started a 1.2"]


def test_a_skipped_branch_is_skipped_through_to_its_join() -> None:
    stage = Stage(flow(work("a", when="x"), work("b", "a"), work("c"), work("d", "b", "c"), work("e", "c")))
    assert stage.create() == ["run.created", "attempt.started c 1.1"]
    assert stage.resolve("a", skip=True) == ["node.skipped a when", "node.skipped b upstream"]
    assert stage.succeed("c") == ["attempt.succeeded c 1.1", "node.skipped d upstream", "attempt.started e 1.1"]
    stage.succeed("e")
    assert stage.outcomes() == {"a": "skipped", "b": "skipped", "c": "succeeded", "d": "skipped", "e": "succeeded"}


def test_an_optional_join_runs_with_what_there_is() -> None:
    stage = Stage(flow(work("a", when="x"), work("b"), work("c", "b", optional=("a",))))
    stage.create()
    stage.resolve("a", skip=True)
    assert stage.succeed("b") == ["attempt.succeeded b 1.1", "attempt.started c 1.1"]


def handed(key: str, required: bool = True) -> definition.Node:
    """A node that has what `a` gives by way of `end`, which only hands it through."""
    through = definition.Binding(node="end", port="a", origin="a")
    return definition.Node(
        key=key,
        mode="deterministic",
        inputs=(definition.Port(name="x", schema={}, required=required),),
        bindings={"x": through},
    )


def test_what_is_handed_through_is_missing_with_the_one_that_it_comes_from() -> None:
    end = work("end", optional=("a", "b"), mode="dag")
    stage = Stage(flow(work("a", when="x"), work("b"), end, handed("needs"), handed("takes", required=False)))
    stage.create()
    stage.resolve("a", skip=True)
    stage.succeed("b")
    assert stage.succeed("end") == [
        "attempt.succeeded end 1.1",
        "node.skipped needs upstream",
        "node.skipped takes upstream",
        "run.ended ok",
    ]


def test_what_is_handed_through_is_waited_for_and_there() -> None:
    stage = Stage(flow(work("a", when="x"), work("b"), work("end", "a", "b", mode="dag"), handed("needs")))
    stage.create()
    stage.resolve("a")
    stage.succeed("a")
    assert stage.succeed("b") == ["attempt.succeeded b 1.1", "attempt.started end 1.1"]
    assert stage.succeed("end") == ["attempt.succeeded end 1.1", "attempt.started needs 1.1"]


def test_a_join_whose_sources_were_all_skipped_is_skipped() -> None:
    stage = Stage(flow(work("a", when="x"), work("b", optional=("a",)), work("c", after=("a",))))
    stage.create()
    assert stage.resolve("a", skip=True) == [
        "node.skipped a when",
        "node.skipped b upstream",
        "node.skipped c upstream",
        "run.ended ok",
    ]


def test_a_port_with_a_default_does_not_need_its_source() -> None:
    port = definition.Port(name="a", schema={}, has_default=True, default=1)
    join = replace(work("c", "a", "b"), inputs=(port, definition.Port(name="b", schema={})))
    stage = Stage(flow(work("a", when="x"), work("b"), join))
    stage.create()
    stage.resolve("a", skip=True)
    assert stage.succeed("b") == ["attempt.succeeded b 1.1", "attempt.started c 1.1"]


def test_a_dead_node_is_not_asked_for_its_values() -> None:
    stage = Stage(flow(work("a", when="x"), work("b", "a", when="y")))
    stage.create()
    assert stage.resolve("a", skip=True) == ["node.skipped a when", "node.skipped b upstream", "run.ended ok"]


def test_transforms_and_caches_are_resolved_before_the_work() -> None:
    bound = definition.Binding(node="a", port="out", transform="value + 1")
    stage = Stage(flow(work("a"), replace(work("b", "a"), bindings={"a": bound})))
    stage.create()
    assert stage.succeed("a") == ["attempt.succeeded a 1.1"]
    assert runs.status(stage.run) == "running"
    assert stage.resolve("b", inputs={"value": {"a": 2}}) == ["node.resolved b", "attempt.started b 1.1"]
    assert stage.run.nodes["b"].inputs == {"value": {"a": 2}}


def test_a_failed_expression_fails_the_run_and_cancels_the_rest() -> None:
    stage = Stage(flow(work("a", when="x"), work("b")))
    stage.create()
    failed = outcome.Failure(code="EXPR_FAILED", message="no such key")
    assert stage.resolve("a", failure=failed) == [
        "node.failed a failed EXPR_FAILED",
        "run.ending failed EXPR_FAILED",
        "attempt.cancelled b 1.1 ending",
        "run.ended failed EXPR_FAILED",
    ]
    assert stage.outcomes() == {"a": "failed", "b": "cancelled"}
    assert stage.run.error == {"code": "EXPR_FAILED", "message": "no such key", "node": "a"}


def test_of_two_failures_the_first_is_the_runs() -> None:
    stage = Stage(flow(work("a"), work("b")))
    stage.create()
    assert stage.fail("b") == [
        "attempt.failed b 1.1 fail",
        "run.ending failed BAD",
        "attempt.cancelled a 1.1 ending",
        "run.ended failed BAD",
    ]
    with pytest.raises(Refused, match="has ended"):
        stage.step(commands.Tick(at=stage.at))


def test_a_graph_in_which_nothing_can_go_on_ends_and_says_who_waits() -> None:
    """Loading refuses cycles; a run of one that slipped through must not wait for ever."""
    stage = Stage(flow(work("a", "b"), work("b", "a"), work("c")))
    stage.create()
    assert stage.succeed("c") == [
        "attempt.succeeded c 1.1",
        "run.ending failed RUN_STUCK",
        "run.ended failed RUN_STUCK",
    ]
    assert stage.run.error == {"code": "RUN_STUCK", "message": "no node can go on", "waiting": ["a", "b"]}


def test_an_empty_workflow_ends_at_once() -> None:
    stage = Stage(flow())
    assert stage.create() == ["run.created", "run.ended ok"]


def test_artifacts_are_kept_with_their_node() -> None:
    stage = Stage(flow(work("a")))
    stage.create()
    note = outcome.ArtifactNote(id="x", kind="file", name="n.md", hash="sha256:h", size=3)
    assert stage.succeed("a", artifacts=(note,)) == [
        "artifact.created a 1.1",
        "attempt.succeeded a 1.1",
        "run.ended ok",
    ]
    kept = {"id": "x", "kind": "file", "name": "n.md", "hash": "sha256:h", "size": 3, "mediaType": "text/plain"}
    assert stage.run.artifacts == [{**kept, "node": "a"}]
    assert stage.run.id == RUN
