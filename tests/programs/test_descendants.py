"""Processes that leave the group of the program that started them: they end with it when it is stopped."""

from __future__ import annotations

import asyncio
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from openskelo import errors
from openskelo.programs import program as processes_program
from openskelo.programs import time_limit

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells who started whom")

#: Says which process it is, and stays.
STAY = "echo $$ > pid.new; mv pid.new pid; exec sleep 300\n"
#: Each lets it leave the group of the program in another way.
LEAVE = {
    "a session of its own": "setsid sh stay &",
    "without its environment": "env -i PATH=$PATH setsid sh stay &",
    "below another that left": "setsid sh -c 'setsid sh stay & wait' &",
    "a daemon, whose parent has ended": "setsid sh -c 'setsid sh stay &'",
}


@pytest.fixture(name="left_behind")
def _left_behind() -> Iterator[list[int]]:
    """Numbers of processes that a test has started; those that are still there are ended after it."""
    started: list[int] = []
    yield started
    for pid in filter(alive, started):
        os.kill(pid, signal.SIGKILL)


def state(pid: int) -> str:
    """What a process does: S sleeps, T was stopped, Z has ended, as has one that is not there."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return "Z"


def alive(pid: int) -> bool:
    return state(pid) != "Z"


def program(folder: Path, leave: str, then: str) -> processes_program.Program:
    folder.mkdir(exist_ok=True)
    (folder / "stay").write_text(STAY)
    return processes_program.Program(argv=("sh", "-c", f"{leave}\n{then}"), folder=folder)


async def started(folder: Path) -> int:
    """The number of the process that has left its group, once it has."""
    async with asyncio.timeout(30):
        while not (folder / "pid").exists():  # noqa: ASYNC110 -- a file
            await asyncio.sleep(0.01)
    return int((folder / "pid").read_text())


async def gone(pid: int) -> None:
    async with asyncio.timeout(30):
        while alive(pid):  # noqa: ASYNC110 -- a process
            await asyncio.sleep(0.01)


@pytest.mark.parametrize("way", LEAVE)
def test_what_has_left_the_group_of_a_program_ends_when_it_is_cancelled(
    tmp_path: Path, way: str, left_behind: list[int]
) -> None:
    async def story() -> None:
        running = asyncio.create_task(processes_program.run(program(tmp_path, LEAVE[way], "sleep 300")))
        left_behind.append(pid := await started(tmp_path))
        assert (alive(pid), os.getpgid(pid) == pid) == (True, True)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        await gone(pid)

    asyncio.run(story())


def test_what_has_left_the_group_of_a_program_ends_when_its_time_is_up(tmp_path: Path, left_behind: list[int]) -> None:
    async def story() -> None:
        leaving = program(tmp_path, LEAVE["a session of its own"], "sleep 300")
        running = asyncio.create_task(time_limit.within(1_500, processes_program.run(leaving)))
        left_behind.append(pid := await started(tmp_path))
        with pytest.raises(errors.AttemptFailed, match="stopped after 1500 ms"):
            await running
        await gone(pid)

    asyncio.run(story())


def test_a_program_that_ends_by_itself_may_leave_a_daemon_behind(tmp_path: Path, left_behind: list[int]) -> None:
    async def story() -> None:
        ending = program(tmp_path, LEAVE["a daemon, whose parent has ended"], "while [ ! -e pid ]; do sleep 0.01; done")
        assert (await processes_program.run(ending)).status == 0
        left_behind.append(pid := await started(tmp_path))
        assert alive(pid)

    asyncio.run(story())


@pytest.fixture(name="bystander")
def _bystander() -> Iterator[int]:
    """The number of a process that no program has started."""
    with subprocess.Popen(["sleep", "300"], start_new_session=True) as sleeping:
        yield sleeping.pid
        sleeping.kill()


def test_the_processes_of_others_are_left_alone(tmp_path: Path, left_behind: list[int], bystander: int) -> None:
    async def story() -> None:
        way = LEAVE["a daemon, whose parent has ended"]
        stopped, other = (
            asyncio.create_task(processes_program.run(program(tmp_path / name, way, "sleep 300")))
            for name in ("one", "other")
        )
        pids = [await started(tmp_path / name) for name in ("one", "other")]
        left_behind.extend(pids)
        stopped.cancel()
        await asyncio.wait({stopped})
        await gone(pids[0])
        assert {state(pids[1]), state(bystander)} <= {"S", "R"}
        assert not other.done()
        other.cancel()
        await asyncio.wait({other})
        await gone(pids[1])

    asyncio.run(story())


def test_more_of_them_than_there_are_descriptors_end_as_well(tmp_path: Path, left_behind: list[int]) -> None:
    async def story() -> None:
        leave = "for _ in $(seq 300); do setsid sleep 300 & echo $! >> pids; done\nsetsid sh stay &"
        running = asyncio.create_task(processes_program.run(program(tmp_path, leave, "sleep 300")))
        left_behind.append(await started(tmp_path))
        left_behind.extend(map(int, (tmp_path / "pids").read_text().split()))
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        for pid in left_behind:
            await gone(pid)

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, hard))
    try:
        asyncio.run(story())
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
