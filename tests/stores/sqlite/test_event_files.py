"""The event files hold the log in the order of commits, whatever happened to them, and no evidence is overwritten."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import shutil
import sqlite3
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from openskelo import errors
from openskelo.stores import blobs
from openskelo.stores.conformance import fixtures
from openskelo.stores.sqlite import connection as sqlite_connection
from openskelo.stores.sqlite import data_dir as stores_data_dir
from openskelo.stores.sqlite import event_files, sqlite_store

LINES = [b'{"seq":%d,"text":"\xc3\xa9"}' % seq for seq in range(1, 1501)]
ENDED = fixtures.row(fixtures.RUN, 1, status="completed", ending="ok")

Story = Callable[[sqlite_store.SqliteStore], Awaitable[None]]


def _folder(data_dir: Path) -> Path:
    return data_dir / "events"


def _first(data_dir: Path) -> Path:
    return _folder(data_dir) / "000000000001.jsonl"


def _segments(data_dir: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(_folder(data_dir).glob("*.jsonl"))}


def _joined(lines: list[bytes]) -> bytes:
    return b"".join(line + b"\n" for line in lines)


def _line(run_id: str, seq: int, text: str = "") -> bytes:
    """A line as the log has it: the data first, which may name other runs; then the envelope."""
    data = b'{"parent":{"runId":"%b","seq":9},"text":"%b"}' % (fixtures.RUN.encode(), text.encode())
    return b'{"data":%b,"hash":"","runId":"%b","seq":%d,"ts":"","type":"t"}' % (data, run_id.encode(), seq)


def play(data_dir: Path, story: Story) -> None:
    async def run() -> None:
        store = stores_data_dir.open_store(data_dir)
        try:
            await story(store)
        finally:
            await store.close()

    asyncio.run(run())


def test_the_files_are_written_when_asked_and_when_the_store_closes(tmp_path: Path) -> None:
    async def story(store: sqlite_store.SqliteStore) -> None:
        await store.append([fixtures.append(0, b"1", b"2")])
        await store.append([fixtures.append(2, b"3")])
        assert not _first(tmp_path).exists()
        await store.flush()
        assert _first(tmp_path).read_bytes() == b"1\n2\n3\n"
        await store.append([fixtures.append(3, b"4")])
        await store.flush()
        await store.flush()
        assert _first(tmp_path).read_bytes() == b"1\n2\n3\n4\n"
        await store.append([fixtures.append(4, b"5")])

    play(tmp_path, story)
    assert _segments(tmp_path) == {"000000000001.jsonl": b"1\n2\n3\n4\n5\n"}
    assert _first(tmp_path).stat().st_mode & 0o777 == 0o600


def test_all_runs_are_in_one_file_in_the_order_of_their_commits(tmp_path: Path) -> None:
    async def story(store: sqlite_store.SqliteStore) -> None:
        await store.append([fixtures.append(0, b"a1"), fixtures.append(0, b"b1", run_id=fixtures.OTHER)])
        await store.append([fixtures.append(1, b"b2", b"b3", run_id=fixtures.OTHER)])
        await store.append([fixtures.append(1, b"a2")])

    play(tmp_path, story)
    assert _segments(tmp_path) == {"000000000001.jsonl": b"a1\nb1\nb2\nb3\na2\n"}


def test_what_another_store_has_committed_is_copied_too_and_once(tmp_path: Path) -> None:
    async def story(one: sqlite_store.SqliteStore) -> None:
        two = stores_data_dir.open_store(tmp_path)
        await one.append([fixtures.append(0, b"1")])
        await two.flush()
        await two.append([fixtures.append(1, b"2")])
        await one.append([fixtures.append(2, b"3")])
        await asyncio.gather(one.flush(), two.flush())
        await one.append([fixtures.append(3, b"4")])
        await two.close()

    play(tmp_path, story)
    assert _segments(tmp_path) == {"000000000001.jsonl": b"1\n2\n3\n4\n"}


def test_a_full_segment_is_followed_by_one_named_after_its_first_row(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event_files, "SEGMENT_BYTES", 10)
    monkeypatch.setattr(event_files, "ROWS_PER_STEP", 2)

    async def story(store: sqlite_store.SqliteStore) -> None:
        for seq in range(7):
            await store.append([fixtures.append(seq, b"line %d" % seq)])

    play(tmp_path, story)
    assert _segments(tmp_path) == {
        "000000000001.jsonl": b"line 0\nline 1\n",
        "000000000003.jsonl": b"line 2\nline 3\n",
        "000000000005.jsonl": b"line 4\nline 5\n",
        "000000000007.jsonl": b"line 6\n",
    }


def test_lines_added_during_a_flush_are_written_by_the_next(tmp_path: Path) -> None:
    async def story(store: sqlite_store.SqliteStore) -> None:
        seq = 0
        for _ in range(20):
            await store.append([fixtures.append(seq, LINES[seq])])
            flush = asyncio.create_task(store.flush())
            for _ in range(3):
                seq += 1
                await store.append([fixtures.append(seq, LINES[seq])])
                await asyncio.sleep(0)
            await flush
            seq += 1

    play(tmp_path, story)
    assert _segments(tmp_path) == {"000000000001.jsonl": _joined(LINES[:80])}


@pytest.mark.parametrize("turns", range(6))
def test_lines_added_at_any_moment_of_a_flush_are_written_before_the_store_closes(tmp_path: Path, turns: int) -> None:
    async def story(store: sqlite_store.SqliteStore) -> None:
        await store.append([fixtures.append(0, b"1")])
        flushing = asyncio.create_task(store.flush())
        for _ in range(turns):
            await asyncio.sleep(0)
        await store.append([fixtures.append(1, b"2")])
        await flushing

    play(tmp_path, story)
    assert _first(tmp_path).read_bytes() == b"1\n2\n"


def test_a_long_catch_up_lets_other_tasks_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_files, "ROWS_PER_STEP", 1)

    async def story(store: sqlite_store.SqliteStore) -> None:
        await store.append([fixtures.append(seq, LINES[seq]) for seq in range(5)])
        turns: list[int] = []
        asyncio.get_running_loop().call_soon(turns.append, 1)
        await store.flush()
        assert turns == [1]

    play(tmp_path, story)


def _torn(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-7])


def _missing(path: Path) -> None:
    path.unlink()


def _missing_folder(path: Path) -> None:
    shutil.rmtree(path.parent)


def _empty(path: Path) -> None:
    path.write_bytes(b"")


def _without_end(path: Path) -> None:
    path.with_name("end").unlink()


@pytest.mark.parametrize("damage", [_torn, _missing, _missing_folder, _empty, _without_end])
def test_a_shortened_file_is_completed_by_the_next_flush(damage: Callable[[Path], None], tmp_path: Path) -> None:
    async def story(store: sqlite_store.SqliteStore) -> None:
        await store.append([fixtures.append(at, *LINES[at : at + 2]) for at in range(0, 1500, 2)])
        await store.flush()
        damage(_first(tmp_path))
        await store.append([fixtures.append(1500, b"last")])

    play(tmp_path, story)
    assert _segments(tmp_path) == {"000000000001.jsonl": _joined([*LINES, b"last"])}


def _too_long(path: Path) -> None:
    path.write_bytes(path.read_bytes() + b'{"seq":1501}\n')


def _half_a_line_more(path: Path) -> None:
    path.write_bytes(path.read_bytes() + b'{"se')


def _changed_inside(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[100] ^= 1
    path.write_bytes(bytes(data))


def _zeros(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-100] + bytes(100))


def _reordered(path: Path) -> None:
    path.write_bytes(b"".join(reversed(path.read_bytes().splitlines(keepends=True))))


@pytest.mark.parametrize("damage", [_too_long, _half_a_line_more, _changed_inside, _zeros, _reordered])
def test_a_repair_keeps_a_file_that_holds_anything_else_and_writes_it_anew(
    damage: Callable[[Path], None], tmp_path: Path
) -> None:
    kept: list[bytes] = []

    async def story(store: sqlite_store.SqliteStore) -> None:
        await store.append([fixtures.append(at, *LINES[at : at + 2]) for at in range(0, 1500, 2)])
        await store.flush()
        damage(_first(tmp_path))
        kept.append(_first(tmp_path).read_bytes())
        assert [path.name for path in await store.repair_event_files()] == ["000000000001.differs-1.jsonl"]
        assert await store.repair_event_files() == []

    play(tmp_path, story)
    assert _segments(tmp_path) == {"000000000001.differs-1.jsonl": kept[0], "000000000001.jsonl": _joined(LINES)}


def test_a_repair_completes_segments_and_writes_those_that_are_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event_files, "SEGMENT_BYTES", 10)
    monkeypatch.setattr(event_files, "ROWS_PER_STEP", 2)

    async def story(store: sqlite_store.SqliteStore) -> None:
        for seq in range(7):
            await store.append([fixtures.append(seq, b"line %d" % seq)])
        await store.flush()
        _first(tmp_path).unlink()
        (_folder(tmp_path) / "000000000003.jsonl").write_bytes(b"line 2\nli")
        (_folder(tmp_path) / "000000000005.jsonl").unlink()
        assert await store.repair_event_files() == []

    play(tmp_path, story)
    assert _segments(tmp_path) == {
        "000000000001.jsonl": b"line 0\nline 1\n",
        "000000000003.jsonl": b"line 2\nline 3\nline 4\nline 5\n",
        "000000000007.jsonl": b"line 6\n",
    }


@pytest.mark.parametrize("lost", [3, 6])
def test_lines_that_the_log_has_lost_stay_in_files_of_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lost: int
) -> None:
    monkeypatch.setattr(event_files, "SEGMENT_BYTES", 10)
    monkeypatch.setattr(event_files, "ROWS_PER_STEP", 2)

    async def write(store: sqlite_store.SqliteStore) -> None:
        for seq in range(8):
            await store.append([fixtures.append(seq, b"line %d" % seq)])

    async def go_on(store: sqlite_store.SqliteStore) -> None:
        for seq in range(8 - lost, 9):  # as many rows as were lost, and one more: they take the same positions
            await store.append([fixtures.append(seq, b"new %d" % seq)])

    play(tmp_path, write)
    before = _segments(tmp_path)
    with contextlib.closing(sqlite3.connect(tmp_path / "log.db")) as database, database:
        database.execute("DELETE FROM log WHERE position > ?", (8 - lost,))
    play(tmp_path, go_on)
    after = _segments(tmp_path)
    kept = {name.replace(".differs-1", ""): data for name, data in after.items() if "differs" in name}
    assert kept == {name: data for name, data in before.items() if name >= f"{8 - lost:012d}.jsonl"}
    whole = b"".join(data for name, data in after.items() if "differs" not in name)
    assert whole == _joined(
        [b"line %d" % seq for seq in range(8 - lost)] + [b"new %d" % seq for seq in range(8 - lost, 9)]
    )


def test_a_sweep_keeps_the_values_of_events_that_the_log_has_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blobs, "GRACE_SECONDS", -1)
    large = b"x" * (blobs.COMMITTED_BYTES + 1)
    names: list[str] = []

    async def write(store: sqlite_store.SqliteStore) -> None:
        await store.append([fixtures.append(0, _line(fixtures.RUN, 1))])
        names[:] = [await store.put_blob(large), await store.put_blob(large + b"!")]
        await store.append([fixtures.append(0, _line(fixtures.OTHER, 1, names[0]), run_id=fixtures.OTHER)])

    async def sweep(store: sqlite_store.SqliteStore) -> None:
        await store.append([fixtures.append(1, _line(fixtures.RUN, 2))])
        assert await store.find_lost_events() == {fixtures.OTHER: 1}
        assert (await store.sweep_blobs()).blobs == 1
        assert await store.read_blob(names[0]) == large
        with pytest.raises(errors.NotFound):
            await store.read_blob(names[1])

    play(tmp_path, write)
    with contextlib.closing(sqlite3.connect(tmp_path / "log.db")) as database, database:
        database.execute("DELETE FROM log WHERE position > 1")
    play(tmp_path, sweep)


def test_the_files_of_a_run_can_be_read_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_files, "SEGMENT_BYTES", 300)
    mine = [_line(fixtures.RUN, seq) for seq in range(1, 6)]

    async def story(store: sqlite_store.SqliteStore) -> None:
        for seq in range(5):
            other = fixtures.append(seq, _line(fixtures.OTHER, seq + 1), run_id=fixtures.OTHER)
            await store.append([other, fixtures.append(seq, mine[seq])])
            await store.flush()
        assert await store.read_event_files(fixtures.RUN) == mine
        assert await store.read_event_files("unknown") == []

    play(tmp_path, story)
    assert len(_segments(tmp_path)) > 2


def test_pruned_lines_leave_all_files_with_the_next_sweep(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_files, "SEGMENT_BYTES", 500)
    short, gone = fixtures.RUN, "gone"

    async def story(store: sqlite_store.SqliteStore) -> None:
        for seq in range(3):
            for run_id in (short, gone, fixtures.OTHER):
                await store.append([fixtures.append(seq, _line(run_id, seq + 1, f"long {run_id}"), run_id=run_id)])
            await store.flush()
        _first(tmp_path).write_bytes(b"changed\n" + _first(tmp_path).read_bytes())
        await store.repair_event_files()
        (tmp_path / "runs" / gone).mkdir(parents=True)
        await store.rewrite_events(short, lambda line: line.replace(b"long", b""))
        await store.delete_run(gone)
        await store.sweep_blobs()
        await store.append([fixtures.append(3, _line(fixtures.OTHER, 4), run_id=fixtures.OTHER)])

    play(tmp_path, story)
    expected = [_line(short, 1, f" {short}"), _line(fixtures.OTHER, 1, f"long {fixtures.OTHER}")]
    assert _segments(tmp_path)["000000000001.differs-1.jsonl"] == _joined([b"changed", *expected])
    text = b"".join(data for name, data in _segments(tmp_path).items() if "differs" not in name)
    assert text.startswith(_joined(expected))
    assert (text.count(b"\n"), b'"gone"' in text, b"long 1" in text) == (7, False, False)
    assert not (tmp_path / "runs" / gone).exists()


def test_a_prune_that_was_killed_before_its_sweep_is_finished_by_the_next_store(tmp_path: Path) -> None:
    async def cut(store: sqlite_store.SqliteStore) -> None:
        await store.append([fixtures.append(0, _line(fixtures.RUN, 1, "long")), fixtures.append(1, b"free")])
        await store.append([fixtures.append(0, _line("gone", 1), run_id="gone")])
        await store.flush()
        await store.rewrite_events(fixtures.RUN, lambda line: line.replace(b"long", b""))
        await store.delete_run("gone")

    async def look(store: sqlite_store.SqliteStore) -> None:
        await store.flush()

    play(tmp_path, cut)
    assert b"long" in _first(tmp_path).read_bytes()
    play(tmp_path, look)
    assert _segments(tmp_path) == {"000000000001.jsonl": _joined([_line(fixtures.RUN, 1), b"free"])}


def test_an_append_succeeds_while_the_files_cannot_be_written(tmp_path: Path) -> None:
    async def story(store: sqlite_store.SqliteStore) -> None:
        _folder(tmp_path).write_text("in the way")
        await store.append([fixtures.append(0, b"1")])
        await store.append([fixtures.append(1, b"2")])
        for _ in range(2):
            with pytest.raises(errors.StoreError) as raised:
                await store.flush()
            assert raised.value.code == "STORE_IO"
        _folder(tmp_path).unlink()
        await store.append([fixtures.append(2, b"3")])

    play(tmp_path, story)
    assert _segments(tmp_path) == {"000000000001.jsonl": b"1\n2\n3\n"}


def test_files_that_could_not_be_written_before_closing_are_completed_by_the_next_store(tmp_path: Path) -> None:
    async def story() -> None:
        store = stores_data_dir.open_store(tmp_path)
        _folder(tmp_path).write_text("in the way")
        await store.append([fixtures.append(0, b"1", row=ENDED)])
        with pytest.raises(errors.StoreError):
            await store.close()
        still = stores_data_dir.open_store(tmp_path)
        assert await fixtures.lines(still, fixtures.RUN) == [b"1"]
        await still.close()
        _folder(tmp_path).unlink()
        await stores_data_dir.open_store(tmp_path).close()

    asyncio.run(story())
    assert _segments(tmp_path) == {"000000000001.jsonl": b"1\n"}


def test_a_flush_waits_for_another_process_and_then_says_who_is_in_the_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event_files, "LOCK_SECONDS", 0.0)

    async def story(store: sqlite_store.SqliteStore) -> None:
        await store.append([fixtures.append(0, b"1")])
        await store.flush()
        await store.append([fixtures.append(1, b"2")])
        with (_folder(tmp_path) / "end").open("rb") as held:
            fcntl.flock(held, fcntl.LOCK_EX)
            asyncio.get_running_loop().call_later(0.1, fcntl.flock, held, fcntl.LOCK_UN)
            await store.flush()
            fcntl.flock(held, fcntl.LOCK_EX)
            monkeypatch.setattr("openskelo.stores.sqlite.connection.BUSY_SECONDS", 0.0)
            with pytest.raises(errors.StoreError) as raised:
                await store.flush()
            assert raised.value.code == "STORE_BUSY"

    play(tmp_path, story)
    assert _segments(tmp_path) == {"000000000001.jsonl": b"1\n2\n"}


def test_a_flush_that_waits_for_another_process_leaves_the_event_loop_to_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    naps: list[float] = []
    really = time.sleep

    def sleep(seconds: float) -> None:
        naps.append(seconds)
        really(seconds)

    async def story(store: sqlite_store.SqliteStore) -> None:
        await store.append([fixtures.append(0, b"1")])
        await store.flush()
        two = stores_data_dir.open_store(tmp_path)
        with (_folder(tmp_path) / "end").open("rb") as held:
            fcntl.flock(held, fcntl.LOCK_EX)
            monkeypatch.setattr(time, "sleep", sleep)
            await store.append([fixtures.append(1, b"2")])
            await two.append([fixtures.append(0, b"a", run_id=fixtures.OTHER)])  # has not checked the files yet
            flushes = [asyncio.create_task(store.flush()), asyncio.create_task(two.flush())]
            for _ in range(5):
                await asyncio.sleep(sqlite_connection.POLL_SECONDS)
            assert [flush.done() for flush in flushes] == [False, False]
        await asyncio.gather(*flushes)
        await two.close()

    play(tmp_path, story)
    assert naps == []
    assert _segments(tmp_path) == {"000000000001.jsonl": b"1\n2\na\n"}


def test_an_ended_run_takes_no_memory(tmp_path: Path) -> None:
    async def story(store: sqlite_store.SqliteStore) -> None:
        await store.append([fixtures.append(0, b"1", row=ENDED)])
        assert store._appender._heads == {}  # pyright: ignore[reportPrivateUsage] - memory has no public face

    play(tmp_path, story)


def test_a_store_that_only_reads_leaves_the_files_alone(tmp_path: Path) -> None:
    async def write(store: sqlite_store.SqliteStore) -> None:
        await store.append([fixtures.append(0, b"1")])

    async def read(store: sqlite_store.SqliteStore) -> None:
        assert await fixtures.lines(store, fixtures.RUN) == [b"1"]

    play(tmp_path, write)
    shutil.rmtree(_folder(tmp_path))
    play(tmp_path, read)
    assert not _folder(tmp_path).exists()
