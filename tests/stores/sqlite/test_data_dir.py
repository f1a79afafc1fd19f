"""The data dir knows its version: it is made, opened, or refused."""

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


def _write_run(data_dir: Path) -> None:
    async def write() -> None:
        store = stores_data_dir.open_store(data_dir)
        await store.append([fixtures.append(0, b"1", row=fixtures.row(fixtures.RUN, 1))])
        await store.close()

    asyncio.run(write())


def _contents(data_dir: Path) -> dict[str, bytes]:
    return {str(path.relative_to(data_dir)): path.read_bytes() for path in data_dir.rglob("*") if path.is_file()}


def _refused(data_dir: Path) -> list[tuple[str, str, str | None]]:
    """Code, message (without the path) and hint with which each way to open the data dir is refused."""
    refusals: list[tuple[str, str, str | None]] = []
    for opens in (stores_data_dir.open_store, stores_data_dir.open_read_only):
        with pytest.raises(errors.StoreVersion) as raised:
            opens(data_dir)
        error = raised.value
        refusals.append((error.code, error.message.removeprefix(str(data_dir)), error.hint))
    return refusals


def _refusal(version: int) -> tuple[str, str, str]:
    if version < stores_data_dir.VERSION:
        message, hint = "an earlier, unreleased version", "move it away and start anew"
    else:
        message, hint = "a newer version", "use a newer openskelo"
    layout = f"(its layout is {version}, not {stores_data_dir.VERSION})"
    return ("STORE_VERSION", f" was written by {message} {layout}", hint)


def test_a_new_data_dir_has_a_version_and_is_ignored_by_git(tmp_path: Path) -> None:
    data_dir = tmp_path / "deep" / ".skelo"
    assert stores_data_dir.exists(data_dir) is False
    _close(data_dir)
    assert stores_data_dir.exists(data_dir) is True
    assert (data_dir / "version").read_text() == f"{stores_data_dir.VERSION}\n"
    assert (data_dir / ".gitignore").read_text() == "*\n"
    assert stat.S_IMODE(data_dir.stat().st_mode) == 0o700


#: What unreleased programs wrote into the file `version` (up to 3) and into `log.db` (up to 4), and later numbers.
OTHER_VERSIONS = (0, 1, 3, 4, 6, 99)


@pytest.mark.parametrize("version", OTHER_VERSIONS)
def test_another_version_is_refused_and_left_alone(tmp_path: Path, version: int) -> None:
    _write_run(tmp_path)
    (tmp_path / "version").write_text(f"{version}\n")
    before = _contents(tmp_path)
    assert _refused(tmp_path) == [_refusal(version)] * 2
    with pytest.raises(errors.StoreVersion):
        stores_data_dir.exists(tmp_path)
    assert _contents(tmp_path) == before


@pytest.mark.parametrize("version", [version for version in OTHER_VERSIONS if version != 0])
def test_a_log_of_another_version_that_has_lost_its_version_is_refused_and_left_alone(
    tmp_path: Path, version: int
) -> None:
    _write_run(tmp_path)
    (tmp_path / "version").unlink()
    with contextlib.closing(sqlite3.connect(tmp_path / "log.db")) as database:
        database.execute(f"PRAGMA user_version = {version}")
    before = _contents(tmp_path)
    assert _refused(tmp_path) == [_refusal(version)] * 2
    assert _contents(tmp_path) == before


def test_a_making_that_was_cut_is_finished_by_the_next(tmp_path: Path) -> None:
    _close(tmp_path / "data")
    (tmp_path / "data" / "version").unlink()
    (tmp_path / "data" / ".gitignore").unlink()
    _close(tmp_path / "data")
    assert (tmp_path / "data" / "version").read_text() == f"{stores_data_dir.VERSION}\n"
    assert (tmp_path / "data" / ".gitignore").read_text() == "*\n"


def test_a_data_dir_that_has_lost_its_version_is_there_with_its_runs(tmp_path: Path) -> None:
    data_dir = tmp_path / "data"
    _write_run(data_dir)
    (data_dir / "version").unlink()
    assert stores_data_dir.exists(data_dir) is True

    async def look() -> None:
        store = stores_data_dir.open_read_only(data_dir)
        assert [row.run_id for row in await store.list_runs()] == [fixtures.RUN]
        await store.close()

    asyncio.run(look())
    assert (data_dir / "version").read_text() == f"{stores_data_dir.VERSION}\n"


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
