"""Files are opened without waiting, whatever stands in their place."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from openskelo import files


def _socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(path))


def _open_files() -> int:
    return sum(1 for _ in Path("/dev/fd").iterdir())


ODD: dict[str, tuple[Callable[[Path], object], str]] = {
    "pipe": (os.mkfifo, "it is a pipe, not a file"),
    "device": (lambda path: path.symlink_to("/dev/zero"), "it is a device, not a file"),
    "folder": (Path.mkdir, "Is a directory"),
    "socket": (_socket, "No such device or address"),
    "nothing": (lambda path: path, "No such file or directory"),
}


@pytest.mark.parametrize("kind", ODD)
def test_what_is_no_plain_file_is_refused_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    monkeypatch.chdir(tmp_path)  # the name of a socket has to be short
    make, reason = ODD[kind]
    make(Path("odd"))
    before = _open_files()
    with pytest.raises(OSError, match=r".") as refused:
        files.read_plain("odd")
    assert refused.value.strerror == reason
    assert _open_files() == before


def test_a_plain_file_and_a_link_to_one_are_read(tmp_path: Path) -> None:
    (tmp_path / "plain").write_bytes(b"text")
    (tmp_path / "link").symlink_to("plain")
    assert (files.read_plain(tmp_path / "plain"), files.read_plain(tmp_path / "link")) == (b"text", b"text")


def test_what_a_person_names_is_read_up_to_a_bound(tmp_path: Path) -> None:
    (tmp_path / "plain").write_bytes(b"0123456789")
    found = [files.read_given(tmp_path / "plain", most) for most in (3, 9, 10, 99)]
    assert found == [b"0123", b"0123456789", b"0123456789", b"0123456789"]
    assert files.read_given("/dev/zero", 99) == bytes(100)


def test_a_pipe_is_read_to_its_end_while_somebody_writes(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    text = b"x" * 300_000
    writer = threading.Thread(target=(tmp_path / "pipe").write_bytes, args=(text,))
    # Held open as a shell holds that of `<(command)`: a writer is there before anybody reads.
    held = os.open(tmp_path / "pipe", os.O_RDWR)
    writer.start()
    found: list[bytes] = []
    reader = threading.Thread(target=lambda: found.append(files.read_given(tmp_path / "pipe", 10**6)))
    reader.start()
    writer.join(30)
    os.close(held)
    reader.join(30)
    assert found == [text]


def test_a_pipe_that_nobody_writes_to_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    before = _open_files()
    with pytest.raises(OSError, match="it is a pipe without a writer"):
        files.read_given(tmp_path / "pipe", 99)
    assert _open_files() == before
