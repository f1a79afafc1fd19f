"""Large values: one file each under its digest, durable, checked on reading."""

from __future__ import annotations

import errno
import os
import stat
import time
from pathlib import Path

import pytest

from openskelo import errors
from openskelo.stores import api, blobs


def test_the_name_is_the_sha256_of_the_bytes() -> None:
    assert blobs.name_of(b"") == "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"


def test_a_blob_is_one_file_under_its_digest(tmp_path: Path) -> None:
    files = blobs.BlobFiles(tmp_path)
    name = files.put(b"abc" * 100_000)
    digest = name.removeprefix("sha256:")
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == [tmp_path / digest[:2] / digest]
    assert files.get(name) == b"abc" * 100_000


def test_what_is_there_is_not_written_again(tmp_path: Path) -> None:
    files = blobs.BlobFiles(tmp_path)
    name = files.put(b"abc")
    path = next(path for path in tmp_path.rglob("*") if path.is_file())
    before = path.stat().st_ino
    assert files.put(b"abc") == name
    assert path.stat().st_ino == before


def test_a_value_of_2_mb_takes_one_sync_of_its_file_and_one_of_its_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = blobs.BlobFiles(tmp_path)
    name = blobs.name_of(b"x" * 2_000_000)
    folder = tmp_path / name.removeprefix("sha256:")[:2]
    files.put(b"first", name[:-1] + ("0" if name[-1] != "0" else "1"))  # now the folder's own name is durable
    synced: list[Path] = []
    fsync = os.fsync

    def watch(descriptor: int) -> None:
        synced.append(Path(f"/proc/self/fd/{descriptor}").readlink())
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", watch)
    assert files.put(b"x" * 2_000_000, name) == name
    file, after = synced
    assert (file.parent, file.name.startswith(".new-"), after) == (folder, True, folder)


@pytest.mark.parametrize("is_there", [True, False])
def test_a_blob_whose_name_could_not_be_synced_is_written_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_there: bool
) -> None:
    """A later sync of the folder succeeds without having written what the failed one has dropped."""
    kept = blobs.BlobFiles(tmp_path)
    if is_there:
        blobs.BlobFiles(tmp_path).put(b"abc")
    sync = os.fsync

    def fail_for_folders(descriptor: int) -> None:
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            raise OSError(errno.EIO, "it failed")
        sync(descriptor)

    with monkeypatch.context() as failing:
        failing.setattr(os, "fsync", fail_for_folders)
        with pytest.raises(errors.StoreError) as refused:
            kept.put(b"abc")
    assert refused.value.code == "STORE_SYNC"
    (path,) = tmp_path.glob("??/*")
    before = path.stat().st_ino
    kept.put(b"abc")
    assert path.stat().st_ino != before
    again = path.stat().st_ino
    kept.put(b"abc")
    assert path.stat().st_ino == again


def test_a_sweep_leaves_what_is_used_and_what_was_wanted_lately(tmp_path: Path) -> None:
    files = blobs.BlobFiles(tmp_path)
    names = [files.put(data) for data in (b"used", b"unused", b"wanted again")]
    long_ago = time.time() - blobs.GRACE_SECONDS - 60
    for path in tmp_path.rglob("*"):
        os.utime(path, (long_ago, long_ago))
    files.put(b"wanted again")
    files.put(b"young")
    left_by_a_crash = next(path for path in tmp_path.iterdir() if path.is_dir()) / "new-0"
    left_by_a_crash.write_bytes(b"half")
    os.utime(left_by_a_crash, (long_ago, long_ago))
    assert files.sweep({blobs.digest_of(names[0])}) == api.SweepResult(blobs=2, bytes=len(b"unused") + len(b"half"))
    assert [files.get(names[0]), files.get(names[2])] == [b"used", b"wanted again"]
    assert not left_by_a_crash.exists()
    with pytest.raises(errors.NotFound):
        files.get(names[1])


def test_nothing_is_swept_where_nothing_was_kept(tmp_path: Path) -> None:
    assert blobs.BlobFiles(tmp_path / "none").sweep(()) == api.SweepResult()


@pytest.mark.parametrize("damaged", [b"", b"ab", b"abX", b"abcd"])
def test_damaged_bytes_are_noticed_and_writing_again_heals_them(tmp_path: Path, damaged: bytes) -> None:
    files = blobs.BlobFiles(tmp_path)
    name = files.put(b"abc")
    next(path for path in tmp_path.rglob("*") if path.is_file()).write_bytes(damaged)
    with pytest.raises(errors.Corrupt):
        files.get(name)
    files.put(b"abc")
    assert files.get(name) == b"abc"


def test_no_name_leads_out_of_the_folder(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret")
    files = blobs.BlobFiles(tmp_path / "blobs")
    for name in ("sha256:../secret", "../secret", "/etc/passwd", "sha256:" + "0" * 63, "SHA256:" + "0" * 64):
        with pytest.raises(errors.InvalidInput) as raised:
            files.get(name)
        assert raised.value.code == "BLOB_NAME"


def test_a_missing_blob_is_not_found(tmp_path: Path) -> None:
    with pytest.raises(errors.NotFound) as raised:
        blobs.BlobFiles(tmp_path).get("sha256:" + "0" * 64)
    assert raised.value.code == "BLOB_NOT_FOUND"


def test_a_folder_that_cannot_be_written_is_a_store_error_and_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "blobs").write_text("in the way")
    with pytest.raises(errors.StoreError) as raised:
        blobs.BlobFiles(tmp_path / "blobs").put(b"abc")
    assert raised.value.code == "STORE_IO"
