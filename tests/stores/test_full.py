"""A full disk loses nothing, keeps no half of a batch, and is over when there is room again."""

from __future__ import annotations

import asyncio
import errno
import subprocess
import sys
from pathlib import Path

import pytest

from openskelo import errors
from openskelo.stores import storage_errors
from openskelo.stores.conformance import fixtures
from openskelo.stores.sqlite import data_dir

#: Runs in a process of its own, because the limit on file sizes is a process's. The limit is met by the write-ahead
#: log, which cannot be told from a disk without space except by the error's number.
LIMITED = """
import asyncio, resource, signal, sys
from pathlib import Path
from openskelo import errors
from openskelo.stores.sqlite import data_dir
from openskelo.stores.conformance import fixtures as rig

async def main() -> None:
    store = data_dir.open_store(Path(sys.argv[1]))
    await store.append([rig.append(0, b"1")])
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, hard))
    seq, failed = 1, []
    while len(failed) < 5:
        try:
            lines = rig.append(seq, b"x" * 10_000, b"y" * 10_000)
            await store.append([lines, rig.append(0, b"z", run_id=f"run-{seq}")])
            seq += 2
        except errors.StoreError as error:
            failed.append(error.code)
            kept = await rig.lines(store, rig.RUN)
            rig.assert_equal(len(kept), seq)
            rig.assert_equal(await rig.lines(store, f"run-{seq}"), [])
    resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
    await store.append([rig.append(seq, b"last")])
    await store.close()
    again = data_dir.open_store(Path(sys.argv[1]))
    rig.assert_equal(len(await rig.lines(again, rig.RUN)), seq + 1)
    await again.close()
    print(seq, *failed)

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
asyncio.run(main())
"""


def test_a_write_that_the_system_refuses_is_undone_and_may_be_tried_again(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, str(tmp_path / "data")], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    written, *failed = done.stdout.split()
    assert int(written) > 3
    assert failed == ["STORE_IO"] * 5
    lines = (tmp_path / "data" / "events" / "000000000001.jsonl").read_bytes().splitlines()
    assert (len(lines) - lines.count(b"z"), lines[-1]) == (int(written) + 1, b"last")


def test_a_full_database_is_store_full_and_usable_again_with_room(tmp_path: Path) -> None:
    async def run() -> int:
        store = data_dir.open_store(tmp_path)
        await store.append([fixtures.append(0, b"1")])
        database = store._connection  # pyright: ignore[reportPrivateUsage] - a limit that only SQLite itself can set
        (pages,) = database.execute("PRAGMA page_count").fetchone()
        database.execute(f"PRAGMA max_page_count = {pages + 20}")
        seq = 1
        full: errors.StoreFull | None = None
        while full is None:
            try:
                await store.append([fixtures.append(seq, b"x" * 10_000)])
                seq += 1
            except errors.StoreFull as error:
                full = error
        assert (full.code, seq > 3) == ("STORE_FULL", True)
        with pytest.raises(errors.StoreFull):
            await store.append([fixtures.append(seq, b"x" * 10_000), fixtures.append(0, b"y", run_id=fixtures.OTHER)])
        assert len(await fixtures.lines(store, fixtures.RUN)) == seq
        assert await fixtures.lines(store, fixtures.OTHER) == []
        database.execute(f"PRAGMA max_page_count = {pages + 2000}")
        await store.append([fixtures.append(seq, b"x" * 10_000), fixtures.append(0, b"y", run_id=fixtures.OTHER)])
        found = len(await fixtures.lines(store, fixtures.RUN))
        await store.close()
        return found - seq

    assert asyncio.run(run()) == 1


def test_no_room_for_a_file_is_store_full() -> None:
    fault = storage_errors.from_os(OSError(errno.ENOSPC, "No space left on device"), "for a blob")
    assert (type(fault), fault.code) == (errors.StoreFull, "STORE_FULL")
