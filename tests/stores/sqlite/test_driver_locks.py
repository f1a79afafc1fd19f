"""Claims are as alive as the process that made them."""

from __future__ import annotations

import asyncio
import fcntl
import resource
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import IO, TypeVar

import pytest

from openskelo import errors
from openskelo.stores import api, process_locks
from openskelo.stores.sqlite import data_dir as stores_data_dir
from openskelo.stores.sqlite import sqlite_store
from tests.stores import child, processes

T = TypeVar("T")


def _with_log(data_dir: Path, use: Callable[[sqlite_store.SqliteStore], Awaitable[T]]) -> T:
    async def run() -> T:
        store = stores_data_dir.open_store(data_dir)
        try:
            return await use(store)
        finally:
            await store.close()

    return asyncio.run(run())


async def _alive_and_claimed(store: sqlite_store.SqliteStore) -> tuple[bool, bool]:
    return await store.is_driver_alive(child.RUN), await store.claim_run(child.RUN)


def test_a_killed_drivers_claim_is_free_at_once(tmp_path: Path) -> None:
    with processes.child("hold", tmp_path) as process:
        assert processes.say(process) == "True"
        assert _with_log(tmp_path, _alive_and_claimed) == (True, False)
        process.kill()
        process.wait()
        assert _with_log(tmp_path, _alive_and_claimed) == (False, True)


def test_a_driver_that_leaves_gives_up_its_claim(tmp_path: Path) -> None:
    with processes.child("hold", tmp_path) as process:
        assert processes.say(process) == "True"
        process.communicate("")
        assert process.returncode == 0
    assert list((tmp_path / "drivers").iterdir()) == []
    assert _with_log(tmp_path, _alive_and_claimed) == (False, True)


def test_of_many_processes_exactly_one_claims_each_run(tmp_path: Path) -> None:
    with (
        processes.child("race", tmp_path, "60") as one,
        processes.child("race", tmp_path, "60") as two,
        processes.child("race", tmp_path, "60") as three,
    ):
        racers = (one, two, three)
        assert [processes.say(racer) for racer in racers] == ["ready"] * 3
        for racer in racers:
            processes.tell(racer, "go")
        won = [processes.say(racer).split() for racer in racers]
    assert [words[0] for words in won] == ["won"] * 3
    assert sorted(int(number) for words in won for number in words[1:]) == list(range(60))


def test_a_lock_that_is_held_belongs_to_no_dead_process(tmp_path: Path) -> None:
    living = process_locks.ProcessLocks(tmp_path)
    name = living.own_id()
    other = process_locks.ProcessLocks(tmp_path)
    assert (other.is_alive(name), other.dead_ids()) == (True, [])
    living.release(keep_file=True)
    assert (other.is_alive(name), other.dead_ids()) == (False, [name])
    other.delete(name)
    assert (other.is_alive(name), other.dead_ids()) == (False, [])


def test_what_was_killed_while_it_made_its_lock_leaves_nothing_behind(tmp_path: Path) -> None:
    making = process_locks.ProcessLocks(tmp_path)
    name = making.own_id()
    left = tmp_path / f"new-{name}"
    (tmp_path / f"{name}.lock").rename(left)  # as before it had its own name
    process_locks.ProcessLocks(tmp_path).delete_unlocked_drafts()
    assert left.exists()  # it is locked
    making.release(keep_file=True)
    process_locks.ProcessLocks(tmp_path).delete_unlocked_drafts()
    assert list(tmp_path.iterdir()) == []


def test_a_lock_that_is_cleared_away_before_it_is_locked_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cleared: list[Path] = []

    def clear_first(lock: IO[bytes] | int, how: int) -> None:
        if how == fcntl.LOCK_EX and not cleared:
            cleared.extend(tmp_path.iterdir())
            process_locks.ProcessLocks(tmp_path).delete_unlocked_drafts()
        really(lock, how)

    really = fcntl.flock
    maker = process_locks.ProcessLocks(tmp_path)
    monkeypatch.setattr(fcntl, "flock", clear_first)
    name = maker.own_id()
    assert [path.name for path in tmp_path.iterdir()] == [f"{name}.lock"]
    assert len(cleared) == 1
    assert not cleared[0].exists()
    maker.release()


def test_asking_does_not_look_like_driving(tmp_path: Path) -> None:
    dead = process_locks.ProcessLocks(tmp_path)
    name = dead.own_id()
    dead.release(keep_file=True)
    with (tmp_path / f"{name}.lock").open("rb") as asking:
        fcntl.flock(asking, fcntl.LOCK_SH)
        assert process_locks.ProcessLocks(tmp_path).is_alive(name) is False


def test_a_long_lived_store_takes_over_a_killed_drivers_run_and_mends_its_file(tmp_path: Path) -> None:
    async def take_over(store: sqlite_store.SqliteStore) -> bytes:
        with processes.child("append", tmp_path) as process:
            processes.say(process)
            assert await store.claim_run(child.RUN) is False
            process.kill()
            process.wait()
        assert await store.claim_run(child.RUN) is True
        await store.flush()
        return b"".join([line + b"\n" async for chunk in store.read_events(child.RUN) for line in chunk])

    written = _with_log(tmp_path, take_over)
    assert written.startswith(b"1 x")
    assert (tmp_path / "events" / "000000000001.jsonl").read_bytes() == written


async def _die(data_dir: Path) -> None:
    """Commit and copy one row, commit another; then be gone as if killed."""
    store = stores_data_dir.open_store(data_dir)
    await store.append([api.Append(run_id="old", expected_seq=0, lines=(b"1", b"2"))])
    await store.flush()
    await store.append([api.Append(run_id="new", expected_seq=0, lines=(b"3", b"4"))])
    store._locks.release(keep_file=True)  # pyright: ignore[reportPrivateUsage] - what the end of a process does
    store._connection.close()  # pyright: ignore[reportPrivateUsage]


def _copied_rows(data_dir: Path) -> bytes:
    """What the event files hold after a store was opened, and asked nothing."""
    stores_data_dir.open_store(data_dir)._connection.close()  # pyright: ignore[reportPrivateUsage]
    assert list((data_dir / "drivers").iterdir()) == []
    return (data_dir / "events" / "000000000001.jsonl").read_bytes()


def test_what_a_killed_driver_has_committed_is_copied_when_a_store_opens(tmp_path: Path) -> None:
    asyncio.run(_die(tmp_path))
    assert _copied_rows(tmp_path) == b"1\n2\n3\n4\n"


def test_a_hole_that_a_crash_of_the_system_has_left_in_the_copy_is_filled(tmp_path: Path) -> None:
    asyncio.run(_die(tmp_path))
    copy = tmp_path / "events" / "000000000001.jsonl"
    copy.write_bytes(bytes(2) + copy.read_bytes()[2:])
    assert _copied_rows(tmp_path) == b"1\n2\n3\n4\n"
    assert copy.with_name("000000000001.differs-1.jsonl").read_bytes() == b"\0\x002\n"


def test_locks_that_cannot_be_listed_are_an_error_of_the_store(tmp_path: Path) -> None:
    mine = process_locks.ProcessLocks(tmp_path)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, hard))
    try:
        with pytest.raises(errors.StoreError, match="reading the locks of processes"):
            mine.delete_unlocked_drafts()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
