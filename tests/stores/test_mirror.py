"""Each run's events.jsonl becomes exactly the log, whatever happened to it."""

from __future__ import annotations

import asyncio
import resource
from collections.abc import Callable
from pathlib import Path

import pytest

from openskelo import errors
from openskelo.stores import datadir, log, mirror
from openskelo.stores.conformance import rig

LINES = [b'{"seq":%d,"text":"\xc3\xa9"}' % seq for seq in range(1, 1501)]


def _file(data_dir: Path, run_id: str = rig.RUN) -> Path:
    return data_dir / "runs" / run_id / "events.jsonl"


def _joined(lines: list[bytes]) -> bytes:
    return b"".join(line + b"\n" for line in lines)


def test_the_file_is_written_when_asked(tmp_path: Path) -> None:
    async def run() -> list[bytes]:
        store = datadir.open_log(tmp_path)
        await store.append([rig.append(0, b"1", b"2")])
        await store.append([rig.append(2, b"3")])
        before = _file(tmp_path).exists()
        await store.flush()
        first = _file(tmp_path).read_bytes()
        await store.append([rig.append(3, b"4")])
        await store.flush()
        await store.flush()
        second = _file(tmp_path).read_bytes()
        await store.append([rig.append(4, b"5")])
        await store.close()
        return [str(before).encode(), first, second, _file(tmp_path).read_bytes()]

    assert asyncio.run(run()) == [b"False", b"1\n2\n3\n", b"1\n2\n3\n4\n", b"1\n2\n3\n4\n5\n"]


def test_many_bytes_are_written_without_asking(tmp_path: Path) -> None:
    async def run() -> int:
        store = datadir.open_log(tmp_path)
        await store.append([rig.append(0, b"x" * mirror.RUN_BYTES)])
        size = _file(tmp_path).stat().st_size
        await store.close()
        return size

    assert asyncio.run(run()) == mirror.RUN_BYTES + 1


def test_many_runs_together_are_written_without_asking_and_without_stopping_the_loop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mirror, "ALL_BYTES", 4000)
    others = [f"{rig.OTHER[:-1]}{number}" for number in range(9)]

    async def run() -> None:
        store = datadir.open_log(tmp_path)
        await store.append([rig.append(0, b"x" * 399), *(rig.append(0, b"y" * 399, run_id=other) for other in others)])
        assert not _file(tmp_path).exists()
        went_on: list[bool] = []
        asyncio.get_running_loop().call_soon(went_on.append, True)
        await store.append([rig.append(1, b"x" * 399)])
        assert went_on == [True]
        assert [_file(tmp_path, other).stat().st_size for other in others] == [400] * 9
        assert _file(tmp_path).stat().st_size == 400
        await store.close()

    asyncio.run(run())
    assert _file(tmp_path).read_bytes() == b"x" * 399 + b"\n" + b"x" * 399 + b"\n"


@pytest.mark.parametrize("few", [0, 4])
def test_lines_added_during_a_flush_are_written_by_the_next(
    few: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mirror, "FEW", few)

    async def run() -> None:
        store = datadir.open_log(tmp_path)
        seq = 0
        for _ in range(20):
            await store.append([rig.append(seq, LINES[seq])])
            flush = asyncio.create_task(store.flush())
            for _ in range(3):
                seq += 1
                await store.append([rig.append(seq, LINES[seq])])
                await asyncio.sleep(0)
            await flush
            seq += 1
        await store.close()
        assert _file(tmp_path).read_bytes() == _joined(LINES[:seq])

    asyncio.run(run())


def _torn(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-7])


def _missing(path: Path) -> None:
    path.unlink()


def _missing_folder(path: Path) -> None:
    path.unlink()
    path.parent.rmdir()


def _empty(path: Path) -> None:
    path.write_bytes(b"")


def _too_long(path: Path) -> None:
    path.write_bytes(path.read_bytes() + b'{"seq":1501}\n')


def _half_a_line_more(path: Path) -> None:
    path.write_bytes(path.read_bytes() + b'{"se')


def _changed_inside(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[100] ^= 1
    path.write_bytes(bytes(data))


def _zeros(path: Path) -> None:
    data = path.read_bytes()
    path.write_bytes(data[:-100] + bytes(100))


def _reordered(path: Path) -> None:
    path.write_bytes(b"".join(reversed(path.read_bytes().splitlines(keepends=True))))


@pytest.mark.parametrize(
    "damage",
    [_torn, _missing, _missing_folder, _empty, _too_long, _half_a_line_more, _changed_inside, _zeros, _reordered],
)
def test_repair_makes_the_file_the_log(damage: Callable[[Path], None], tmp_path: Path) -> None:
    async def run() -> None:
        store = datadir.open_log(tmp_path)
        await store.append([rig.append(at, *LINES[at : at + 2]) for at in range(0, 1000, 2)])
        await store.append([rig.append(at, *LINES[at : at + 2]) for at in range(1000, 1500, 2)])
        await store.flush()
        assert _file(tmp_path).read_bytes() == _joined(LINES)
        damage(_file(tmp_path))
        store.repair(rig.RUN)
        assert _file(tmp_path).read_bytes() == _joined(LINES)
        assert [path.name for path in _file(tmp_path).parent.iterdir()] == ["events.jsonl"]
        damage(_file(tmp_path))
        await store.append([rig.append(1500, b"last")])
        await store.close()

    asyncio.run(run())
    if damage is not _changed_inside and damage is not _zeros and damage is not _reordered:
        # A file of another length is noticed by the next write; one of the same length only by a repair.
        assert _file(tmp_path).read_bytes() == _joined([*LINES, b"last"])


def test_a_replaced_file_is_whole_at_every_moment(tmp_path: Path) -> None:
    async def run() -> None:
        store = datadir.open_log(tmp_path)
        await store.append([rig.append(0, *LINES)])
        await store.flush()
        with _file(tmp_path).open("r+b", buffering=0) as changed:
            changed.write(b"!")
            store.repair(rig.RUN)
            changed.seek(0)
            assert changed.read(1) == b"!"  # a reader of the old file still has the old file, not half of each
        await store.close()

    asyncio.run(run())
    assert _file(tmp_path).read_bytes() == _joined(LINES)
    assert _file(tmp_path).stat().st_mode & 0o777 == 0o600
    assert [path.name for path in _file(tmp_path).parent.iterdir()] == ["events.jsonl"]


def test_an_append_succeeds_while_its_file_cannot_be_written(tmp_path: Path) -> None:
    async def run() -> None:
        store = datadir.open_log(tmp_path)
        (tmp_path / "runs").write_text("in the way")
        await store.append([rig.append(0, b"x" * mirror.RUN_BYTES)])
        await store.append([rig.append(1, b"2")])
        with pytest.raises(errors.StoreError):
            await store.flush()
        with pytest.raises(errors.StoreError):
            await store.flush()
        (tmp_path / "runs").unlink()
        await store.append([rig.append(2, b"3")])
        await store.flush()
        assert _file(tmp_path).read_bytes() == b"x" * mirror.RUN_BYTES + b"\n2\n3\n"
        await store.close()

    asyncio.run(run())


def test_files_that_could_not_be_written_before_closing_are_mended_by_the_next(tmp_path: Path) -> None:
    async def run() -> None:
        store = datadir.open_log(tmp_path)
        (tmp_path / "runs").write_text("in the way")
        await store.append([rig.append(0, b"1", row=rig.row(rig.RUN, 1, status="completed", ending="ok"))])
        with pytest.raises(errors.StoreError):
            await store.close()
        still = datadir.open_log(tmp_path)
        assert await rig.lines(still, rig.RUN) == [b"1"]
        await still.close()
        (tmp_path / "runs").unlink()
        await datadir.open_log(tmp_path).close()

    asyncio.run(run())
    assert _file(tmp_path).read_bytes() == b"1\n"


def test_two_hundred_runs_need_few_open_files(tmp_path: Path) -> None:
    names = [f"{number:08d}-0000-4000-8000-000000000000" for number in range(200)]

    async def run() -> None:
        store = datadir.open_log(tmp_path)
        await store.append([rig.append(0, name.encode(), run_id=name) for name in names])
        await store.flush()
        await store.append([rig.append(1, b"2", run_id=name) for name in names])
        await store.close()

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (64, hard))
    try:
        asyncio.run(run())
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert {_file(tmp_path, name).read_bytes() for name in names} == {name.encode() + b"\n2\n" for name in names}


def test_another_stores_lines_are_in_the_file_too(tmp_path: Path) -> None:
    async def run() -> None:
        one, two = datadir.open_log(tmp_path), datadir.open_log(tmp_path)
        await one.append([rig.append(0, b"1")])
        await one.flush()
        await two.append([rig.append(1, b"2")])
        await one.append([rig.append(2, b"3")])
        await two.flush()
        await one.close()
        await two.close()

    asyncio.run(run())
    assert _file(tmp_path).read_bytes() == b"1\n2\n3\n"


def test_forgotten_runs_take_no_memory(tmp_path: Path) -> None:
    async def run() -> None:
        store = datadir.open_log(tmp_path)
        ended = rig.row(rig.RUN, 1, status="completed", ending="ok")
        await store.append([log.Append(run_id=rig.RUN, expected_seq=0, lines=(b"1",), row=ended)])
        await store.flush()
        assert store._mirror._tails == {}  # pyright: ignore[reportPrivateUsage] - memory has no public face
        assert store._appender._heads == {}  # pyright: ignore[reportPrivateUsage]
        await store.close()

    asyncio.run(run())


def test_runs_that_are_driven_here_no_more_take_no_memory(tmp_path: Path) -> None:
    async def run() -> None:
        store = datadir.open_log(tmp_path)
        await store.append([rig.append(0, b"1")])
        await store.flush()
        await store.release(rig.RUN)
        large = rig.append(0, b"x" * mirror.RUN_BYTES, run_id="large")
        await store.append([large])
        await store.release("large")
        assert store._mirror._tails == {}  # pyright: ignore[reportPrivateUsage] - memory has no public face
        await store.close()

    asyncio.run(run())
    assert _file(tmp_path).read_bytes() == b"1\n"


def test_what_others_put_beside_the_runs_is_left_alone(tmp_path: Path) -> None:
    async def story() -> None:
        store = datadir.open_log(tmp_path)
        try:
            for name in ("lost", "mine"):
                (tmp_path / "runs" / name).mkdir(parents=True)
            (tmp_path / "runs" / "lost" / "events.jsonl").write_bytes(b"")  # as a crash leaves it
            (tmp_path / "runs" / "mine" / "notes.txt").write_bytes(b"")
            (tmp_path / "runs" / ".DS_Store").write_bytes(b"")
            await store.sweep()
        finally:
            await store.close()

    asyncio.run(story())
    assert sorted(path.name for path in (tmp_path / "runs").iterdir()) == [".DS_Store", "mine"]
