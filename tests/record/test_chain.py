"""Verifying a record: what holds of a true one, and where a false one is caught."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, cast

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from openskelo.kernel import events
from openskelo.record import chain, line_check
from openskelo.structs import replace
from openskelo.values import canonical
from tests.record import records, verifying

ASKED = records.asked()
ENDED = records.ended()
TEXT = ENDED.text()
LINES = TEXT.splitlines(keepends=True)


def codes(found: chain.Verification) -> list[str]:
    return [problem.code for problem in found.problems]


def test_a_true_record_of_an_ended_run_proves_everything() -> None:
    found = verifying.lines(ENDED.lines, workflow=ENDED.workflow)
    assert found == chain.Verification(
        run_id=records.RUN_ID,
        events=len(ENDED.lines),
        receipts=6,
        pruned=0,
        head=orjson.loads(ENDED.lines[-1])["hash"],
        ended=True,
        folded=True,
        problems=(),
    )
    assert found.intact
    assert found.events == 20


def test_without_the_workflow_everything_but_the_fold_is_checked() -> None:
    found = verifying.text(LINES)
    assert (found.intact, found.ended, found.folded) == (True, True, False)


def test_every_beginning_of_whole_lines_is_intact_but_unfinished() -> None:
    for count in range(1, len(LINES)):
        found = verifying.text(LINES[:count], workflow=ENDED.workflow)
        assert (found.intact, found.ended, found.events) == (True, False, count)


def test_every_other_beginning_is_torn() -> None:
    boundaries = {len(b"".join(LINES[:count])) for count in range(len(LINES) + 1)}
    for size in range(0, len(TEXT), 7):
        if size in boundaries:
            continue
        found = verifying.text(TEXT[:size].splitlines(keepends=True))
        assert (found.intact, codes(found), found.problems[0].offset) == (False, ["LINE_TORN"], size)


def test_nothing_at_all_is_no_record() -> None:
    assert codes(verifying.text([])) == ["EMPTY"]


def test_changing_any_single_byte_is_found_in_its_line() -> None:
    at = 0
    for number, line in enumerate(LINES, start=1):
        for index in range(number % 3, len(line), 3):
            changed = line[:index] + bytes([line[index] ^ 0x01]) + line[index + 1 :]
            found = verifying.text(b"".join([*LINES[: number - 1], changed, *LINES[number:]]).splitlines(True))
            assert not found.intact
            assert found.problems[0].line in (number, number + 1)
            assert found.problems[0].offset >= at
        at += len(line)


def test_deleting_any_single_byte_is_found() -> None:
    for index in range(0, len(TEXT), 5):
        assert not verifying.text((TEXT[:index] + TEXT[index + 1 :]).splitlines(keepends=True)).intact


@given(index=st.integers(0, len(TEXT)), added=st.binary(min_size=1, max_size=8))
def test_inserting_bytes_anywhere_is_found(index: int, added: bytes) -> None:
    changed = TEXT[:index] + added + TEXT[index:]
    assert changed != TEXT
    assert not verifying.text(verifying.split(changed)).intact


@given(index=st.integers(0, len(TEXT) - 1), value=st.integers(0, 255))
def test_replacing_a_byte_by_any_other_is_found(index: int, value: int) -> None:
    changed = TEXT[:index] + bytes([value]) + TEXT[index + 1 :]
    assert verifying.text(verifying.split(changed)).intact == (changed == TEXT)


@given(st.lists(st.integers(0, len(LINES) - 1), max_size=len(LINES) + 2))
def test_lines_in_any_other_order_or_number_are_found(order: list[int]) -> None:
    found = verifying.text([LINES[index] for index in order])
    assert found.intact == (bool(order) and order == list(range(len(order))))


@given(st.binary(max_size=300) | st.text(max_size=300).map(str.encode))
def test_any_bytes_are_verified_without_a_crash(data: bytes) -> None:
    assert not verifying.text(verifying.split(data)).intact


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


@given(line=st.sampled_from(ENDED.lines), key=st.text(max_size=4), value=json_values, data=st.data())
def test_any_value_in_any_field_is_verified_without_a_crash(
    line: bytes, key: str, value: Any, data: st.DataObject
) -> None:
    opened = orjson.loads(line)
    where = data.draw(st.sampled_from([opened, opened["data"]]))
    where[data.draw(st.sampled_from([*where, key]))] = value
    try:
        changed = orjson.dumps(opened, option=orjson.OPT_SORT_KEYS)
    except TypeError:
        return
    others = [changed if one is line else one for one in ENDED.lines]
    assert verifying.lines(others, workflow=ENDED.workflow).intact == (others == ENDED.lines)


# -- where ------------------------------------------------------------------------------------------------------------


def test_a_missing_line_is_named() -> None:
    (problem,) = verifying.text([*LINES[:4], *LINES[6:]]).problems
    offset = len(b"".join(LINES[:4]))
    assert problem == chain.Problem(
        line=5, offset=offset, code="SEQ_GAP", message="seq 5 to 6 are missing before seq 7", seq=7
    )


def test_a_repeated_line_is_named() -> None:
    (problem,) = verifying.text([*LINES[:4], *LINES[3:]]).problems
    assert (problem.line, problem.code, problem.seq) == (5, "SEQ_REPEATED", 4)


def test_a_changed_value_is_named_and_blames_no_other_line() -> None:
    changed = [line.replace(b'"text":"one"', b'"text":"two"', 1) for line in ENDED.lines]
    assert [changed.index(line) for line in changed if line not in ENDED.lines] == [9, 16]
    problems = verifying.lines(changed).problems
    assert [(problem.line, problem.code) for problem in problems] == [(10, "HASH_MISMATCH"), (17, "HASH_MISMATCH")]


def test_a_line_sealed_again_after_a_change_is_caught_by_the_next() -> None:
    resealed = records.forged(ENDED.lines, changing("by", "x", events.RunCreated, at=0))
    found = verifying.lines([resealed[0], *ENDED.lines[1:]])
    assert [(problem.line, problem.code) for problem in found.problems] == [(2, "PREV_MISMATCH")]


def test_added_whitespace_is_named_to_the_byte() -> None:
    line = ENDED.lines[3].replace(b',"hash"', b', "hash"', 1)
    (problem,) = verifying.lines([*ENDED.lines[:3], line, *ENDED.lines[4:]]).problems
    expected = len(b"".join(LINES[:3])) + ENDED.lines[3].index(b',"hash"') + 1
    assert (problem.code, problem.offset) == ("NOT_CANONICAL", expected)


def test_a_foreign_line_in_between_is_the_only_problem() -> None:
    (problem,) = verifying.lines([*ENDED.lines[:3], b"# a comment", *ENDED.lines[3:]]).problems
    assert (problem.line, problem.code) == (4, "LINE_INVALID")


def test_lines_of_another_run_are_refused() -> None:
    other = [line.replace(records.RUN_ID.encode(), b"3f0e8f0a-1111-4222-8333-444455556667") for line in ENDED.lines]
    found = verifying.lines([*ENDED.lines[:2], *other[2:3]])
    assert codes(found) == ["RUN_CHANGED"]


def test_a_file_that_is_no_log_lists_a_bounded_number_of_problems() -> None:
    assert len(verifying.text([b"nonsense\n"] * 5000).problems) == chain.MAX_PROBLEMS


# -- forgeries whose hashes are right ---------------------------------------------------------------------------------


def changing(name: str, value: object, kind: type[events.Event], at: int) -> records.Forge:
    """Change one field of the event at index `at`, which must be of this kind."""

    def forge(told: list[events.Event]) -> Iterable[events.Event]:
        assert isinstance(told[at], kind)
        told[at] = replace(cast("Any", told[at]), **{name: value})
        return told

    return forge


def without(*indexes: int) -> records.Forge:
    return lambda told: [event for index, event in enumerate(told) if index not in indexes]


def place(kind: type[events.Event], nth: int = 0) -> int:
    return [index for index, event in enumerate(records.events_of(ENDED.lines)) if isinstance(event, kind)][nth]


FORGERIES: dict[str, tuple[records.Forge, str]] = {
    "no run.created": (without(0), "EVENT_IMPOSSIBLE"),
    "an outcome without a start": (without(place(events.AttemptStarted)), "EVENT_IMPOSSIBLE"),
    "a start without an outcome": (without(place(events.AttemptFailed)), "EVENT_IMPOSSIBLE"),
    "a retry that was never due": (without(place(events.RetryDue)), "EVENT_IMPOSSIBLE"),
    "an answer nobody gave": (without(place(events.ApprovalResolved)), "EVENT_IMPOSSIBLE"),
    "a question nobody asked": (without(place(events.ApprovalRequested)), "EVENT_IMPOSSIBLE"),
    "an interruption left out": (without(place(events.AttemptInterrupted)), "EVENT_IMPOSSIBLE"),
    "items out of nowhere": (without(place(events.NodeResolved)), "EVENT_IMPOSSIBLE"),
    "other outputs": (
        changing("outputs", {"value": {"text": "x"}}, events.AttemptSucceeded, place(events.AttemptSucceeded)),
        "RECEIPT_INVALID",
    ),
    "another time": (
        changing("at", records.START - 1, events.AttemptFailed, place(events.AttemptFailed)),
        "TIME_BACKWARDS",
    ),
    "another workflow": (changing("workflow_hash", canonical.digest(0), events.RunCreated, 0), "EVENT_IMPOSSIBLE"),
    "a field of the wrong kind": (
        changing("visit", "1", events.AttemptStarted, place(events.AttemptStarted)),
        "EVENT_INVALID",
    ),
    "a time that is none": (
        changing("expires_at", "soon", events.ApprovalRequested, place(events.ApprovalRequested)),
        "EVENT_INVALID",
    ),
    "an ending that was not decided": (
        changing("ending", "failed", events.RunEnded, len(ENDED.lines) - 1),
        "EVENT_IMPOSSIBLE",
    ),
    "other totals": (
        changing("spent", {"steps": 1}, events.RunEnded, len(ENDED.lines) - 1),
        "EVENT_IMPOSSIBLE",
    ),
    "an answer to another question": (
        changing("digest", canonical.digest(2), events.ApprovalResolved, place(events.ApprovalResolved)),
        "EVENT_IMPOSSIBLE",
    ),
    "a run that goes on after its end": (lambda told: [*told, told[-1]], "AFTER_END"),
    "a second beginning": (lambda told: [told[0], *told], "EVENT_IMPOSSIBLE"),
}


@pytest.mark.parametrize("name", FORGERIES)
def test_a_forgery_with_right_hashes_makes_no_sense(name: str) -> None:
    forge, code = FORGERIES[name]
    found = verifying.lines(records.forged(ENDED.lines, forge), workflow=ENDED.workflow)
    assert codes(found) == [code]


@pytest.mark.parametrize("key", ["plan_id", "step_id", "ts", "output_hash", "output_ref", "status", "prev", "visit"])
def test_a_changed_receipt_is_found(key: str) -> None:
    def forge(told: list[events.Event]) -> list[events.Event]:
        index = place(events.AttemptSucceeded, 1)
        event = cast("events.AttemptSucceeded", told[index])
        was = event.receipt[key]
        changed = was + 1 if isinstance(was, int) else canonical.digest(key)
        told[index] = replace(event, receipt={**event.receipt, key: changed})
        return told

    found = verifying.lines(records.forged(ENDED.lines, forge), workflow=ENDED.workflow)
    assert codes(found)[0] == "RECEIPT_INVALID"


def test_a_receipt_that_is_no_receipt_is_found() -> None:
    forge = changing("receipt", {"metrics": None}, events.AttemptSucceeded, place(events.AttemptSucceeded))
    assert codes(verifying.lines(records.forged(ENDED.lines, forge))) == ["RECEIPT_INVALID"]


def test_an_unknown_event_type_is_refused() -> None:
    opened = orjson.loads(ASKED.lines[-1])
    assert opened["type"] == "approval.requested"
    changed = ASKED.lines[-1].replace(b'"approval.requested"', b'"approval.foreseen!"')
    assert codes(verifying.lines([*ASKED.lines[:-1], changed])) == ["HASH_MISMATCH"]
    kept = {key: value for key, value in orjson.loads(changed).items() if key not in ("data", "hash")}
    digest = chain.envelope.link(opened["prev"], canonical.dumps(kept), canonical.digest(opened["data"])[7:])
    sealed = changed.replace(opened["hash"].encode(), digest.encode())
    assert codes(verifying.lines([*ASKED.lines[:-1], sealed])) == ["EVENT_UNKNOWN"]


# -- pruning ----------------------------------------------------------------------------------------------------------


def test_events_of_which_only_some_are_pruned_leave_a_verifiable_chain() -> None:
    rest = [
        line_check.prune(line) for line in ENDED.lines[4:]
    ]  # as a prune that was killed leaves it: the end goes first
    found = verifying.lines([*ENDED.lines[:4], *rest], workflow=ENDED.workflow)
    gone = sum(map(line_check.is_pruned, rest))
    assert 0 < gone < len(rest)
    assert (found.intact, found.ended, found.pruned, found.folded) == (True, True, gone, False)
    assert found.head == verifying.lines(ENDED.lines).head


def test_a_changed_hash_of_pruned_data_is_found() -> None:
    line = line_check.prune(ENDED.lines[2])
    at = line.index(b"dataHash") + 12
    changed = line[:at] + (b"0" if line[at : at + 1] != b"0" else b"1") + line[at + 1 :]
    found = verifying.lines([*ENDED.lines[:2], changed, *ENDED.lines[3:]])
    assert codes(found) == ["HASH_MISMATCH"]


def test_the_result_is_a_json_document() -> None:
    found = verifying.lines([*ENDED.lines[:3], *ENDED.lines[4:]])
    assert canonical.admit(found.document()) == found.document()
    assert found.document()["problems"] == [found.problems[0].document()]
