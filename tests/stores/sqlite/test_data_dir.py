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
from openskelo.stores.conformance import fixtures
from openskelo.stores.sqlite import data_dir as stores_data_dir


def _close(data_dir: Path) -> None:
    asyncio.run(stores_data_dir.open_store(data_dir).close())


def _version_1_with_runs(data_dir: Path) -> None:
    async def write() -> None:
        store = stores_data_dir.open_store(data_dir)
        await store.append([fixtures.append(0, b"1", row=fixtures.row(fixtures.RUN, 1))])
        await store.close()

    asyncio.run(write())


@pytest.fixture
def version_2(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program of a later version, which has added a table; gives its migration."""
    migrations = tmp_path / "migrations"
    migrations.mkdir()
    (migrations / "2.sql").write_text("CREATE TABLE later (key TEXT);\nINSERT INTO later SELECT run_id FROM runs;\n")
    schema = tmp_path / "schema.sql"
    schema.write_text(stores_data_dir.SCHEMA.read_text() + "CREATE TABLE later (key TEXT);\n")

    def become_version_2() -> None:
        monkeypatch.setattr(stores_data_dir, "VERSION", 2)
        monkeypatch.setattr(stores_data_dir, "MIGRATIONS", migrations)
        monkeypatch.setattr(stores_data_dir, "SCHEMA", schema)

    _version_1_with_runs(tmp_path / "old")
    become_version_2()
    return migrations / "2.sql"


def _layout(data_dir: Path) -> list[tuple[str, str, str]]:
    with contextlib.closing(sqlite3.connect(data_dir / "log.db")) as database:
        query = "SELECT type, name, coalesce(sql, '') FROM sqlite_master ORDER BY name"
        return database.execute(query).fetchall()


def test_a_new_data_dir_has_a_version_and_is_ignored_by_git(tmp_path: Path) -> None:
    data_dir = tmp_path / "deep" / ".skelo"
    assert stores_data_dir.exists(data_dir) is False
    _close(data_dir)
    assert stores_data_dir.exists(data_dir) is True
    assert (data_dir / "version").read_text() == f"{stores_data_dir.VERSION}\n"
    assert (data_dir / ".gitignore").read_text() == "*\n"
    assert stat.S_IMODE(data_dir.stat().st_mode) == 0o700


@pytest.mark.usefixtures("version_2")
def test_an_older_version_is_migrated_and_keeps_its_runs(tmp_path: Path) -> None:
    async def look() -> list[bytes]:
        store = stores_data_dir.open_store(tmp_path / "old")
        assert [row.run_id for row in await store.list_runs()] == [fixtures.RUN]
        lines = await fixtures.lines(store, fixtures.RUN)
        await store.close()
        return lines

    assert asyncio.run(look()) == [b"1"]
    _close(tmp_path / "new")
    assert (tmp_path / "old" / "version").read_text() == "2\n"
    assert _layout(tmp_path / "old") == _layout(tmp_path / "new")


@pytest.mark.usefixtures("version_2")
def test_a_migration_that_was_cut_before_its_version_was_written_is_not_done_twice(tmp_path: Path) -> None:
    _close(tmp_path / "old")
    (tmp_path / "old" / "version").write_text("1\n")
    before = _layout(tmp_path / "old")
    _close(tmp_path / "old")
    assert _layout(tmp_path / "old") == before
    assert (tmp_path / "old" / "version").read_text() == "2\n"


def test_a_migration_that_fails_changes_nothing(tmp_path: Path, version_2: Path) -> None:
    version_2.write_text("CREATE TABLE later (key TEXT);\nCREATE TABLE commands (in_the_way);\n")
    before = _layout(tmp_path / "old")
    with pytest.raises(errors.StoreError, match="table commands already exists"):
        stores_data_dir.open_store(tmp_path / "old")
    assert _layout(tmp_path / "old") == before
    assert (tmp_path / "old" / "version").read_text() == "1\n"


def test_a_making_that_was_cut_is_finished_by_the_next(tmp_path: Path) -> None:
    _close(tmp_path / "data")
    (tmp_path / "data" / "version").unlink()
    (tmp_path / "data" / ".gitignore").unlink()
    _close(tmp_path / "data")
    assert (tmp_path / "data" / "version").read_text() == f"{stores_data_dir.VERSION}\n"
    assert (tmp_path / "data" / ".gitignore").read_text() == "*\n"


def test_a_data_dir_that_has_lost_its_version_is_there_with_its_runs(tmp_path: Path) -> None:
    data_dir = tmp_path / "data"
    _version_1_with_runs(data_dir)
    (data_dir / "version").unlink()
    assert stores_data_dir.exists(data_dir) is True

    async def look() -> None:
        store = stores_data_dir.open_read_only(data_dir)
        assert [row.run_id for row in await store.list_runs()] == [fixtures.RUN]
        await store.close()

    asyncio.run(look())
    assert (data_dir / "version").read_text() == f"{stores_data_dir.VERSION}\n"


def test_a_newer_log_that_has_lost_its_version_is_refused_and_left_alone(tmp_path: Path) -> None:
    _close(tmp_path)
    (tmp_path / "version").unlink()
    with contextlib.closing(sqlite3.connect(tmp_path / "log.db")) as database:
        database.execute("PRAGMA user_version = 99")
    before = (tmp_path / "log.db").read_bytes()
    with pytest.raises(errors.StoreVersion) as raised:
        stores_data_dir.open_store(tmp_path)
    assert "version 99" in raised.value.message
    assert ((tmp_path / "log.db").read_bytes(), (tmp_path / "version").exists()) == (before, False)


def test_a_newer_version_is_refused_and_left_alone(tmp_path: Path) -> None:
    _close(tmp_path / "data")
    (tmp_path / "data" / "version").write_text("99\n")
    with pytest.raises(errors.StoreVersion) as raised:
        stores_data_dir.open_store(tmp_path / "data")
    assert (raised.value.code, "version 99" in raised.value.message) == ("STORE_VERSION", True)
    assert (tmp_path / "data" / "version").read_text() == "99\n"


@pytest.mark.parametrize("text", ["", "one", "-1", "1.0", "٣", "9" * 5000, "\x00"])
def test_a_version_that_is_no_number_is_corrupt(tmp_path: Path, text: str) -> None:
    (tmp_path / "version").write_text(text, "utf-8")
    with pytest.raises(errors.Corrupt):
        stores_data_dir.open_store(tmp_path)


def test_a_database_that_is_none_is_corrupt(tmp_path: Path) -> None:
    _close(tmp_path / "data")
    (tmp_path / "data" / "log.db").write_bytes(b"not a database at all" * 1000)
    with pytest.raises(errors.Corrupt) as raised:
        stores_data_dir.open_store(tmp_path / "data")
    assert raised.value.code == "CORRUPT"


def test_a_missing_database_is_said_and_not_made_again(tmp_path: Path) -> None:
    _close(tmp_path / "data")
    (tmp_path / "data" / "log.db").unlink()
    with pytest.raises(errors.Corrupt):
        stores_data_dir.open_store(tmp_path / "data")
    assert not (tmp_path / "data" / "log.db").exists()


def test_a_file_in_the_place_of_the_data_dir_is_a_store_error(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("a file")
    assert stores_data_dir.exists(tmp_path / "data") is False
    with pytest.raises(errors.StoreError, match="making the data dir"):
        stores_data_dir.open_store(tmp_path / "data")


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
    assert (tmp_path / "data" / "version").read_text() == f"{stores_data_dir.VERSION}\n"


def test_a_copied_data_dir_is_a_data_dir(tmp_path: Path) -> None:
    async def write() -> None:
        store = stores_data_dir.open_store(tmp_path / "data")
        await store.append([fixtures.append(0, b"1")])
        await store.close()

    asyncio.run(write())
    shutil.copytree(tmp_path / "data", tmp_path / "copy")

    async def read() -> list[bytes]:
        store = stores_data_dir.open_store(tmp_path / "copy")
        lines = await fixtures.lines(store, fixtures.RUN)
        await store.close()
        return lines

    assert asyncio.run(read()) == [b"1"]
