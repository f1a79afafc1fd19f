"""Verifying, signing and exporting runs of the real engine over a real data dir."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import tracemalloc
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

import openskelo
from openskelo import errors
from openskelo.history import export, signing, verify
from openskelo.kernel.json import JsonObject
from openskelo.record import bundle, chain, signature
from openskelo.structs import replace
from openskelo.values import canonical
from tests.engine import proving, stage

AT = 1_800_000_000_000
Proof = Callable[[openskelo.Engine, str, Path], Awaitable[None]]


def play(root: Path, proof: Proof, *, draft_size: int = 1) -> None:
    """Finish a run in `root`, then prove something about it."""
    workshop = proving.Workshop()
    workshop.draft_size = draft_size

    async def story() -> None:
        async with workshop.engine(root) as engine:
            run_id = await proving.finish(engine)
            await proof(engine, run_id, root / ".skelo")

    stage.play(story)


def codes(found: chain.Verification) -> list[str]:
    return [problem.code for problem in found.problems]


def test_a_run_of_the_engine_is_intact_with_its_blobs(tmp_path: Path) -> None:
    async def proof(engine: openskelo.Engine, run_id: str, data_dir: Path) -> None:
        found = await verify.verify_run(engine.store, run_id, data_dir=data_dir)
        assert (found.problems, found.ended, found.folded, found.signature) == ((), True, True, "none")
        assert (found.events, found.receipts, found.blobs) == (15, 5, 3)

    play(tmp_path, proof, draft_size=100_000)


def test_a_copied_events_file_verifies_without_a_database(tmp_path: Path) -> None:
    async def proof(engine: openskelo.Engine, run_id: str, data_dir: Path) -> None:
        await engine.store.flush()
        copy = tmp_path / "copied.jsonl"
        copy.write_bytes(b"".join([line + b"\n" for line in await engine.store.read_event_files(run_id)]))
        found = verify.verify_file(copy)
        assert (found.intact, found.ended, found.run_id, found.folded) == (True, True, run_id, False)
        copy.write_bytes(copy.read_bytes().replace(b"about bees", b"about wasp", 1))
        assert codes(verify.verify_file(copy)) == ["HASH_MISMATCH"]

    play(tmp_path, proof)


def test_an_unknown_run_is_not_found(tmp_path: Path) -> None:
    async def proof(engine: openskelo.Engine, run_id: str, data_dir: Path) -> None:
        unknown = run_id[:-4] + "0000"
        for attempt in (
            verify.verify_run(engine.store, unknown, data_dir=data_dir),
            signing.sign(engine.store, unknown, data_dir, at=AT),
            export.export(engine.store, unknown, tmp_path / "x"),
        ):
            with pytest.raises(errors.NotFound):
                await attempt

    play(tmp_path, proof)


@pytest.mark.parametrize(
    ("name", "code"), [("nowhere.jsonl", "FILE_NOT_FOUND"), (".", "FILE_UNREADABLE"), ("pipe", "FILE_UNREADABLE")]
)
def test_what_is_no_file_is_refused(tmp_path: Path, name: str, code: str) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(errors.InvalidInput) as refused:
        verify.verify_file(tmp_path / name)
    assert refused.value.code == code


def test_an_empty_file_is_no_record(tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    assert codes(verify.verify_file(tmp_path / "empty")) == ["EMPTY"]


@pytest.mark.parametrize("beginning", [b"", b"{}\n", b'{"openskelo":"export","version":1}\n'])
def test_a_line_that_never_ends_is_refused_in_bounded_memory(tmp_path: Path, beginning: bytes) -> None:
    path = tmp_path / "events.jsonl"
    path.write_bytes(beginning)
    os.truncate(path, 8 * verify.MAX_LINE_BYTES)
    tracemalloc.start()
    try:
        with pytest.raises(errors.InvalidInput) as refused:
            verify.verify_file(path)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert (refused.value.code, peak < 3 * verify.MAX_LINE_BYTES) == ("LINE_TOO_LONG", True)
    assert f"line {len(beginning.splitlines()) + 1} has more than" in refused.value.message


def test_a_changed_database_is_found(tmp_path: Path) -> None:
    found: list[str] = []

    async def proof(engine: openskelo.Engine, run_id: str, data_dir: Path) -> None:
        found.append(run_id)

    play(tmp_path, proof)
    with contextlib.closing(sqlite3.connect(tmp_path / ".skelo" / "log.db")) as database, database:
        for position, lines in database.execute("SELECT position, lines FROM log").fetchall():
            changed = lines.replace(b"ABOUT BEES", b"ABOUT WASP")
            database.execute("UPDATE log SET lines = ? WHERE position = ?", (changed, position))
    assert codes(proving.verified_later(tmp_path, found[0])) == [
        "HASH_MISMATCH",
        "HASH_MISMATCH",
        "HASH_MISMATCH",
        "FILE_DIFFERS",
    ]


CHANGES: dict[str, tuple[Callable[[bytes], bytes], list[str]]] = {
    "changed": (lambda data: data.replace(b"about bees", b"about wasp"), ["FILE_DIFFERS"]),
    "longer": (lambda data: data + data.splitlines(keepends=True)[-1], ["FILE_DIFFERS"]),
    "behind": (lambda data: data[:-100], []),
    "empty": (lambda data: b"", []),
}


@pytest.mark.parametrize("name", CHANGES)
def test_event_files_must_not_differ_from_the_log_and_are_completed_if_they_are_short(
    tmp_path: Path, name: str
) -> None:
    change, expected = CHANGES[name]

    async def proof(engine: openskelo.Engine, run_id: str, data_dir: Path) -> None:
        await engine.store.flush()
        path = data_dir / "events" / "000000000001.jsonl"
        whole = path.read_bytes()
        path.write_bytes(change(whole))
        assert codes(await verify.verify_run(engine.store, run_id, data_dir=data_dir)) == expected
        assert (path.read_bytes() == whole) == (expected == [])

    play(tmp_path, proof)


def test_event_files_that_cannot_be_completed_are_reported(tmp_path: Path) -> None:
    async def proof(engine: openskelo.Engine, run_id: str, data_dir: Path) -> None:
        await engine.store.flush()
        path = data_dir / "events" / "000000000001.jsonl"
        path.unlink()
        path.mkdir()
        (problem,) = (await verify.verify_run(engine.store, run_id, data_dir=data_dir)).problems
        assert (problem.code, "events/" in problem.message) == ("FILE_UNREADABLE", True)
        path.rmdir()

    play(tmp_path, proof)


def test_the_events_file_of_a_run_that_goes_on_may_lag(tmp_path: Path) -> None:
    flow = stage.workflow({"id": "ask", "mode": "approval", "approval": {"prompt": "Go on?"}})

    async def story() -> None:
        async with stage.engine(tmp_path) as engine:
            run_id = await engine.start(flow)
            await engine.wait(run_id)
            await engine.store.flush()
            path = tmp_path / ".skelo" / "events" / "000000000001.jsonl"
            path.write_bytes(path.read_bytes()[:-100])
            found = await verify.verify_run(engine.store, run_id, data_dir=tmp_path / ".skelo")
            assert (found.problems, found.ended) == ((), False)

    stage.play(story)


@pytest.mark.parametrize(("content", "code"), [(b"other", "BLOB_MISMATCH"), (None, "BLOB_MISSING")])
def test_a_blob_that_was_changed_or_lost_is_found(tmp_path: Path, content: bytes | None, code: str) -> None:
    async def proof(engine: openskelo.Engine, run_id: str, data_dir: Path) -> None:
        (blob,) = [path for path in (data_dir / "blobs").rglob("*") if path.is_file()]
        blob.unlink()
        if content is not None:
            blob.write_bytes(content)
        assert codes(await verify.verify_run(engine.store, run_id, data_dir=data_dir)) == [code]

    play(tmp_path, proof, draft_size=100_000)


# -- signatures -------------------------------------------------------------------------------------------------------


def test_a_signed_run_says_by_whom(tmp_path: Path) -> None:
    async def proof(engine: openskelo.Engine, run_id: str, data_dir: Path) -> None:
        document = await signing.sign(engine.store, run_id, data_dir, at=AT)
        assert signing.find(data_dir, run_id) == document
        own = signature.open_key(data_dir).public
        found = await verify.verify_run(engine.store, run_id, data_dir=data_dir, public_key=own)
        assert (found.intact, found.signature, found.key, found.signed_seq) == (True, "ok", "given", found.events)
        await engine.store.flush()
        copy = signing.path_of(data_dir, run_id).with_name("events.jsonl")
        copy.write_bytes(b"".join([line + b"\n" for line in await engine.store.read_event_files(run_id)]))
        beside = verify.verify_file(copy)
        assert (beside.signature, beside.key, beside.public_key) == ("ok", "embedded", own)
        other = signature.open_key(tmp_path / "other").public
        assert codes(await verify.verify_run(engine.store, run_id, data_dir=data_dir, public_key=other)) == [
            "SIGNATURE_BAD"
        ]
        signing.path_of(data_dir, run_id).write_bytes(b"nonsense")
        spoiled = await verify.verify_run(engine.store, run_id, data_dir=data_dir)
        assert (spoiled.signature, codes(spoiled)) == ("bad", ["SIGNATURE_BAD"])

    play(tmp_path, proof)


def test_a_signature_that_never_ends_is_none_and_takes_no_memory(tmp_path: Path) -> None:
    async def proof(engine: openskelo.Engine, run_id: str, data_dir: Path) -> None:
        document = await signing.sign(engine.store, run_id, data_dir, at=AT)
        path = signing.path_of(data_dir, run_id)
        size = 400 * 1024 * 1024
        for end in (b" ", b"\0"):
            path.write_bytes(canonical.dumps(document) + end * 100_000)
            os.truncate(path, size)
            tracemalloc.start()
            try:
                found = await verify.verify_run(engine.store, run_id, data_dir=data_dir)
                _, peak = tracemalloc.get_traced_memory()
            finally:
                tracemalloc.stop()
            assert (found.signature, codes(found), peak < size / 10) == ("bad", ["SIGNATURE_BAD"], True)

    play(tmp_path, proof)


async def signed_half_way(engine: openskelo.Engine, data_dir: Path) -> tuple[str, JsonObject]:
    """A run that was signed while it waited for a person, and has ended since; its id, and the signature."""
    run_id = await engine.start(stage.workflow(stage.block("ask", mode="approval", approval={"prompt": "Go on?"})))
    document = await engine.wait(run_id)
    signed = await signing.sign(engine.store, run_id, data_dir, at=AT)
    unfinished = await verify.verify_run(
        engine.store, run_id, data_dir=data_dir, public_key=signature.open_key(data_dir).public
    )
    assert (unfinished.intact, unfinished.ended, unfinished.signature) == (True, False, "ok")
    await engine.answer(str(stage.approvals(document)[0]["id"]), status="approved", by="ada")
    await engine.wait(run_id)
    return run_id, signed


def test_a_signature_made_while_the_run_goes_on_holds_for_its_beginning(tmp_path: Path) -> None:
    async def story() -> None:
        async with stage.open_engine(tmp_path) as engine:
            data_dir = tmp_path / ".skelo"
            run_id, signed = await signed_half_way(engine, data_dir)
            found = await verify.verify_run(engine.store, run_id, data_dir=data_dir)
            assert (found.intact, found.ended, found.signature) == (True, True, "partial")
            assert (found.signed_seq, found.key) == (signed["seq"], "embedded")
            assert found.document()["signedBy"] == {
                "publicKey": signed["publicKey"],
                "key": "embedded",
                "seq": signed["seq"],
            }
            await engine.store.flush()
            lines = [line + b"\n" for line in await engine.store.read_event_files(run_id)]
            part = tmp_path / "part" / "events.jsonl"
            part.parent.mkdir()
            part.write_bytes(b"".join(lines[: int(str(signed["seq"]))]))
            part.with_name("head.sig").write_bytes(signing.path_of(data_dir, run_id).read_bytes())
            beginning = verify.verify_file(part, public_key=str(signed["publicKey"]))
            assert (beginning.problems, beginning.ended, beginning.signature) == ((), False, "ok")

    stage.play(story)


def test_what_comes_after_the_signature_is_signed_by_nobody(tmp_path: Path) -> None:
    async def story() -> None:
        async with stage.open_engine(tmp_path) as engine:
            data_dir = tmp_path / ".skelo"
            run_id, signed = await signed_half_way(engine, data_dir)
            made = await export.export(engine.store, run_id, tmp_path / "run")
            own, seq = str(signed["publicKey"]), int(str(signed["seq"]))
            # What anybody can write who has seen an export that was signed before the end.
            lines = made.path.read_bytes().splitlines(keepends=True)
            lines[0] = replace(made.header, signature=signed).line() + b"\n"
            (tmp_path / "forged").write_bytes(b"".join(lines))
            for found in (
                verify.verify_file(tmp_path / "forged", public_key=own),
                await verify.verify_run(engine.store, run_id, data_dir=data_dir, public_key=own),
            ):
                assert (found.intact, found.signature, found.signed_seq, found.key) == (False, "partial", seq, "given")
                (problem,) = found.problems
                assert (problem.code, problem.seq) == ("SIGNATURE_PARTIAL", seq)
                assert problem.message == (
                    f"signed up to event {seq}: events {seq + 1} to {found.events} are not signed"
                )

    stage.play(story)


def test_an_export_leaves_the_signature_of_an_earlier_head_out(tmp_path: Path) -> None:
    async def story() -> None:
        async with stage.open_engine(tmp_path) as engine:
            run_id, signed = await signed_half_way(engine, tmp_path / ".skelo")
            made = await engine.export(run_id, tmp_path / "run")
            assert (made.header.signature, made.outdated) == (None, signed["seq"])
            again = await engine.export(run_id, tmp_path / "run", sign=True, overwrite=True)
            assert again.outdated is None
            found = verify.verify_file(again.path, public_key=str(signed["publicKey"]))
            assert (found.intact, found.ended, found.signature, found.signed_seq) == (True, True, "ok", found.events)

    stage.play(story)


def test_a_run_that_goes_on_while_it_is_exported_is_exported_as_it_was_signed(tmp_path: Path) -> None:
    async def story() -> None:
        async with stage.open_engine(tmp_path) as engine:
            run_id, signed = await signed_half_way(engine, tmp_path / ".skelo")
            seq = int(str(signed["seq"]))
            made = await export.export(engine.store, run_id, tmp_path / "run", signature=signed, up_to=seq)
            assert (made.header.events, made.header.head, made.header.signature) == (seq, signed["head"], signed)
            found = verify.verify_file(made.path, public_key=str(signed["publicKey"]))
            assert (found.problems, found.ended, found.signature) == ((), False, "ok")

    stage.play(story)


def test_whoever_gives_a_key_gets_no_green_for_an_unsigned_record(tmp_path: Path) -> None:
    async def proof(engine: openskelo.Engine, run_id: str, data_dir: Path) -> None:
        own = signature.open_key(data_dir).public
        made = await export.export(engine.store, run_id, tmp_path / "run")
        found = await verify.verify_run(engine.store, run_id, data_dir=data_dir, public_key=own)
        assert (found.intact, found.signature, codes(found)) == (False, "none", ["SIGNATURE_MISSING"])
        assert codes(verify.verify_file(made.path, public_key=own)) == ["SIGNATURE_MISSING"]
        with pytest.raises(errors.InvalidInput) as refused:
            verify.verify_file(made.path, public_key="nonsense")
        assert refused.value.code == "KEY_INVALID"

    play(tmp_path, proof)


# -- export -----------------------------------------------------------------------------------------------------------


def test_an_export_verifies_elsewhere_with_definition_blobs_and_signature(tmp_path: Path) -> None:
    path = tmp_path / "run.skelo.jsonl"

    async def proof(engine: openskelo.Engine, run_id: str, data_dir: Path) -> None:
        signed = await signing.sign(engine.store, run_id, data_dir, at=AT)
        made = await export.export(engine.store, run_id, path, signature=signed)
        assert (made.path, made.bytes, made.missing) == (path, path.stat().st_size, ())
        assert made.header.line() == path.read_bytes().split(b"\n")[0]
        found = verify.verify_file(path)
        assert (found.problems, found.run_id, found.ended, found.folded) == ((), run_id, True, True)
        assert (found.signature, found.blobs) == ("ok", 3)

    play(tmp_path, proof, draft_size=100_000)
    assert [entry.name for entry in tmp_path.iterdir() if entry.name.startswith(".run")] == []


def test_an_export_holds_the_lines_exactly_as_logged(tmp_path: Path) -> None:
    async def proof(engine: openskelo.Engine, run_id: str, data_dir: Path) -> None:
        made = await export.export(engine.store, run_id, tmp_path / "run")
        logged = [line async for lines in engine.store.read_events(run_id) for line in lines]
        lines = (tmp_path / "run").read_bytes().splitlines()
        assert bundle.is_bundle(lines[0])
        assert lines[1 + made.header.blobs :] == logged

    play(tmp_path, proof)


def test_an_export_replaces_a_file_only_when_told(tmp_path: Path) -> None:
    async def proof(engine: openskelo.Engine, run_id: str, data_dir: Path) -> None:
        path = tmp_path / "run"
        path.write_text("mine")
        with pytest.raises(errors.InvalidInput) as refused:
            await export.export(engine.store, run_id, path)
        assert (refused.value.code, path.read_text()) == ("FILE_EXISTS", "mine")
        await export.export(engine.store, run_id, path, overwrite=True)
        assert verify.verify_file(path).intact

    play(tmp_path, proof)


def test_an_export_to_a_place_that_cannot_be_written_is_a_clear_error(tmp_path: Path) -> None:
    async def proof(engine: openskelo.Engine, run_id: str, data_dir: Path) -> None:
        with pytest.raises(errors.StoreError) as refused:
            await export.export(engine.store, run_id, tmp_path / "no" / "such" / "folder")
        assert refused.value.code == "EXPORT_FAILED"

    play(tmp_path, proof)


def test_an_export_without_a_lost_blob_is_written_and_says_so(tmp_path: Path) -> None:
    async def proof(engine: openskelo.Engine, run_id: str, data_dir: Path) -> None:
        (blob,) = [path for path in (data_dir / "blobs").rglob("*") if path.is_file()]
        blob.unlink()
        made = await export.export(engine.store, run_id, tmp_path / "run")
        assert made.missing == (f"sha256:{blob.name}",)
        assert codes(verify.verify_file(tmp_path / "run")) == ["BLOB_MISSING"]

    play(tmp_path, proof, draft_size=100_000)


def change_listing(root: Path, statement: str, *values: str) -> None:
    with contextlib.closing(sqlite3.connect(root / ".skelo" / "log.db")) as database, database:
        assert database.execute(statement, values).rowcount == 1


def test_the_log_of_another_run_under_the_name_of_this_one_is_found(tmp_path: Path) -> None:
    made: list[str] = []

    async def proof(engine: openskelo.Engine, run_id: str, data_dir: Path) -> None:
        made.append(run_id)

    play(tmp_path, proof)
    other = made[0][:-4] + "0000"
    change_listing(tmp_path, "UPDATE runs SET run_id = ? WHERE run_id = ?", other, made[0])
    assert codes(proving.verified_later(tmp_path, other)) == ["RUN_CHANGED", "FILE_DIFFERS"]


@pytest.mark.parametrize("column", ["ending", "name", "workflow_hash", "parent"])
def test_a_listing_that_says_something_else_than_the_log_is_found(tmp_path: Path, column: str) -> None:
    made: list[str] = []

    async def proof(engine: openskelo.Engine, run_id: str, data_dir: Path) -> None:
        made.append(run_id)

    play(tmp_path, proof)
    change_listing(tmp_path, f"UPDATE runs SET {column} = ? WHERE run_id = ?", "failed", made[0])
    found = proving.verified_later(tmp_path, made[0])
    assert codes(found) == ["LISTING_DIFFERS"]
    assert column in found.problems[0].message
