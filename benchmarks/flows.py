"""What is measured: workflows built in memory, and the time from starting a run to its end."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import openskelo
from openskelo.executors.handlers import invocation
from openskelo.kernel.json import Json, JsonObject
from openskelo.stores import api

#: A project handler that is not async: it runs in a worker process.
SYNC_HANDLER = "def handler(ctx):\n    return dict(ctx.inputs)\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """What one run took, in seconds of the clock and of this process's processor time."""

    run_id: str
    seconds: float
    cpu: float


async def give_back(ctx: openskelo.Context) -> JsonObject:
    """The handler that does nothing: its outputs are its inputs."""
    return ctx.inputs


Handlers = Mapping[str, invocation.Handler]
HANDLERS: Handlers = {"give_back": give_back}


def block(
    key: str, source: str, *, kind: str = "integer", handler: str = "local:give_back", **more: Json
) -> JsonObject:
    """A deterministic block that takes `n` from `source` and gives `n`."""
    return {
        "id": key,
        "mode": "deterministic",
        "inputs": {"n": {"type": kind, "from": f"{source}.n"}},
        "outputs": {"n": {"type": kind}},
        "deterministic": {"handler": handler},
        **more,
    }


def chain(steps: int, *, root: Path | None = None, **how: Any) -> openskelo.Workflow:
    """Distinct nodes one after the other; `how` is passed on to each `block`."""
    return workflow(chained(steps, **how), root=root, kind=how.get("kind", "integer"))


def chained(steps: int, **how: Any) -> Iterator[JsonObject]:
    """The blocks of a chain."""
    source = "inputs"
    for number in range(steps):
        yield block(f"s{number}", source, **how)
        source = f"s{number}"


def workflow(
    blocks: Iterable[JsonObject], *, root: Path | None = None, kind: str = "integer", **top: Json
) -> openskelo.Workflow:
    """These blocks, under a workflow whose only input is `n`; `root` is where its project handlers are."""
    document: JsonObject = {"name": "bench", "inputs": {"n": kind}, "blocks": list(blocks), **top}
    return openskelo.from_document(document, root=root)


def plan(steps: int) -> openskelo.Workflow:
    """A plan of so many steps: transforms, and the emit that ends it."""
    listed: list[Json] = [
        {"id": f"s{number}", "op": "transform", "args": {"expr": "input.n"}, "save_as": f"v{number}"}
        for number in range(steps - 1)
    ]
    listed.append({"id": "end", "op": "emit", "args": {"result_ref": "input:n"}})
    return openskelo.from_document({"plan_id": "bench", "inputs": {"n": 1}, "steps": listed})


async def engine(
    folder: Path,
    *,
    root: Path | None = None,
    store: api.Store | None = None,
    handlers: Handlers = HANDLERS,
) -> openskelo.Engine:
    """An engine with its data dir in `folder`, on the SQLite log unless another store is given."""
    project = openskelo.Project(root=root or folder, data_dir=folder / "data")
    return await openskelo.Engine.open(project, store=store, handlers=handlers)


async def run(engine: openskelo.Engine, flow: openskelo.Workflow, n: Json = 1) -> Taken:
    """One run from start to end, with what it took."""
    started, cpu = time.perf_counter(), time.process_time()
    run_id = await finish(engine, flow, n)
    return Taken(run_id=run_id, seconds=time.perf_counter() - started, cpu=time.process_time() - cpu)


async def finish(engine: openskelo.Engine, flow: openskelo.Workflow, n: Json = 1) -> str:
    """The id of a run that was begun and has ended. A run that did not end well is no measurement."""
    run_id = await engine.start(flow, {"n": n}, by="bench")
    document = await engine.wait(run_id)
    if document["ending"] != "ok":
        raise RuntimeError(f"the run ended {document['ending']}: {document.get('error')}")
    return run_id


async def bytes_of(engine: openskelo.Engine, run_id: str) -> int:
    """How many bytes the run's lines take, line ends included."""
    total = 0
    async for lines in engine.store.read_events(run_id):
        total += sum(len(line) + 1 for line in lines)
    return total
