"""Receipts: listed from a log, and digested without what the clock adds."""

from __future__ import annotations

import pytest

from openskelo.kernel.json import Json, JsonObject
from openskelo.record import receipts
from openskelo.values import canonical
from tests.record import records


def finished(*, pace: int, crashes: int = 0, order: tuple[int, int] = (0, 1), last: str = "two") -> records.Record:
    """The same work at another pace, with drivers that die, items in another order, or another result."""
    from openskelo.kernel import commands

    record = records.Record()
    record.create()
    record.later(pace)
    for _ in range(crashes):
        record.do(commands.Recover(at=record.later(pace)))
    record.report("draft", {"text": "hello"}, attempt=1 + crashes)
    record.do(commands.ResolveNode(at=record.later(pace), node="each", visit=1, items={"value": [1, 2]}, count=2))
    for item in order:
        record.report("each", {"text": ("one", last)[item]}, item=item)
    return record


def digest(record: records.Record) -> str:
    return receipts.digest(receipts.collect(record.lines))


def test_receipts_are_listed_in_the_order_of_the_log() -> None:
    found = receipts.collect(records.ended().lines)
    assert [(receipt["step_id"], receipt["attempt"], receipt["status"]) for receipt in found] == [
        ("draft", 1, "failed"),
        ("draft", 2, "succeeded"),
        ("each", 1, "succeeded"),
        ("each", 1, "interrupted"),
        ("each", 2, "succeeded"),
        ("sign_off", 1, "succeeded"),
    ]


def test_pruned_lines_without_a_receipt_have_none() -> None:
    lines = [records.pruned(line) for line in records.ended().lines]
    assert receipts.collect(lines) == []


@pytest.mark.parametrize(
    "other",
    [finished(pace=900), finished(pace=7, crashes=2), finished(pace=7, order=(1, 0))],
    ids=["slower", "with crashes", "in another order"],
)
def test_the_same_work_has_the_same_digest(other: records.Record) -> None:
    first = finished(pace=7)
    assert first.lines != other.lines
    assert digest(first) == digest(other)


@pytest.mark.parametrize("other", [finished(pace=7, last="zwei"), records.asked()], ids=["result", "failure"])
def test_other_work_has_another_digest(other: records.Record) -> None:
    assert digest(finished(pace=7)) != digest(other)


def test_a_stored_value_has_the_digest_of_its_content() -> None:
    value: JsonObject = {"text": "one"}
    name = canonical.digest(value)
    assert receipts.stored_digest({"value": value}) == receipts.stored_digest({"blob": name, "bytes": 14}) == name


AGENT: JsonObject = {
    "name": "fixer",
    "provider": "custom",
    "program": "scripted",
    "version": "1.0",
    "session": "s1",
    "tree_before": "t1",
}
REPORTED: JsonObject = {"tokens_in": 1, "tokens_out": 2, "cost_nanousd": 3}


@pytest.mark.parametrize(
    "agent",
    [AGENT, {**AGENT, "tree_after": "t2", "prompt_hash": "sha256:1", "reported": REPORTED}],
    ids=["stopped", "ended"],
)
def test_a_receipt_may_describe_an_agent(agent: JsonObject) -> None:
    receipt = receipts.collect(records.ended().lines)[0]
    assert receipts.find_shape_fault({**receipt, "agent": agent}) is None


@pytest.mark.parametrize(
    "agent",
    [
        None,
        "fixer",
        {},
        {**AGENT, "mood": "good"},
        {**AGENT, "session": 1},
        {**AGENT, "reported": 3},
        {**AGENT, "reported": {"tokens_in": 1.5}},
        {**AGENT, "reported": {"tokens": 1}},
    ],
)
def test_what_does_not_describe_an_agent_is_no_receipt(agent: Json) -> None:
    receipt = receipts.collect(records.ended().lines)[0]
    fault = receipts.find_shape_fault({**receipt, "agent": agent})
    assert fault == "what the receipt says of its agent is not what a receipt says"


def test_the_session_of_an_agent_does_not_change_the_digest() -> None:
    found = receipts.collect(records.ended().lines)
    assert receipts.digest([{**receipt, "agent": AGENT} for receipt in found]) == receipts.digest(found)
