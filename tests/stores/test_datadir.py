"""The data dir knows its version: made, migrated, or refused."""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import sqlite3
import stat
import threading
from pathlib import Path

import pytest

from openskelo import errors
from openskelo.stores import datadir, log
from openskelo.stores.conformance import rig

FIXTURE = Path(__file__).with_name("version-0.sql")


def _close(data_dir: Path) -> None:
    asyncio.run(datadir.open_log(data_dir).close())


def _version_0(data_dir: Path) -> None:
    data_dir.mkdir()
    (data_dir / "version").write_text("0\n")
    with contextlib.closing(sqlite3.connect(data_dir / "log.db")) as database:
        database.executescript(FIXTURE.read_text("utf-8"))


def _layout(data_dir: Path) -> list[tuple[str, str, str]]:
    with contextlib.closing(sqlite3.connect(data_dir / "log.db")) as database:
        query = "SELECT type, name, coalesce(sql, '') FROM sqlite_master ORDER BY name"
        return database.execute(query).fetchall()


def test_a_new_data_dir_has_a_version_and_is_ignored_by_git(tmp_path: Path) -> None:
    data_dir = tmp_path / "deep" / ".skelo"
    assert datadir.exists(data_dir) is False
    _close(data_dir)
    assert datadir.exists(data_dir) is True
    assert (data_dir / "version").read_text() == f"{datadir.VERSION}\n"
    assert (data_dir / ".gitignore").read_text() == "*\n"
    assert stat.S_IMODE(data_dir.stat().st_mode) == 0o700


def test_version_0_becomes_the_current_version(tmp_path: Path) -> None:
    _version_0(tmp_path / "old")
    _close(tmp_path / "new")

    async def look() -> None:
        store = datadir.open_log(tmp_path / "old")
        first, second = "aaaaaaaa-0000-4000-8000-000000000001", "aaaaaaaa-0000-4000-8000-000000000002"
        assert await rig.lines(store, first) == [b'{"seq":1}', b'{"seq":2,"text":"\xc3\xa9"}', b'{"seq":3}']
        assert await rig.lines(store, first, after=2) == [b'{"seq":3}']
        assert await rig.lines(store, second) == [b'{"seq":1}']
        assert await store.rows() == [
            log.RunRow(
                run_id=second,
                name="publish",
                workflow_hash="sha256:02",
                status="running",
                ending=None,
                created_at=1700000002000,
                updated_at=1700000002500,
                parent=first,
            ),
            log.RunRow(
                run_id=first,
                name="draft",
                workflow_hash="sha256:01",
                status="completed",
                ending="ok",
                created_at=1700000001000,
                updated_at=1700000001500,
            ),
        ]
        assert await store.claim(second) is True
        await store.append([log.Append(run_id=second, expected_seq=1, lines=(b'{"seq":2}',))])
        assert await rig.lines(store, second) == [b'{"seq":1}', b'{"seq":2}']
        await store.close()

    asyncio.run(look())
    assert (tmp_path / "old" / "version").read_text() == f"{datadir.VERSION}\n"
    assert _layout(tmp_path / "old") == _layout(tmp_path / "new")


def test_a_migration_that_was_cut_before_its_version_was_written_is_not_done_twice(tmp_path: Path) -> None:
    _version_0(tmp_path / "old")
    _close(tmp_path / "old")
    (tmp_path / "old" / "version").write_text("0\n")
    before = _layout(tmp_path / "old")
    _close(tmp_path / "old")
    assert _layout(tmp_path / "old") == before
    assert (tmp_path / "old" / "version").read_text() == f"{datadir.VERSION}\n"


def test_a_migration_that_fails_changes_nothing(tmp_path: Path) -> None:
    _version_0(tmp_path / "old")
    with contextlib.closing(sqlite3.connect(tmp_path / "old" / "log.db")) as database:
        database.execute("CREATE TABLE commands (in_the_way)")
    before = _layout(tmp_path / "old")
    with pytest.raises(errors.StoreError, match="table commands already exists"):
        datadir.open_log(tmp_path / "old")
    assert _layout(tmp_path / "old") == before
    assert (tmp_path / "old" / "version").read_text() == "0\n"


def test_a_making_that_was_cut_is_finished_by_the_next(tmp_path: Path) -> None:
    _close(tmp_path / "data")
    (tmp_path / "data" / "version").unlink()
    (tmp_path / "data" / ".gitignore").unlink()
    _close(tmp_path / "data")
    assert (tmp_path / "data" / "version").read_text() == f"{datadir.VERSION}\n"
    assert (tmp_path / "data" / ".gitignore").read_text() == "*\n"


def test_a_data_dir_that_has_lost_its_version_is_there_with_its_runs(tmp_path: Path) -> None:
    data_dir = tmp_path / "data"
    _version_0(data_dir)
    _close(data_dir)
    (data_dir / "version").unlink()
    assert datadir.exists(data_dir) is True

    async def look() -> None:
        store = datadir.look(data_dir)
        assert [row.name for row in await store.rows()] == ["publish", "draft"]
        await store.close()

    asyncio.run(look())
    assert (data_dir / "version").read_text() == f"{datadir.VERSION}\n"


def test_a_newer_log_that_has_lost_its_version_is_refused_and_left_alone(tmp_path: Path) -> None:
    _close(tmp_path)
    (tmp_path / "version").unlink()
    with contextlib.closing(sqlite3.connect(tmp_path / "log.db")) as database:
        database.execute("PRAGMA user_version = 100")
    before = (tmp_path / "log.db").read_bytes()
    with pytest.raises(errors.StoreVersion) as raised:
        datadir.open_log(tmp_path)
    assert "version 99" in raised.value.message
    assert ((tmp_path / "log.db").read_bytes(), (tmp_path / "version").exists()) == (before, False)


def test_a_newer_version_is_refused_and_left_alone(tmp_path: Path) -> None:
    _close(tmp_path / "data")
    (tmp_path / "data" / "version").write_text("99\n")
    with pytest.raises(errors.StoreVersion) as raised:
        datadir.open_log(tmp_path / "data")
    assert (raised.value.code, "version 99" in raised.value.message) == ("STORE_VERSION", True)
    assert (tmp_path / "data" / "version").read_text() == "99\n"


@pytest.mark.parametrize("text", ["", "one", "-1", "1.0", "٣", "9" * 5000, "\x00"])
def test_a_version_that_is_no_number_is_corrupt(tmp_path: Path, text: str) -> None:
    (tmp_path / "version").write_text(text, "utf-8")
    with pytest.raises(errors.Corrupt):
        datadir.open_log(tmp_path)


def test_a_database_that_is_none_is_corrupt(tmp_path: Path) -> None:
    _close(tmp_path / "data")
    (tmp_path / "data" / "log.db").write_bytes(b"not a database at all" * 1000)
    with pytest.raises(errors.Corrupt) as raised:
        datadir.open_log(tmp_path / "data")
    assert raised.value.code == "CORRUPT"


def test_a_missing_database_is_said_and_not_made_again(tmp_path: Path) -> None:
    _close(tmp_path / "data")
    (tmp_path / "data" / "log.db").unlink()
    with pytest.raises(errors.Corrupt):
        datadir.open_log(tmp_path / "data")
    assert not (tmp_path / "data" / "log.db").exists()


def test_a_file_in_the_place_of_the_data_dir_is_a_store_error(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("a file")
    assert datadir.exists(tmp_path / "data") is False
    with pytest.raises(errors.StoreError, match="making the data dir"):
        datadir.open_log(tmp_path / "data")


def test_several_may_make_the_same_data_dir_at_once(tmp_path: Path) -> None:
    failed: list[BaseException] = []

    def make() -> None:
        try:
            _close(tmp_path / "data")
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=make) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    assert (tmp_path / "data" / "version").read_text() == f"{datadir.VERSION}\n"


def test_a_copied_data_dir_is_a_data_dir(tmp_path: Path) -> None:
    async def write() -> None:
        store = datadir.open_log(tmp_path / "data")
        await store.append([rig.append(0, b"1")])
        await store.close()

    asyncio.run(write())
    shutil.copytree(tmp_path / "data", tmp_path / "copy")

    async def read() -> list[bytes]:
        store = datadir.open_log(tmp_path / "copy")
        lines = await rig.lines(store, rig.RUN)
        await store.close()
        return lines

    assert asyncio.run(read()) == [b"1"]
