"""Each attempt has a task of its own: attempts wait for each other, and none is disturbed by another one."""

from __future__ import annotations

import asyncio
import contextvars
from pathlib import Path
from typing import Any

import openskelo
from openskelo import errors
from openskelo.executors.handlers import invocation
from openskelo.kernel.json import Json, JsonObject
from openskelo.stores import memory

#: Set by a handler, as a logging library would.
SEEN: contextvars.ContextVar[str] = contextvars.ContextVar("SEEN", default="nobody")


def foreach(width: int) -> openskelo.Workflow:
    document: JsonObject = {
        "name": "attempts",
        "inputs": {"n": "array"},
        "defaults": {"concurrency": width},
        "blocks": [
            {
                "id": "each",
                "mode": "deterministic",
                "foreach": {"items": "run.inputs.n", "as": "item", "concurrency": width},
                "inputs": {"item": {"type": "integer"}},
                "outputs": {"item": "json"},
                "deterministic": {"handler": "local:work"},
            }
        ],
    }
    return openskelo.from_document(document)


async def outputs(folder: Path, width: int, work: invocation.Handler) -> list[Json]:
    project = openskelo.Project(root=folder, data_dir=folder / "data")
    async with await openskelo.Engine.open(project, handlers={"work": work}) as engine:
        run_id = await engine.start(foreach(width), {"n": list(range(width))})
        document = await asyncio.wait_for(engine.wait(run_id), 120)
    assert document["ending"] == "ok", document
    nodes: Any = document["nodes"]
    return nodes["each"]["outputs"]["item"]


def test_what_one_attempt_sets_in_its_context_no_other_sees(tmp_path: Path) -> None:
    async def work(ctx: openskelo.Context) -> JsonObject:
        seen = SEEN.get()
        SEEN.set(str(ctx.item))
        return {"item": seen}

    assert asyncio.run(outputs(tmp_path, 20, work)) == ["nobody"] * 20


def test_attempts_that_wait_for_each_other_are_all_under_way(tmp_path: Path) -> None:
    """The first cannot end before the last has begun, and neither waits for a task that the other holds."""
    width = 50

    async def main() -> list[Json]:
        begun = 0
        all_begun = asyncio.Event()

        async def work(ctx: openskelo.Context) -> JsonObject:
            nonlocal begun
            begun += 1
            if begun == width:
                all_begun.set()
            await all_begun.wait()
            return {"item": ctx.item}

        return await outputs(tmp_path, width, work)

    assert asyncio.run(main()) == list(range(width))


def test_work_that_is_cancelled_before_anybody_has_begun_it_is_not_done(tmp_path: Path) -> None:
    """One handler cancels its run while others, started by the same turn, still wait for a task."""

    async def main() -> tuple[list[Json], str]:
        done: list[Json] = []
        project = openskelo.Project(root=tmp_path, data_dir=tmp_path / "data")

        async def work(ctx: openskelo.Context) -> JsonObject:
            if ctx.item == 0:
                await engine.cancel(ctx.run_id, by="itself", reason="enough")
            done.append(ctx.item)
            return {"item": ctx.item}

        async with await openskelo.Engine.open(project, handlers={"work": work}) as engine:
            run_id = await engine.start(foreach(3), {"n": [0, 1, 2]})
            document = await asyncio.wait_for(engine.wait(run_id), 120)
            return done, str(document["ending"])

    done, ending = asyncio.run(main())
    assert ending == "cancelled"
    assert 0 not in done


class _Full(memory.MemoryStore):
    """A store without room for large values."""

    async def put_blob(self, data: bytes, name: str | None = None) -> str:
        raise errors.StoreFull("no room")


def test_a_run_that_is_dropped_takes_no_other_with_it(tmp_path: Path) -> None:
    """The task whose report cannot be kept goes on with the attempts of another run, and is not stopped in them."""

    async def work(ctx: openskelo.Context) -> JsonObject:
        if ctx.item == 7:
            return {"item": "x" * 100_000}
        await asyncio.sleep(0.01)
        return {"item": ctx.item}

    async def main() -> tuple[str, str]:
        project = openskelo.Project(root=tmp_path, data_dir=tmp_path / "data")
        async with await openskelo.Engine.open(project, store=_Full(), handlers={"work": work}) as engine:
            flow = foreach(2)
            large, small = await asyncio.gather(engine.start(flow, {"n": [7]}), engine.start(flow, {"n": [1, 2]}))
            dropped, kept = await asyncio.gather(
                engine.wait(large), asyncio.wait_for(engine.wait(small), 120), return_exceptions=True
            )
            assert isinstance(dropped, errors.StoreFull)
            assert isinstance(kept, dict), kept
            return dropped.code, str(kept["ending"])

    assert asyncio.run(main()) == ("STORE_FULL", "ok")
