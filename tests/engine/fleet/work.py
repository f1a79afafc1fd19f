"""Handlers that other processes can import, and what is observed of them: files in the folder that a run is given."""

from __future__ import annotations

import asyncio
import contextvars
import logging
import os
import signal
import threading
from pathlib import Path
from typing import cast

import openskelo
from openskelo.kernel.json import Json


def folder(ctx: openskelo.Context) -> Path:
    return Path(cast("str", ctx.inputs["folder"]))


async def where(ctx: openskelo.Context) -> dict[str, Json]:
    """The process that does it; others get their turn meanwhile."""
    await asyncio.sleep(0)
    return {"pid": os.getpid()}


async def note(ctx: openskelo.Context) -> dict[str, Json]:
    """Leaves a line for each time it is done."""
    with (folder(ctx) / f"{ctx.run_id}.noted").open("a") as file:
        file.write(f"{os.getpid()}\n")
    return {"folder": ctx.inputs["folder"]}


async def die_once(ctx: openskelo.Context) -> dict[str, Json]:
    """Kills the process it runs in, unless that is the one which the run is told to spare."""
    if os.getpid() != ctx.inputs["spared"]:
        os.kill(os.getpid(), signal.SIGKILL)
    return {"pid": os.getpid()}


async def hold(ctx: openskelo.Context) -> dict[str, Json]:
    """Says that it is held, and goes on when the file `go` is there."""
    (folder(ctx) / f"{ctx.run_id}.held").write_text(str(os.getpid()))
    while not (folder(ctx) / "go").exists():  # noqa: ASYNC110 -- another process makes it
        await asyncio.sleep(0.01)
    return {"pid": os.getpid()}


async def later(ctx: openskelo.Context) -> dict[str, Json]:
    """Wants to be asked again in a moment."""
    if ctx.attempt == 1:
        raise openskelo.AttemptFailed("not yet", retry_after_ms=100)
    return {"pid": os.getpid()}


async def tasks(ctx: openskelo.Context) -> dict[str, Json]:
    """How many tasks there are in the process that does it."""
    await asyncio.sleep(0.1)
    return {"pid": len(asyncio.all_tasks())}


async def complain(ctx: openskelo.Context) -> dict[str, Json]:
    """Logs as a library would, and not as a handler does."""
    asyncio.get_running_loop().call_soon(_complain, context=contextvars.Context())
    await asyncio.sleep(0.01)
    return {}


def _complain() -> None:
    logging.getLogger("tests.complaints").warning("it is %s in here", "cold", exc_info=ValueError("cold"))


async def complain_badly(ctx: openskelo.Context) -> dict[str, Json]:
    """Logs what cannot be written, then from another thread, then what only some want to know."""
    asyncio.get_running_loop().call_soon(_complain_badly, context=contextvars.Context())
    await asyncio.sleep(0.1)
    return {}


def _complain_badly() -> None:
    log = logging.getLogger("tests.complaints")
    log.warning("%d degrees", "minus ten")
    thread = threading.Thread(target=log.warning, args=("said in a thread",))
    thread.start()
    thread.join()
    log.info("it is winter")


class OnlyThere:
    """What cannot be made in another process."""

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return _refuse_elsewhere, (str(os.getpid()),)

    async def __call__(self, ctx: openskelo.Context) -> dict[str, Json]:
        return {}


def _refuse_elsewhere(pid: str) -> OnlyThere:
    if str(os.getpid()) != pid:
        raise ImportError("no module named elsewhere")
    return OnlyThere()
