"""Claims are as alive as the process that made them."""

from __future__ import annotations

import asyncio
import fcntl
import resource
import uuid
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import IO, TypeVar

import pytest

from openskelo import errors
from openskelo.stores import datadir, drivers, log, sqlite
from tests.stores import child, processes

T = TypeVar("T")


def _with_log(data_dir: Path, use: Callable[[sqlite.SqliteLog], Awaitable[T]]) -> T:
    async def run() -> T:
        store = datadir.open_log(data_dir)
        try:
            return await use(store)
        finally:
            await store.close()

    return asyncio.run(run())


async def _alive_and_claimed(store: sqlite.SqliteLog) -> tuple[bool, bool]:
    return await store.driver_alive(child.RUN), await store.claim(child.RUN)


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


def test_a_lock_that_is_being_made_is_nobodys_dead_driver(tmp_path: Path) -> None:
    living = drivers.Drivers(tmp_path)
    name = living.me()
    other = drivers.Drivers(tmp_path)
    assert (other.alive(name), other.dead()) == (True, [])
    living.leave(owing=True)
    assert (other.alive(name), other.dead()) == (False, [name])
    other.bury(name)
    assert (other.alive(name), other.dead()) == (False, [])


def test_what_was_killed_while_it_made_its_lock_leaves_nothing_behind(tmp_path: Path) -> None:
    making = drivers.Drivers(tmp_path)
    name = making.me()
    left = tmp_path / f"new-{name}"
    (tmp_path / f"{name}.lock").rename(left)  # as before it had its own name
    drivers.Drivers(tmp_path).clear()
    assert left.exists()  # it is locked
    making.leave(owing=True)
    drivers.Drivers(tmp_path).clear()
    assert list(tmp_path.iterdir()) == []


def test_a_lock_that_is_cleared_away_before_it_is_locked_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cleared: list[Path] = []

    def clear_first(lock: IO[bytes] | int, how: int) -> None:
        if how == fcntl.LOCK_EX and not cleared:
            cleared.extend(tmp_path.iterdir())
            drivers.Drivers(tmp_path).clear()
        really(lock, how)

    really = fcntl.flock
    maker = drivers.Drivers(tmp_path)
    monkeypatch.setattr(fcntl, "flock", clear_first)
    name = maker.me()
    assert [path.name for path in tmp_path.iterdir()] == [f"{name}.lock"]
    assert len(cleared) == 1
    assert not cleared[0].exists()
    maker.leave()


def test_asking_does_not_look_like_driving(tmp_path: Path) -> None:
    dead = drivers.Drivers(tmp_path)
    name = dead.me()
    dead.leave(owing=True)
    with (tmp_path / f"{name}.lock").open("rb") as asking:
        fcntl.flock(asking, fcntl.LOCK_SH)
        assert drivers.Drivers(tmp_path).alive(name) is False


def test_a_long_lived_store_takes_over_a_killed_drivers_run_and_mends_its_file(tmp_path: Path) -> None:
    async def take_over(store: sqlite.SqliteLog) -> bytes:
        with processes.child("append", tmp_path) as process:
            processes.say(process)
            assert await store.claim(child.RUN) is False
            process.kill()
            process.wait()
        assert await store.claim(child.RUN) is True
        await store.flush()
        return b"".join([line + b"\n" async for chunk in store.read(child.RUN) for line in chunk])

    written = _with_log(tmp_path, take_over)
    assert written.startswith(b"1 x")
    assert (tmp_path / "runs" / child.RUN / "events.jsonl").read_bytes() == written


def _files(data_dir: Path) -> dict[str, bytes]:
    return {path.parent.name: path.read_bytes() for path in (data_dir / "runs").glob("*/events.jsonl")}


async def _die(data_dir: Path, *, owing: bool) -> None:
    """Write `old` and its file, and `new` without its file; then be gone as if killed. All files are emptied.

    With `owing` a run was taken over before that, and its file is not written yet.
    """
    store = datadir.open_log(data_dir)
    for run_id in ("old", "new"):
        await store.append([log.Append(run_id=run_id, expected_seq=0, lines=(b"1", b"2"))])
        if run_id == "old":
            await store.flush()
    if owing:
        with processes.child("append", data_dir) as process:
            processes.say(process)
            process.kill()
            process.wait()
        assert await store.claim(child.RUN)
    store._drivers.leave(owing=True)  # pyright: ignore[reportPrivateUsage] - what the end of a process does
    store._connection.close()  # pyright: ignore[reportPrivateUsage]
    for path in (data_dir / "runs").glob("*/events.jsonl"):
        path.write_bytes(b"")


@pytest.mark.parametrize(
    ("restarted", "owing", "old"), [(False, False, b""), (True, False, b"1\n2\n"), (False, True, b"1\n2\n")]
)
def test_only_files_that_a_killed_driver_may_have_left_behind_are_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, restarted: bool, owing: bool, old: bytes
) -> None:
    boot = tmp_path / "boot"
    boot.write_text(f"{uuid.UUID(int=1)}\n")
    monkeypatch.setattr(drivers, "BOOT", boot)
    asyncio.run(_die(tmp_path / "data", owing=owing))
    if restarted:  # what was written before may be lost
        boot.write_text(f"{uuid.UUID(int=2)}\n")
    datadir.open_log(tmp_path / "data")._connection.close()  # pyright: ignore[reportPrivateUsage] - it is asked nothing
    found = _files(tmp_path / "data")
    assert (found["old"], found["new"]) == (old, b"1\n2\n")
    assert (child.RUN in found and found[child.RUN] != b"") is owing
    assert list((tmp_path / "data" / "drivers").iterdir()) == []


def test_locks_that_cannot_be_listed_are_an_error_of_the_store(tmp_path: Path) -> None:
    mine = drivers.Drivers(tmp_path)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, hard))
    try:
        with pytest.raises(errors.StoreError, match="reading the drivers' locks"):
            mine.clear()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
