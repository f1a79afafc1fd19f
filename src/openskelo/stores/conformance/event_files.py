"""Checks of EventFiles, and of the durations of commits. A store without files answers as one whose files are right."""

from __future__ import annotations

import asyncio
from pathlib import Path

from openskelo.stores import api
from openskelo.stores.conformance import fixtures


def _line(run_id: str, seq: int) -> bytes:
    """Return a line that says whose it is, as sealed events do."""
    return b'{"data":{},"hash":"","runId":"%b","seq":%d,"ts":"","type":"t"}' % (run_id.encode(), seq)


async def _fill(store: api.Store, *, first: int = 1) -> None:
    """Append three events from seq `first` to two runs, in turn."""
    for seq in range(first, first + 3):
        for run_id in (fixtures.RUN, fixtures.OTHER):
            await store.append([fixtures.append(seq - 1, _line(run_id, seq), run_id=run_id)])


async def _assert_copied(store: api.Store) -> None:
    for run_id in (fixtures.RUN, fixtures.OTHER):
        fixtures.assert_equal(list(await store.read_event_files(run_id)), await fixtures.lines(store, run_id))


async def flushed_event_files_have_the_lines_of_the_log(open_store: fixtures.Open) -> None:
    """After a flush the files have each run's lines, also those that another store has appended."""
    async with fixtures.opened(open_store) as store, fixtures.opened(open_store) as another:
        await _fill(store)
        await store.flush()
        await _assert_copied(store)
        await _fill(another, first=4)
        await store.flush()
        await store.flush()
        await _assert_copied(store)
        await _assert_copied(another)
        fixtures.assert_equal(list(await store.read_event_files("unknown")), [])


async def event_files_that_are_right_are_not_repaired(open_store: fixtures.Open) -> None:
    """A repair finds no file that differs, and brings files up to date that lag behind."""
    async with fixtures.opened(open_store) as store:
        fixtures.assert_equal(list(await store.repair_event_files()), [])
        await _fill(store)
        fixtures.assert_equal(list(await store.repair_event_files()), [])
        await _assert_copied(store)
        fixtures.assert_equal(list(await store.repair_event_files()), [])


async def a_sound_log_has_lost_nothing(open_store: fixtures.Open) -> None:
    """No events are lost before a flush, after it, and after a run was deleted."""
    async with fixtures.opened(open_store) as store:
        fixtures.assert_equal(dict(await store.find_lost_events()), {})
        await _fill(store)
        fixtures.assert_equal(dict(await store.find_lost_events()), {})
        await store.flush()
        fixtures.assert_equal(dict(await store.find_lost_events()), {})
        await store.delete_run(fixtures.OTHER)
        fixtures.assert_equal(dict(await store.find_lost_events()), {})


async def a_blob_has_a_path_only_where_there_are_files(open_store: fixtures.Open) -> None:
    """A store with a data dir locates the bytes of a blob below it; otherwise there is no path."""
    async with fixtures.opened(open_store) as store:
        data = b"x" * 100_000
        path = store.locate_blob(await store.put_blob(data))
        if store.data_dir is None:
            fixtures.assert_equal(path, None)
        else:
            file = Path(str(path))
            fixtures.assert_equal(file.is_relative_to(store.data_dir), True)
            fixtures.assert_equal(await asyncio.to_thread(file.read_bytes), data)
        fixtures.assert_equal(store.locate_blob("sha256:" + "0" * 64), None)


async def measured_commits_are_counted(open_store: fixtures.Open) -> None:
    """Each commit of this store is in its `commit_times`, if it measures them."""
    async with fixtures.opened(open_store) as store:
        await _fill(store)
        times = store.commit_times
        if times is not None:
            counted = sum(times.counts)
            await _fill(store, first=4)
            fixtures.assert_equal(sum(times.counts), counted + 6)
            fixtures.assert_equal(times.sum > 0, True)


CHECKS: tuple[fixtures.Check, ...] = (
    flushed_event_files_have_the_lines_of_the_log,
    event_files_that_are_right_are_not_repaired,
    a_sound_log_has_lost_nothing,
    a_blob_has_a_path_only_where_there_are_files,
    measured_commits_are_counted,
)
