"""What only the SQLite store promises: how often it syncs, who may hold it up, what it says when it cannot go on."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import shutil
import sqlite3
from pathlib import Path

import pytest

from openskelo import errors
from openskelo.stores import api, blobs
from openskelo.stores.conformance import fixtures
from openskelo.stores.sqlite import appender, queries, sqlite_store
from openskelo.stores.sqlite import connection as sqlite_connection
from openskelo.stores.sqlite import data_dir as stores_data_dir


def test_every_statement_has_a_name_and_a_sentence() -> None:
    for topic in ("log", "runs", "tables", "retention"):
        for part in (queries.SQL_FOLDER / f"{topic}.sql").read_text("utf-8").split("-- name: ")[1:]:
            name, sentence, *_ = part.splitlines()
            assert name.isidentifier()
            assert sentence.startswith("-- ")
            assert sentence.endswith((".", ").")), sentence
    assert len(queries.load_statements()) > 20


PARTS = ("sqlite_store.py", "queries.py", "appender.py", "pruner.py")


def test_every_statement_is_used() -> None:
    source = "".join((Path(sqlite_store.__file__).parent / name).read_text("utf-8") for name in PARTS)
    assert [name for name in queries.load_statements() if f'"{name}"' not in source] == []


def test_rows_are_found_before_and_after_they_have_a_place(tmp_path: Path) -> None:
    async def run() -> None:
        store = stores_data_dir.open_store(tmp_path)
        total = appender.MAX_UNPLACED * 2 + 10
        seq = 0
        for end in (1, 2, 300, *range(appender.MAX_UNPLACED - 3, appender.MAX_UNPLACED + 4), 800, total - 1, total):
            await store.append([fixtures.append(number, b"%d" % number) for number in range(seq, end)])
            seq = end
            assert await fixtures.lines(store, fixtures.RUN) == [b"%d" % number for number in range(seq)]
        other = stores_data_dir.open_store(tmp_path)
        await other.append([fixtures.append(total, b"other")])
        with pytest.raises(errors.Conflict):
            await store.append([fixtures.append(total, b"lost")])
        assert (await fixtures.lines(store, fixtures.RUN))[-2:] == [b"%d" % (total - 1), b"other"]
        await other.close()
        await store.close()

    asyncio.run(run())


@pytest.mark.parametrize("news", [3, appender.MAX_NEW_ROWS + 3])
def test_what_is_known_of_runs_is_read_anew_only_where_others_have_moved_them(tmp_path: Path, news: int) -> None:
    runs = [f"00000000-0000-4000-8000-{number:012d}" for number in range(50)]

    async def run() -> list[str]:
        store, other = stores_data_dir.open_store(tmp_path), stores_data_dir.open_store(tmp_path)
        await store.append([fixtures.append(0, b"1", run_id=run_id) for run_id in runs])
        await other.append([fixtures.append(seq, b"x") for seq in range(news)])
        await other.append([fixtures.append(1, b"2", run_id=runs[7])])
        asked: list[str] = []
        database = store._connection  # pyright: ignore[reportPrivateUsage] - what it is asked has no public face
        database.set_trace_callback(asked.append)
        await store.append([fixtures.append(1, b"2", run_id=run_id) for run_id in runs if run_id != runs[7]])
        database.set_trace_callback(None)
        with pytest.raises(errors.Conflict):
            await store.append([fixtures.append(1, b"lost", run_id=runs[7]), fixtures.append(news, b"lost")])
        assert [await fixtures.lines(store, run_id) for run_id in runs] == [[b"1", b"2"]] * 50
        await other.close()
        await store.close()
        return [statement for statement in asked if "FROM runs WHERE run_id" in statement]

    assert len(asyncio.run(run())) == (0 if news < appender.MAX_NEW_ROWS else 49)


def test_a_batch_leaves_what_its_appends_leave_one_by_one(tmp_path: Path) -> None:
    """Runs that begin, are listed anew and end in one batch; two of them were claimed before, and had no listing."""
    claimed, listed, bare = (f"00000000-0000-4000-8000-{number:012d}" for number in range(3))
    appends = [
        fixtures.append(0, b"1", row=fixtures.row(fixtures.RUN, 10)),
        fixtures.append(0, b"1", run_id=bare),
        fixtures.append(0, b"1", run_id=claimed, row=fixtures.row(claimed, 11)),
        fixtures.append(
            1, b"2", run_id=claimed, row=fixtures.row(claimed, 99, status="completed", ending="ok", updated_at=20)
        ),
        fixtures.append(1, row=fixtures.row(fixtures.RUN, 99, status="paused", updated_at=21)),
        fixtures.append(
            0, b"1", run_id=fixtures.OTHER, row=fixtures.row(fixtures.OTHER, 12, status="failed", ending="failed")
        ),
        fixtures.append(1, b"2", b"3", run_id=bare, row=fixtures.row(bare, 13)),
        fixtures.append(0, b"1", run_id=listed, row=fixtures.row(listed, 14, status="completed", ending="ok")),
    ]

    async def left(folder: Path, batches: list[list[api.Append]]) -> list[object]:
        store = stores_data_dir.open_store(folder)
        assert [await store.claim_run(listed), await store.claim_run(claimed)] == [True, True]
        for batch in batches:
            await store.append(batch)
        database = store._connection  # pyright: ignore[reportPrivateUsage] - all of what is kept
        columns = "number, run_id, claimed, name, workflow_hash, status, ending, created_at, updated_at, parent"
        found: list[object] = [database.execute(f"SELECT {columns} FROM runs ORDER BY number").fetchall()]
        found += database.execute("SELECT * FROM log ORDER BY position").fetchall()
        found += [
            await store.is_driver_alive(run_id) for run_id in (fixtures.RUN, fixtures.OTHER, claimed, listed, bare)
        ]
        await store.close()
        return found

    at_once = asyncio.run(left(tmp_path / "at-once", [appends]))
    assert at_once == asyncio.run(left(tmp_path / "one-by-one", [[append] for append in appends]))
    assert at_once[-5:] == [True, False, False, False, True]


def test_a_batch_that_fails_leaves_no_run_and_the_next_one_has_its_numbers(tmp_path: Path) -> None:
    async def run() -> None:
        store = stores_data_dir.open_store(tmp_path)
        good = [
            fixtures.append(0, b"1", row=fixtures.row(fixtures.RUN, 1)),
            fixtures.append(0, b"1", run_id="a", row=fixtures.row("a", 1)),
        ]
        with pytest.raises(errors.Conflict, match="run other is at seq 0, not at 4"):
            await store.append([*good, fixtures.append(4, b"x", run_id="other")])
        with pytest.raises(errors.InvalidInput) as raised:
            await store.append([*good, fixtures.append(0, b"x", run_id="../other")])
        assert raised.value.code == "RUN_ID"
        assert (await store.list_runs(), await store.last_position()) == ([], 0)
        other = stores_data_dir.open_store(tmp_path)
        await other.append([fixtures.append(0, b"1", run_id="b", row=fixtures.row("b", 1))])
        await store.append(good)
        # Of runs that were made at the same moment the one begun last is first.
        assert [row.run_id for row in await other.list_runs()] == ["a", fixtures.RUN, "b"]
        await other.close()
        await store.close()

    asyncio.run(run())


def test_the_write_ahead_log_is_used_again_and_does_not_grow(tmp_path: Path) -> None:
    async def run() -> list[int]:
        store = stores_data_dir.open_store(tmp_path)
        sizes: list[int] = []
        for seq in range(900):
            await store.append([fixtures.append(seq, b"x" * 10_000)])
            sizes.append((tmp_path / "log.db-wal").stat().st_size)
        assert len(await fixtures.lines(store, fixtures.RUN)) == 900
        await store.close()
        return sizes

    sizes = asyncio.run(run())
    full = sqlite_connection.CHECKPOINT_PAGES * stores_data_dir.PAGE_BYTES
    assert full < sizes[-1] <= max(sizes) < full * 1.1


def test_the_database_syncs_every_commit(tmp_path: Path) -> None:
    async def run() -> tuple[object, ...]:
        store = stores_data_dir.open_store(tmp_path)
        await store.append([fixtures.append(0, b"1")])
        await store.claim_run(fixtures.OTHER)
        await store.release_run(fixtures.OTHER)
        database = store._connection  # pyright: ignore[reportPrivateUsage] - settings have no public face
        settings = [database.execute(f"PRAGMA {name}").fetchone()[0] for name in ("journal_mode", "synchronous")]
        await store.close()
        return tuple(settings)

    assert asyncio.run(run()) == ("wal", 2)


def test_a_log_that_somebody_else_holds_is_busy_and_usable_afterwards(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite_connection, "BUSY_SECONDS", 0.05)

    async def run() -> None:
        store = stores_data_dir.open_store(tmp_path)
        await store.append([fixtures.append(0, b"1")])
        with contextlib.closing(sqlite3.connect(tmp_path / "log.db", isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            for doing in (
                store.append([fixtures.append(1, b"2")]),
                store.append([fixtures.append(1, b"2", closed=("a",))]),
                store.queue_command(fixtures.RUN, {"type": "cancel"}),
                store.claim_run(fixtures.OTHER),
            ):
                with pytest.raises(errors.StoreError) as raised:
                    await doing
                assert raised.value.code == "STORE_BUSY"
            assert await fixtures.lines(store, fixtures.RUN) == [b"1"]
            other.execute("ROLLBACK")
        await store.append([fixtures.append(1, b"2")])
        assert await store.claim_run(fixtures.OTHER) is True
        assert await fixtures.lines(store, fixtures.RUN) == [b"1", b"2"]
        await store.close()

    asyncio.run(run())


def test_a_run_that_was_appended_at_once_is_read_in_parts(tmp_path: Path) -> None:
    async def run() -> list[list[bytes]]:
        store = stores_data_dir.open_store(tmp_path)
        await store.append([fixtures.append(0, *[b"%d" % seq for seq in range(600)])])
        found = [list(chunk) async for chunk in store.read_events(fixtures.RUN, after=10)]
        await store.close()
        return found

    found = asyncio.run(run())
    assert [len(chunk) for chunk in found] == [256, 256, 78]
    assert [line for chunk in found for line in chunk] == [b"%d" % seq for seq in range(10, 600)]


def test_a_reader_that_stops_half_way_does_not_stop_the_writer(tmp_path: Path) -> None:
    async def run() -> None:
        store = stores_data_dir.open_store(tmp_path)
        await store.append([fixtures.append(0, *[b"x" * 100] * 10)])
        await store.append([fixtures.append(seq, b"x") for seq in range(10, 10 + queries.ROWS_PER_QUERY * 2)])
        reader = store.read_events(fixtures.RUN)
        first = await anext(reader)
        assert len(first) == queries.LINES_PER_CHUNK
        other = stores_data_dir.open_store(tmp_path)
        assert await other.claim_run(fixtures.OTHER) is True
        await other.close()
        await store.append([fixtures.append(10 + queries.ROWS_PER_QUERY * 2, b"last")])
        rest = [line async for chunk in reader for line in chunk]
        assert rest[-1] == b"last"
        await store.close()

    asyncio.run(run())


def test_the_loop_goes_on_while_somebody_else_holds_the_log(tmp_path: Path) -> None:
    async def run() -> None:
        store = stores_data_dir.open_store(tmp_path)
        await store.append([fixtures.append(0, b"1")])
        with contextlib.closing(sqlite3.connect(tmp_path / "log.db", isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            appending = asyncio.ensure_future(store.append([fixtures.append(1, b"2")]))
            noting = asyncio.ensure_future(store.save_note("key", {}, at=1))
            await asyncio.sleep(0.2)
            # Had the loop stood still, it would have done so until both had given up.
            assert not appending.done()
            assert not noting.done()
            other.execute("ROLLBACK")
        await asyncio.gather(appending, noting)
        assert await fixtures.lines(store, fixtures.RUN) == [b"1", b"2"]
        assert await store.read_note("key") == {}
        await store.close()

    asyncio.run(run())


@pytest.mark.parametrize("fate", ["removed", "moved", "replaced"])
def test_a_log_that_is_not_at_its_path_any_more_is_gone_and_takes_nothing(tmp_path: Path, fate: str) -> None:
    data_dir = tmp_path / "data"

    async def run() -> None:
        store = stores_data_dir.open_store(data_dir)
        await store.append([fixtures.append(0, b"1")])
        assert await store.has_changed() is False
        data_dir.rename(tmp_path / "elsewhere")
        if fate == "replaced":
            shutil.copytree(tmp_path / "elsewhere", data_dir)
        if fate == "removed":
            shutil.rmtree(tmp_path / "elsewhere")
        for doing in (
            store.has_changed(),
            store.append([fixtures.append(1, b"2")]),
            store.append([fixtures.append(1, b"2", closed=("a",))]),
            store.queue_command(fixtures.RUN, {"type": "cancel"}),
            store.claim_run(fixtures.OTHER),
        ):
            with pytest.raises(errors.StoreError) as raised:
                await doing
            assert raised.value.code == "STORE_GONE"
        await store.close()
        assert data_dir.exists() == (fate == "replaced")

    asyncio.run(run())


def test_a_sweep_asks_as_often_however_many_runs_there_are(tmp_path: Path) -> None:
    async def asked(count: int) -> int:
        store = stores_data_dir.open_store(tmp_path / str(count))
        for number in range(count):
            await store.append([fixtures.append(0, b"1", run_id=f"run-{number}")])
        await store.flush()
        found: list[str] = []
        store._connection.set_trace_callback(found.append)  # pyright: ignore[reportPrivateUsage] - what it asks
        await store.sweep_blobs()
        store._connection.set_trace_callback(None)  # pyright: ignore[reportPrivateUsage]
        await store.close()
        return len(found)

    assert asyncio.run(asked(40)) == asyncio.run(asked(4))


def test_what_is_asked_for_one_run_or_one_page_looks_at_no_other(tmp_path: Path) -> None:
    """Nothing here grows with the number of runs, or of questions that were ever asked."""
    names = (
        *("find_run", "read_listing", "read_listings", "read_unfinished_listings", "find_listing", "read_driver"),
        *("read_approvals", "read_approvals_of_run", "read_approval", "read_asker", "find_approval", "read_closed"),
        *("find_command", "withdraw_command", "consume_command", "mark_approval", "close_approval"),
        *(
            "delete_rows",
            "delete_places",
            "delete_run",
            "delete_approvals",
            "delete_closed_approvals",
            "read_backwards",
        ),
        *(
            "read_note",
            "read_notes",
            "delete_notes",
            "read_feed",
            "read_placed",
            "read_unplaced",
            "read_listings_named",
        ),
    )
    growing = {
        f"SCAN {table}" for table in ("runs", "log", "places", "approvals", "closed_approvals", "notes", "commands")
    }
    store = stores_data_dir.open_store(tmp_path)
    sql = queries.load_statements()
    connection = store._connection  # pyright: ignore[reportPrivateUsage] - only SQLite itself knows its plans
    for name in names:
        numbered = [int(number) for number in re.findall(r"\?([0-9])", sql[name])]
        values = [1] * max(numbered, default=sql[name].count("?"))
        plan = {row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {sql[name]}", values)}
        assert (name, plan & growing, "USE TEMP B-TREE FOR ORDER BY" in plan) == (name, set(), False)
    asyncio.run(store.close())


def test_a_run_that_is_claimed_again_while_it_is_released_stays_claimed(tmp_path: Path) -> None:
    """Another program writes to the log when somebody wants the run again: no other store may take it then."""

    async def story() -> list[bool]:
        store, other = stores_data_dir.open_store(tmp_path), stores_data_dir.open_store(tmp_path)
        await store.append([fixtures.append(0, b"1")])
        with contextlib.closing(sqlite3.connect(tmp_path / "log.db", isolation_level=None)) as writer:
            writer.execute("BEGIN IMMEDIATE")
            claiming = asyncio.create_task(store.claim_run(fixtures.RUN))
            await asyncio.sleep(0)
            releasing = asyncio.create_task(store.release_run(fixtures.RUN))
            await asyncio.sleep(0)
            assert not releasing.done()
        claimed = await claiming
        await releasing
        found = [claimed, await other.claim_run(fixtures.RUN), await other.is_driver_alive(fixtures.RUN)]
        await store.release_run(fixtures.RUN)
        found.append(await other.claim_run(fixtures.RUN))
        await store.close()
        await other.close()
        return found

    assert asyncio.run(story()) == [True, False, True, True]


def _blob_files(data_dir: Path) -> list[str]:
    return [path.name for path in (data_dir / "blobs").rglob("*") if path.is_file()]


def test_values_up_to_a_megabyte_cost_no_sync_beside_that_of_their_commit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[int] = []
    monkeypatch.setattr(os, "fsync", synced.append)
    monkeypatch.setattr(os, "fdatasync", synced.append)
    values = [b"a" * 50_000, b"b" * 1_000_000]

    async def story() -> tuple[list[str], list[bytes]]:
        store = stores_data_dir.open_store(tmp_path)
        await store.append([fixtures.append(0, b"1")])
        synced.clear()
        statements: list[str] = []
        connection = store._connection  # pyright: ignore[reportPrivateUsage] - only SQLite itself knows its commits
        connection.set_trace_callback(statements.append)
        names = [await store.put_blob(value) for value in values]
        await store.append([fixtures.append(1, " ".join(names).encode())])
        connection.set_trace_callback(None)
        await store.close()
        store = stores_data_dir.open_store(tmp_path)
        found = [await store.read_blob(name) for name in names]
        await store.close()
        return [text for text in statements if text in {"COMMIT", "END"}], found

    assert asyncio.run(story()) == (["COMMIT"], values)
    assert (synced, _blob_files(tmp_path)) == ([], [])


def test_of_too_many_values_that_wait_the_oldest_becomes_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blobs, "MAX_WAITING_BYTES", 100_000)
    values = [letter * 40_000 for letter in (b"a", b"b", b"c")]

    async def story() -> tuple[list[str], list[str], list[bytes]]:
        store = stores_data_dir.open_store(tmp_path)
        names = [await store.put_blob(value) for value in values]
        written = _blob_files(tmp_path)
        await store.append([fixtures.append(0, " ".join(names).encode())])
        await store.close()
        store = stores_data_dir.open_store(tmp_path)
        found = [await store.read_blob(name) for name in names]
        await store.close()
        return written, _blob_files(tmp_path), found

    oldest = [blobs.digest_of(blobs.name_of(values[0]))]
    assert asyncio.run(story()) == (oldest, oldest, values)
