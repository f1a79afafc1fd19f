"""What every engine keeps, whatever drives its runs: a list of checks against an engine that a factory opens.

Another engine passes when `ENGINES` has its factory: a function that opens it on a project, with these handlers.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import TypeAlias

import pytest

import openskelo
from openskelo import errors
from openskelo.engine import api
from openskelo.executors.handlers import invocation
from openskelo.kernel.json import Json
from tests.engine import stage

Handlers: TypeAlias = Mapping[str, invocation.Handler]
OpenEngine: TypeAlias = Callable[[openskelo.Project, Handlers], AbstractAsyncContextManager[api.Engine]]
Check: TypeAlias = Callable[[OpenEngine, openskelo.Project], Awaitable[None]]

CHAIN = stage.workflow(
    stage.block("first", outputs={"n": "integer"}),
    stage.block("second", inputs={"n": {"type": "integer", "from": "first.n"}}, outputs={"n": "integer"}),
    outputs={"n": "second.n"},
)
ASKING = stage.workflow(
    {"id": "ask", "mode": "approval", "outputs": {"approved": "boolean"}, "approval": {"prompt": "Go on?"}},
    outputs={"approved": "ask.approved"},
)
UNKNOWN = "00000000-0000-4000-8000-000000000000"


async def _add_one(ctx: openskelo.Context) -> dict[str, Json]:
    n = ctx.inputs.get("n", 0)
    assert isinstance(n, int)
    return {"n": n + 1}


HANDLERS: Handlers = {"first": _add_one, "second": _add_one}


def _open_local(project: openskelo.Project, handlers: Handlers) -> AbstractAsyncContextManager[api.Engine]:
    return api.open_engine(project, handlers=handlers)


ENGINES: Mapping[str, OpenEngine] = {"local": _open_local}


async def a_run_is_durable_when_start_returns(open_engine: OpenEngine, project: openskelo.Project) -> None:
    async with open_engine(project, HANDLERS) as engine:
        run_id = await engine.start(CHAIN)
        assert await engine.history.store.find_run(run_id) is not None


async def wait_returns_the_document_of_the_ended_run(open_engine: OpenEngine, project: openskelo.Project) -> None:
    async with open_engine(project, HANDLERS) as engine:
        run_id = await engine.start(CHAIN)
        document = await engine.wait(run_id)
        assert (document["runId"], document["ending"], document["outputs"]) == (run_id, "ok", {"n": 2})
        assert await engine.show(run_id) == document == await engine.history.show(run_id)


async def follow_yields_every_event_until_the_run_ends(open_engine: OpenEngine, project: openskelo.Project) -> None:
    async with open_engine(project, HANDLERS) as engine:
        events = [event async for event in engine.follow(await engine.start(CHAIN))]
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    assert (events[0]["type"], events[-1]["type"]) == ("run.created", "run.ended")


async def an_id_is_used_once(open_engine: OpenEngine, project: openskelo.Project) -> None:
    async with open_engine(project, HANDLERS) as engine:
        await engine.start(CHAIN, run_id=UNKNOWN)
        with pytest.raises(errors.Refused) as refused:
            await engine.start(CHAIN, run_id=UNKNOWN)
    assert refused.value.code == "RUN_EXISTS"


async def invalid_inputs_start_nothing(open_engine: OpenEngine, project: openskelo.Project) -> None:
    async with open_engine(project, HANDLERS) as engine:
        with pytest.raises(errors.InvalidInput):
            await engine.start(CHAIN, {"unknown": 1})
        assert await engine.history.runs() == []


async def an_answer_lets_the_run_go_on_once(open_engine: OpenEngine, project: openskelo.Project) -> None:
    async with open_engine(project, HANDLERS) as engine:
        run_id = await engine.start(ASKING)
        assert (await engine.wait(run_id))["status"] == "paused"
        (approval,) = await engine.approvals(run_id)
        assert await engine.answer(str(approval["id"]), status="approved", by="ann") == run_id
        assert (await engine.wait(run_id))["outputs"] == {"approved": True}
        with pytest.raises(errors.Refused) as refused:
            await engine.answer(str(approval["id"]), status="denied", by="bob")
        assert refused.value.code == "APPROVAL_CLOSED"
        assert await engine.approvals() == []


async def a_paused_run_starts_nothing_until_it_is_resumed(open_engine: OpenEngine, project: openskelo.Project) -> None:
    started = asyncio.Event()
    finish = asyncio.Event()

    async def first(ctx: openskelo.Context) -> dict[str, Json]:
        started.set()
        await finish.wait()
        return {"n": 1}

    async with open_engine(project, {**HANDLERS, "first": first}) as engine:
        run_id = await engine.start(CHAIN)
        await started.wait()
        await engine.pause(run_id, by="ann")
        finish.set()
        assert (await engine.wait(run_id))["status"] == "paused"
        await engine.go_on(run_id, by="ann")
        assert (await engine.wait(run_id))["ending"] == "ok"


async def a_cancelled_run_ends_and_takes_no_more_commands(open_engine: OpenEngine, project: openskelo.Project) -> None:
    async with open_engine(project, HANDLERS) as engine:
        run_id = await engine.start(ASKING)
        await engine.wait(run_id)
        await engine.cancel(run_id, by="ann")
        assert (await engine.wait(run_id))["ending"] == "cancelled"
        with pytest.raises(errors.Refused) as refused:
            await engine.cancel(run_id, by="ann")
    assert refused.value.code == "RUN_ENDED"


async def a_fork_keeps_what_came_before_its_node(open_engine: OpenEngine, project: openskelo.Project) -> None:
    async with open_engine(project, HANDLERS) as engine:
        parent = await engine.start(CHAIN)
        await engine.wait(parent)
        document = await engine.wait(await engine.fork(parent, node="second"))
        assert (document["ending"], document["outputs"]) == ("ok", {"n": 2})


async def an_unknown_run_is_not_found(open_engine: OpenEngine, project: openskelo.Project) -> None:
    async with open_engine(project, HANDLERS) as engine:
        for call in (engine.show, engine.wait, engine.resume, engine.pause, engine.cancel):
            with pytest.raises(errors.NotFound):
                await call(UNKNOWN)


async def a_suspended_run_goes_on_in_the_next_engine(open_engine: OpenEngine, project: openskelo.Project) -> None:
    started = asyncio.Event()

    async def first(ctx: openskelo.Context) -> dict[str, Json]:
        started.set()
        await asyncio.sleep(60)
        return {"n": 1}

    async with open_engine(project, {**HANDLERS, "first": first}) as engine:
        run_id = await engine.start(CHAIN)
        await started.wait()
        await engine.suspend(by="ann")
        assert (await engine.show(run_id))["status"] == "paused"
    async with open_engine(project, HANDLERS) as engine:
        await engine.resume(run_id)
        assert (await engine.wait(run_id))["ending"] == "ok"


async def a_supervisor_goes_on_with_what_another_one_stopped(
    open_engine: OpenEngine, project: openskelo.Project
) -> None:
    started = asyncio.Event()

    async def first(ctx: openskelo.Context) -> dict[str, Json]:
        started.set()
        await asyncio.sleep(60)
        return {"n": 1}

    async with open_engine(project, {**HANDLERS, "first": first}) as engine:
        supervisor = engine.supervisor()
        await supervisor.start()
        run_id = await engine.start(CHAIN)
        await started.wait()
        await supervisor.stop()
    async with open_engine(project, HANDLERS) as engine:
        supervisor = engine.supervisor()
        await supervisor.start()
        assert (await engine.wait(run_id))["ending"] == "ok"
        await supervisor.stop()


CHECKS: tuple[Check, ...] = (
    a_run_is_durable_when_start_returns,
    wait_returns_the_document_of_the_ended_run,
    follow_yields_every_event_until_the_run_ends,
    an_id_is_used_once,
    invalid_inputs_start_nothing,
    an_answer_lets_the_run_go_on_once,
    a_paused_run_starts_nothing_until_it_is_resumed,
    a_cancelled_run_ends_and_takes_no_more_commands,
    a_fork_keeps_what_came_before_its_node,
    an_unknown_run_is_not_found,
    a_suspended_run_goes_on_in_the_next_engine,
    a_supervisor_goes_on_with_what_another_one_stopped,
)


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("open_engine", ENGINES.values(), ids=ENGINES)
def test_an_engine_conforms(open_engine: OpenEngine, check: Check, tmp_path: Path) -> None:
    project = openskelo.Project(root=tmp_path, data_dir=tmp_path / ".skelo")
    stage.play(lambda: check(open_engine, project))
