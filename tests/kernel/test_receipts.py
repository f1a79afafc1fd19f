"""Receipts: every field of every kind of attempt, their chain, and their canonical bytes."""

from __future__ import annotations

import hashlib
from typing import cast

from hypothesis import given, settings
from hypothesis import strategies as st

from openskelo.kernel import commands, definition, events, outcome, receipts
from openskelo.kernel.json import Json, JsonObject
from openskelo.values import canonical
from tests.kernel.stage import START, Stage, failure, flow, work


def listed(stage: Stage) -> list[JsonObject]:
    """The receipts of a run in order."""
    found = (getattr(event, "receipt", None) for event in stage.log)
    return [receipt for receipt in found if receipt is not None]


def test_the_receipt_of_a_success_has_every_field() -> None:
    foreach = definition.Foreach(items="x")
    stage = Stage(flow(work("a", foreach=foreach, mode="ai"), name="plan"))
    stage.create()
    stage.resolve("a", count=1)
    stage.at += 9
    metrics = outcome.Metrics(tokens_in=1, tokens_out=2, wall_ms=3, cost_nanousd=4, tool_nanousd=5)
    stage.succeed("a", 0, value="v", metrics=metrics)
    assert listed(stage) == [
        {
            "plan_id": "plan",
            "step_id": "a",
            "op": "ai",
            "ts": START + 9,
            "inputs_hash": "sha256:in",
            "output_ref": "var:a",
            "output_hash": canonical.digest({"out": "v"}),
            "metrics": {"tokens_in": 1, "tokens_out": 2, "wall_ms": 3},
            "visit": 1,
            "attempt": 1,
            "item": 0,
            "status": "succeeded",
            "workflow_hash": stage.workflow.hash,
            "prev": receipts.GENESIS,
        }
    ]
    landed = stage.log[-3]
    assert isinstance(landed, events.AttemptSucceeded)
    assert landed.spent == {"costNanousd": 4, "toolNanousd": 5}


def test_every_kind_of_attempt_leaves_one_receipt_chained_to_the_one_before() -> None:
    retry = definition.Retry(max_attempts=3)
    approval = definition.Approval(prompt="?", on_deny="continue")
    stage = Stage(
        flow(
            work("a", retry=retry),
            work("b", "a", cache=True),
            work("p", "b", mode="approval", approval=approval),
            work("c", "p"),
        )
    )
    stage.create()
    stage.at += 10
    stage.fail("a", failure("x"), output="sha256:bad")
    stage.crash(5)
    stage.succeed("a")
    stage.resolve("b")
    stage.succeed("b")
    stage.ask("p")
    stage.answer("p", "denied", outputs={"value": 0}, inputs_hash="sha256:i", output_hash="sha256:o")
    stage.fail("c", failure("y", retryable=False))
    found = listed(stage)
    summary = [
        tuple(receipt[name] for name in ("step_id", "attempt", "status", "output_ref", "op")) for receipt in found
    ]
    assert summary == [
        ("a", 1, "failed", "none", "deterministic"),
        ("a", 2, "interrupted", "none", "deterministic"),
        ("a", 3, "succeeded", "var:a", "deterministic"),
        ("b", 1, "succeeded", "var:b", "deterministic"),
        ("p", 1, "succeeded", "var:p", "approval"),
        ("c", 1, "failed", "none", "deterministic"),
    ]
    assert [receipt["output_hash"] for receipt in found[:2]] == ["sha256:bad", receipts.NOTHING]
    assert [receipt["inputs_hash"] for receipt in found[:2]] == ["sha256:in", receipts.NOTHING]
    assert cast("JsonObject", found[1]["metrics"])["wall_ms"] == 0  # nothing happened between its start and the crash
    assert [receipt["prev"] for receipt in found] == [receipts.GENESIS, *map(canonical.digest, found[:-1])]
    assert (stage.run.receipts, stage.run.last_receipt) == (6, found[-1])


def test_a_denial_is_a_failed_attempt_whose_output_is_the_denial() -> None:
    stage = Stage(flow(work("p", mode="approval", approval=definition.Approval(prompt="?"))))
    stage.create()
    stage.ask("p")
    stage.answer("p", "denied", inputs_hash="sha256:i", reason="nö")
    denial = {"code": "APPROVAL_DENIED", "message": "nö", "by": "nora"}
    (receipt,) = listed(stage)
    assert (receipt["status"], receipt["output_hash"]) == ("failed", canonical.digest(denial))


def test_nothing_is_the_hash_of_null() -> None:
    assert canonical.digest(None) == receipts.NOTHING


NUMBERS = st.integers(min_value=0, max_value=2**53)
HASHES = st.text("0123456789abcdef", min_size=64, max_size=64).map("sha256:".__add__)
METRICS: st.SearchStrategy[dict[str, int]] = st.fixed_dictionaries(
    {"tokens_in": NUMBERS, "tokens_out": NUMBERS, "wall_ms": NUMBERS}
)
RECEIPTS: st.SearchStrategy[dict[str, Json]] = st.fixed_dictionaries(
    {
        "plan_id": st.text(),
        "step_id": st.text(),
        "op": st.sampled_from(["ai", "deterministic", "approval"]),
        "ts": NUMBERS,
        "inputs_hash": HASHES,
        "output_ref": st.text(),
        "output_hash": HASHES,
        "metrics": METRICS,
        "visit": NUMBERS,
        "attempt": NUMBERS,
        "status": st.sampled_from(["succeeded", "failed", "interrupted", "cancelled"]),
        "workflow_hash": HASHES,
        "prev": HASHES,
    },
    optional={"item": NUMBERS},
)


@settings(max_examples=200)
@given(RECEIPTS)
def test_the_bytes_written_by_hand_are_the_canonical_ones(receipt: JsonObject) -> None:
    assert receipts.canonical(receipt) == canonical.dumps(receipt)
    assert receipts.digest(receipt) == canonical.digest(receipt)


FLAT = st.dictionaries(
    st.text(st.characters(max_codepoint=127)), st.text() | st.integers(-(2**53), 2**53) | st.booleans() | st.none()
)


@settings(max_examples=200)
@given(FLAT)
def test_the_digest_is_the_canonical_one(document: JsonObject) -> None:
    assert receipts.digest(document) == canonical.digest(document)
    assert receipts.digest({}) == "sha256:" + hashlib.sha256(b"{}").hexdigest()


SESSION: JsonObject = {
    "sessionId": "s1",
    "agent": "fixer",
    "provider": "custom",
    "program": "scripted",
    "version": "1.0",
    "visit": 1,
    "tree": "t1",
}
#: What the receipt of an attempt in that session says.
WORK: JsonObject = {
    "name": "fixer",
    "provider": "custom",
    "program": "scripted",
    "version": "1.0",
    "session": "s1",
    "tree_before": "t1",
}


def open_session(stage: Stage, attempt: int) -> None:
    session: JsonObject = {**SESSION, "attempt": attempt}
    stage.step(commands.ReportProgress(at=stage.at, node="a", visit=1, attempt=attempt, session=session))


def test_the_receipt_of_an_agent_names_its_session_and_its_evidence() -> None:
    stage = Stage(flow(work("a", mode="agent", effect="idempotent", retry=definition.Retry(max_attempts=9))))
    stage.create()
    stage.at += 1
    open_session(stage, 1)
    stage.crash()
    open_session(stage, 2)
    stage.fail("a", failure("x"), evidence={"tree_after": "t2"})
    stage.tick(60_000)
    stage.fail("a", failure("before there was a session"))
    stage.tick(60_000)
    open_session(stage, 4)
    evidence: JsonObject = {"tree_after": "t3", "prompt_hash": "sha256:p", "reported": {"tokens_in": 1}}
    stage.succeed("a", evidence=evidence)
    assert [(receipt["op"], receipt["status"], receipt.get("agent")) for receipt in listed(stage)] == [
        ("agent", "interrupted", WORK),
        ("agent", "failed", {**WORK, "tree_after": "t2"}),
        ("agent", "failed", None),
        ("agent", "succeeded", {**WORK, **evidence}),
    ]
