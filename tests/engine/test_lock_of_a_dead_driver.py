"""A driver that is killed while it starts a child: the child holds the driver's lock until it runs its program."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
from pathlib import Path

import openskelo
from openskelo.kernel.json import JsonObject
from tests.engine import stage

#: Starts a run whose handler forks a child, as starting a program does, and is killed before the child goes on.
DRIVER = """
import asyncio, os, signal, sys, time
from pathlib import Path
from tests.engine import stage

async def work(_ctx):
    if os.fork() == 0:
        Path(sys.argv[1], "forked").touch()
        time.sleep(0.3)
        os._exit(0)
    while not Path(sys.argv[1], "forked").exists():
        await asyncio.sleep(0.01)
    os.kill(os.getpid(), signal.SIGKILL)

async def story():
    async with stage.engine(Path(sys.argv[1]), work=work) as engine:
        await engine.wait(await engine.start(stage.workflow(stage.block("work"))))

asyncio.run(story())
"""


def test_a_run_is_resumed_although_a_child_of_its_killed_driver_still_holds_the_lock(tmp_path: Path) -> None:
    killed = subprocess.run([sys.executable, "-c", DRIVER, str(tmp_path)], check=False)
    assert killed.returncode == -signal.SIGKILL

    async def work(_ctx: openskelo.Context) -> JsonObject:
        return {}

    async def story() -> None:
        async with stage.engine(tmp_path, work=work) as engine:
            (row,) = await engine.store.list_runs()
            await engine.resume(row.run_id)
            assert (await engine.wait(row.run_id))["ending"] == "ok"

    asyncio.run(story())
