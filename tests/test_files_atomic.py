"""A file has its name only once all of it is on disk."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from openskelo import files


@pytest.mark.parametrize("name", ["kept", "x" * 255])
def test_a_file_takes_the_place_of_another_when_all_of_it_is_written(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(b"old")
    with files.atomic_file(path) as file:
        file.write(b"new")
        file.flush()
        assert path.read_bytes() == b"old"
    assert path.read_bytes() == b"new"
    assert [found.name for found in tmp_path.iterdir()] == [name]
    files.sync_folder(tmp_path)


@pytest.mark.parametrize("error", [OSError("full"), ValueError("wrong"), KeyboardInterrupt()])
def test_what_is_not_written_to_its_end_leaves_everything_as_it_was(tmp_path: Path, error: BaseException) -> None:
    path = tmp_path / "kept"
    path.write_bytes(b"old")

    def write() -> None:
        with files.atomic_file(path) as file:
            file.write(b"ne")
            raise error

    with pytest.raises(type(error)):
        write()
    assert {found.name: found.read_bytes() for found in tmp_path.iterdir()} == {"kept": b"old"}


def test_a_place_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(IsADirectoryError), files.atomic_file(tmp_path / "folder"):
        pass
    with pytest.raises(FileNotFoundError), files.atomic_file(tmp_path / "none" / "kept"):
        pass
    assert [found.name for found in tmp_path.iterdir()] == ["folder"]


def test_only_those_read_it_whom_its_mode_allows(tmp_path: Path) -> None:
    with files.atomic_file(tmp_path / "secret", mode=0o600) as file:
        mode = os.fstat(file.fileno()).st_mode
    assert (mode & 0o777, (tmp_path / "secret").stat().st_mode & 0o777) == (0o600, 0o600)
