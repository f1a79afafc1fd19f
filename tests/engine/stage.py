"""A stage for engine tests: workflows as documents, handlers as functions, a real store underneath."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TypeVar, cast

import openskelo
from openskelo.executors.handlers import invocation
from openskelo.history import verify
from openskelo.history.run_document import ApprovalDocument, NodeDocument, RunDocument, RunError
from openskelo.kernel.json import Json
from openskelo.stores import api

T = TypeVar("T")
Document = Mapping[str, Json]


def block(key: str, **fields: Json) -> dict[str, Json]:
    """A deterministic block that calls the local handler of its own name, unless `fields` say otherwise."""
    made: dict[str, Json] = {"id": key}
    if "mode" not in fields and "uses" not in fields:
        made["mode"] = "deterministic"
        made["deterministic"] = {"handler": f"local:{key}"}
    return {**made, **fields}


def workflow(*blocks: Document, **top: Json) -> openskelo.Workflow:
    """A workflow named `staged` of these blocks."""
    return openskelo.from_document({"name": "staged", "blocks": list(blocks), **top})


@asynccontextmanager
async def engine(
    root: Path, store: api.Store | None = None, **handlers: invocation.Handler
) -> AsyncGenerator[openskelo.Engine]:
    """An engine over `root` with these local handlers; every run that it leaves behind must verify."""
    async with open_engine(root, store, **handlers) as opened:
        yield opened
        for row in await opened.store.list_runs():
            proof = await verify.verify_run(opened.store, row.run_id)
            assert proof.intact, proof.problems


@asynccontextmanager
async def open_engine(
    root: Path, store: api.Store | None = None, **handlers: invocation.Handler
) -> AsyncGenerator[openskelo.Engine]:
    """As `engine`, for stories that tamper with what the runs leave behind."""
    project = openskelo.Project(root=root, data_dir=root / ".skelo", read_roots=(root,))
    async with await openskelo.Engine.open(project, store=store, handlers=handlers) as opened:
        yield opened


def play(story: Callable[[], Awaitable[T]]) -> T:
    """Run a story to its end; a story that hangs fails instead."""

    async def bounded() -> T:
        async with asyncio.timeout(120):
            return await story()

    return asyncio.run(bounded())


async def types(engine: openskelo.Engine, run_id: str) -> list[str]:
    """The types of a run's events, in order."""
    return [cast("str", event["type"]) async for event in engine.follow(run_id, until_end=False)]


def node(document: RunDocument, key: str) -> NodeDocument:
    """One node of a run's document."""
    return document["nodes"][key]


def approvals(document: RunDocument) -> list[ApprovalDocument]:
    """The open approvals of a run's document."""
    return document["approvals"]


def error(document: RunDocument) -> RunError:
    """The failure of a run."""
    assert "error" in document
    return document["error"]
