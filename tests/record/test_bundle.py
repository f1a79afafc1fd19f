"""One file that holds a whole run: whatever is changed in it shows."""

from __future__ import annotations

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from openskelo.kernel import commands, outcome
from openskelo.record import bundle, line_check, signature
from openskelo.values import canonical
from tests.record import records, verifying
from tests.record.test_signature import KEY, WHEN


def with_artifacts() -> records.Record:
    """A run whose first attempt left a log, a picture and large outputs."""
    record = records.Record()
    record.create()
    large = canonical.dumps({"text": "long"})
    notes = tuple(
        outcome.ArtifactNote(id=name, kind="log", name=name, hash=record.keep(data), size=len(data))
        for name, data in (("log", "two\nlines ä\n".encode()), ("picture", b"\x89PNG\xff"), ("number", b"1.0"))
    )
    result = outcome.Outcome(
        inputs_hash=canonical.digest({}),
        outputs={"blob": record.keep(large), "bytes": len(large)},
        output_hash=canonical.digest_bytes(large),
        artifacts=notes,
    )
    record.do(commands.ReportAttempt(at=record.later(), node="draft", visit=1, attempt=1, outcome=result))
    return record


RECORD = with_artifacts()
HEAD = orjson.loads(RECORD.lines[-1])["hash"]


def written(record: records.Record = RECORD, *, signed: bool = False, leave_out: str = "") -> bytes:
    document = signature.sign(KEY, run_id=records.RUN_ID, seq=len(record.lines), head=HEAD, at=WHEN)
    names = sorted(name for name in record.blobs if name != leave_out)
    header = bundle.Header(
        run_id=records.RUN_ID,
        head=orjson.loads(record.lines[-1])["hash"],
        events=len(record.lines),
        blobs=len(names),
        definition=orjson.loads(record.lines[0])["data"]["definition"],
        signature=document if signed else None,
    )
    lines = [header.line(), *(bundle.blob_line(name, record.blobs[name]) for name in names), *record.lines]
    return b"".join(line + b"\n" for line in lines)


FILE = written(signed=True)
LINES = FILE.splitlines(keepends=True)


def codes(data: bytes) -> list[str]:
    return [problem.code for problem in bundle.verify(verifying.split(data)).problems]


def test_a_true_export_proves_events_blobs_and_signature() -> None:
    assert bundle.is_bundle(LINES[0])
    found = bundle.verify(verifying.split(FILE), public_key=KEY.public)
    assert (found.problems, found.folded, found.blobs, found.events, found.head) == (
        (),
        True,
        5,
        len(RECORD.lines),
        HEAD,
    )
    assert (found.signature, found.key, found.public_key, found.signed_seq) == (
        "ok",
        "given",
        KEY.public,
        len(RECORD.lines),
    )


def test_an_unsigned_export_is_intact_and_says_so() -> None:
    found = bundle.verify(verifying.split(written()))
    assert (found.intact, found.signature) == (True, "none")


def test_blobs_are_readable_where_they_can_be() -> None:
    kinds = [set(orjson.loads(line)) - {"blob"} for line in LINES[1:6]]
    assert sorted(key for kind in kinds for key in kind) == ["base64", "json", "json", "text", "text"]


@pytest.mark.slow
def test_any_changed_byte_of_header_and_blobs_is_found() -> None:
    for index in range(len(b"".join(LINES[:6]))):
        changed = FILE[:index] + bytes([FILE[index] ^ 0x01]) + FILE[index + 1 :]
        assert not bundle.verify(verifying.split(changed)).intact


@given(index=st.integers(0, len(FILE) - 1), value=st.binary(max_size=3), cut=st.integers(0, 2))
def test_any_other_content_is_found(index: int, value: bytes, cut: int) -> None:
    changed = FILE[:index] + value + FILE[index + cut :]
    assert bundle.verify(verifying.split(changed)).intact == (changed == FILE)


@given(st.lists(st.integers(0, len(LINES) - 1), max_size=len(LINES) + 1))
def test_lines_in_any_other_order_or_number_are_found(order: list[int]) -> None:
    found = bundle.verify([LINES[index] for index in order])
    assert found.intact == (order == list(range(len(LINES))))


def test_an_export_cut_at_a_line_is_found_although_the_run_has_not_ended() -> None:
    assert codes(b"".join(LINES[:-1]))[0] == "HEADER_MISMATCH"


@given(st.binary(max_size=200))
def test_anything_after_the_mark_is_verified_without_a_crash(data: bytes) -> None:
    assert not bundle.verify(verifying.split(b'{"blobs":' + data)).intact


def test_a_blob_that_is_not_there_is_found() -> None:
    picture = canonical.digest_bytes(b"\x89PNG\xff")
    assert codes(written(leave_out=picture)) == ["BLOB_MISSING"]


def test_a_blob_nobody_refers_to_is_found() -> None:
    record = with_artifacts()
    record.keep(b"a stowaway")
    assert codes(written(record)) == ["BLOB_UNKNOWN"]


def test_a_definition_that_was_changed_is_found() -> None:
    record = records.Record()
    changed = records.definition.Workflow(name="letters", hash=record.workflow.hash, nodes={})
    record.do(
        commands.CreateRun(
            at=record.at,
            definition=record.keep(canonical.dumps(records.workflow_codec.encode(changed))),
            inputs={"value": {}},
            by="tester",
        )
    )
    assert codes(written(record))[0] == "DEFINITION_INVALID"


@pytest.mark.parametrize(
    ("old", "new", "code"),
    [(b'"version":1', b'"version":2', "HEADER_VERSION"), (b'"openskelo"', b'"openskulo"', "HEADER_INVALID")],
)
def test_a_header_of_another_kind_is_refused(old: bytes, new: bytes, code: str) -> None:
    assert codes(FILE.replace(old, new, 1))[0] == code


# -- exports of pruned runs -------------------------------------------------------------------------------------------

ENDED = records.ended()
FORGED = canonical.dumps({"forged": "evidence"})


def written_pruned(*, blobs: int = 0, definition: str = "", between: bytes = b"") -> bytes:
    head = orjson.loads(ENDED.lines[-1])["hash"]
    header = bundle.Header(
        run_id=records.RUN_ID, head=head, events=len(ENDED.lines), blobs=blobs, definition=definition
    )
    return header.line() + b"\n" + between + b"".join(line_check.prune(line) + b"\n" for line in ENDED.lines)


def test_an_export_of_a_pruned_run_is_intact() -> None:
    assert codes(written_pruned()) == []


def test_a_value_that_was_put_into_the_export_of_a_pruned_run_is_found() -> None:
    line = bundle.blob_line(canonical.digest_bytes(FORGED), FORGED) + b"\n"
    assert codes(written_pruned(blobs=1, between=line)) == ["BLOB_UNKNOWN"]


def test_another_header_of_a_pruned_run_is_found() -> None:
    assert codes(written_pruned(blobs=-1)) == ["HEADER_INVALID"]
    assert codes(written_pruned(definition=canonical.digest("other"))) == ["HEADER_MISMATCH"]
