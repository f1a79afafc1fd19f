"""A pruned line gives up what went through the run, and keeps its place in the chain and its receipt."""

from __future__ import annotations

import orjson
import pytest

from openskelo import errors
from openskelo.kernel import receipts as kernel_receipts
from openskelo.record import line_check, receipts
from openskelo.values import canonical
from tests.record import records, verifying

ENDED = records.ended()
SHORT = [line_check.prune(line) for line in ENDED.lines]


def types(lines: list[bytes]) -> set[str]:
    return {orjson.loads(line)["type"] for line in lines}


def test_events_with_payload_give_it_up_and_others_stay_as_they_are() -> None:
    gone = [line for line in SHORT if line_check.is_pruned(line)]
    kept = [line for line in SHORT if not line_check.is_pruned(line)]
    assert types(gone) >= {"run.created", "attempt.succeeded", "attempt.failed", "approval.requested"}
    assert types(kept) <= line_check.NEVER_PRUNED
    assert b"Fine?" in b"".join(ENDED.lines)
    assert b"Fine?" not in b"".join(SHORT)


def test_a_pruned_record_verifies_and_says_how_much_is_gone() -> None:
    found = verifying.lines(SHORT, workflow=ENDED.workflow)
    whole = verifying.lines(ENDED.lines, workflow=ENDED.workflow)
    assert found.intact
    assert (found.ended, found.folded, found.head) == (True, False, whole.head)
    assert (found.receipts, found.pruned) == (whole.receipts, sum(map(line_check.is_pruned, SHORT)))


PRUNED = [at for at, line in enumerate(SHORT) if line_check.is_pruned(line)]


@pytest.mark.parametrize("at", PRUNED[:-1])
def test_a_record_that_lost_the_data_of_a_chosen_event_is_altered(at: int) -> None:
    chosen = [*ENDED.lines[:at], SHORT[at], *ENDED.lines[at + 1 :]]
    found = verifying.lines(chosen)
    next_with_data = PRUNED[PRUNED.index(at) + 1] + 1
    assert [(problem.code, problem.seq) for problem in found.problems] == [("PRUNED_IN_PART", next_with_data)]


@pytest.mark.parametrize("at", PRUNED[1:])
def test_a_pruned_record_that_got_the_data_of_one_event_back_is_altered(at: int) -> None:
    found = verifying.lines([*SHORT[:at], ENDED.lines[at], *SHORT[at + 1 :]])
    assert [problem.code for problem in found.problems] == ["PRUNED_IN_PART"]


@pytest.mark.parametrize("at", PRUNED)
def test_a_record_whose_pruning_was_interrupted_verifies(at: int) -> None:
    assert verifying.lines([*ENDED.lines[:at], *SHORT[at:]]).intact


def test_a_pruned_line_keeps_its_receipt() -> None:
    assert receipts.collect(SHORT) == receipts.collect(ENDED.lines)


def test_pruning_again_changes_nothing() -> None:
    assert [line_check.prune(line) for line in SHORT] == SHORT


def test_a_damaged_line_is_not_pruned() -> None:
    damaged = ENDED.lines[0].replace(b"letters", b"lettres")
    assert damaged != ENDED.lines[0]
    with pytest.raises(errors.Corrupt, match="HASH_MISMATCH"):
        line_check.prune(damaged)


def changed(seq_of: str, **values: object) -> list[bytes]:
    """The pruned record with something else in the first receipt of that kind of event."""
    lines = list(SHORT)
    at = next(at for at, line in enumerate(lines) if orjson.loads(line)["type"] == seq_of)
    opened = orjson.loads(lines[at])
    opened["receipt"] = {**opened["receipt"], **values}
    lines[at] = canonical.dumps(opened)
    return lines


@pytest.mark.parametrize(
    "values",
    [
        {"output_hash": kernel_receipts.NOTHING},
        {"inputs_hash": canonical.digest("other")},
        {"step_id": "other"},
        {"status": "cancelled"},
        {"ts": 1},
        {"prev": canonical.digest("other")},
        {"attempt": "1"},
        {"metrics": {}},
    ],
)
def test_a_changed_receipt_of_a_pruned_line_is_found(values: dict[str, object]) -> None:
    found = verifying.lines(changed("attempt.succeeded", **values))
    assert [problem.code for problem in found.problems][:1] == ["RECEIPT_INVALID"]


def test_a_changed_last_receipt_is_found_by_what_the_end_says() -> None:
    lines = list(SHORT)
    at = max(at for at, line in enumerate(lines) if b'"receipt":' in line and line_check.is_pruned(line))
    opened = orjson.loads(lines[at])
    opened["receipt"] = {**opened["receipt"], "output_hash": canonical.digest("forged")}
    lines[at] = canonical.dumps(opened)
    found = verifying.lines(lines)
    assert [(problem.code, problem.seq) for problem in found.problems] == [("RECEIPT_INVALID", len(lines))]


def test_a_receipt_on_a_line_that_has_none_is_found() -> None:
    opened = orjson.loads(SHORT[0])
    opened["receipt"] = receipts.collect(SHORT)[0]
    found = verifying.lines([canonical.dumps(opened), *SHORT[1:]])
    assert [problem.code for problem in found.problems][:1] == ["RECEIPT_INVALID"]


def test_a_receipt_that_is_no_object_is_no_line() -> None:
    opened = orjson.loads(SHORT[0])
    found = verifying.lines([canonical.dumps({**opened, "receipt": 1}), *SHORT[1:]])
    assert [problem.code for problem in found.problems][:1] == ["LINE_INVALID"]


def without_receipt(line: bytes) -> bytes:
    return canonical.dumps({key: value for key, value in orjson.loads(line).items() if key != "receipt"})


def with_receipt(line: bytes, **values: str) -> bytes:
    opened = orjson.loads(line)
    return canonical.dumps({**opened, "receipt": {**opened["receipt"], **values}})


def places_of_receipts() -> list[int]:
    return [at for at, line in enumerate(SHORT) if line_check.is_pruned(line) and "receipt" in orjson.loads(line)]


def test_a_receipt_that_was_taken_away_is_found_and_covers_no_forged_one() -> None:
    first, second = places_of_receipts()[:2]
    lines = list(SHORT)
    lines[first] = with_receipt(lines[first], inputs_hash=canonical.digest("forged"))
    lines[second] = without_receipt(lines[second])
    found = verifying.lines(lines)
    assert [(problem.code, problem.seq) for problem in found.problems] == [("RECEIPT_INVALID", second + 1)]


def test_events_that_keep_their_data_cannot_have_given_it_up() -> None:
    last = places_of_receipts()[-1]
    ending = orjson.loads(SHORT[-1])
    ending["dataHash"] = canonical.digest(ending.pop("data")).removeprefix("sha256:")
    lines = [*SHORT[:-1], canonical.dumps(ending)]
    lines[last] = with_receipt(lines[last], output_hash=canonical.digest("forged"))
    found = verifying.lines(lines)
    assert [(problem.code, problem.seq) for problem in found.problems] == [("EVENT_INVALID", len(lines))]


def test_a_pruned_record_without_its_end_was_cut() -> None:
    last = places_of_receipts()[-1]
    lines = SHORT[: last + 1]
    lines[last] = with_receipt(lines[last], output_hash=canonical.digest("forged"))
    found = verifying.lines(lines)
    assert [(problem.code, problem.line) for problem in found.problems] == [("SEQ_GAP", 0)]


def test_a_receipt_is_not_blamed_for_the_one_before() -> None:
    first, second = places_of_receipts()[:2]
    lines = list(SHORT)
    lines[first] = with_receipt(lines[first], inputs_hash=canonical.digest("forged"))
    problem = verifying.lines(lines).problems[0]
    assert (problem.code, problem.line) == ("RECEIPT_INVALID", second + 1)
    assert problem.message.endswith("does not follow from the one before: one of the two was changed")
