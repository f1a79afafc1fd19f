"""Every registered executor keeps the promises of `executors.api.Executor`."""

from __future__ import annotations

import asyncio
import inspect
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from openskelo import agent_settings, errors
from openskelo.executors import api, kinds
from openskelo.executors.attempt import performer, running_attempt
from openskelo.kernel import definition
from openskelo.kernel.json import Json, JsonObject
from openskelo.providers import scripted
from tests.agents import repository
from tests.executors import workshop

_INBOX = (definition.Port(name="messages", schema={"type": "array"}),)
_TEXT = (definition.Port(name="text", schema={"type": "string"}),)

_AGENT = agent_settings.AgentSettings(
    name="scripted",
    provider="custom",
    command=(sys.executable, str(repository.AGENT)),
    workspace=agent_settings.WorkspaceSettings(kind="none"),
)

#: A node of each kind, its inputs, and what its work returns; None if it is not performed.
EXAMPLES: Mapping[str, tuple[definition.Node, JsonObject, JsonObject | None]] = {
    "agent": (
        definition.Node(
            key="it",
            mode="agent",
            config={"prompt": '@json {"text": "hello"}', "pinned": {"agent": agent_settings.encode(_AGENT)}},
            outputs=_TEXT,
        ),
        {},
        {"text": "hello"},
    ),
    "ai": (definition.Node(key="it", mode="ai", outputs=_TEXT), {}, {"text": "hello"}),
    "approval": (definition.Node(key="it", mode="approval"), {}, None),
    "deterministic": (
        definition.Node(key="it", mode="deterministic", handler="local:it", outputs=_TEXT),
        {},
        {"text": "hello"},
    ),
    "graph_turn": (
        definition.Node(key="it", mode="ai", inputs=_INBOX, outputs=_TEXT, turn=definition.Turn()),
        {"messages": [{"position": 1, "content": "Say it."}]},
        {"text": "hello"},
    ),
    "op": (
        definition.Node(
            key="it", mode="deterministic", step=definition.Step(op="emit", args={"status": "ok"}, save_as="end")
        ),
        {"status": "ok", "result_ref": 1},
        {"end": {"result": 1, "audit": [], "status": "ok"}},
    ),
}


async def _local(_ctx: object) -> dict[str, Json]:
    return {"text": "hello"}


def _performer(root: Path, *, equipped: bool = True) -> performer.Performer:
    return performer.Performer(
        project=workshop.project(root),
        blobs=workshop.MemoryBlobs(),
        local_handlers={"it": _local} if equipped else {},
        provider=scripted.Scripted(['{"text": "hello"}']) if equipped else None,
    )


def _services(owner: performer.Performer) -> api.Services:
    return owner._services  # pyright: ignore[reportPrivateUsage]


def test_every_kind_has_an_example() -> None:
    assert set(kinds.all_kinds()) == set(EXAMPLES)


@pytest.mark.parametrize("mode", definition.WORK_KINDS)
def test_every_mode_has_an_executor(mode: definition.Mode) -> None:
    assert isinstance(kinds.executor_for(definition.Node(key="it", mode=mode)), api.Executor)


@pytest.mark.parametrize("kind", EXAMPLES)
def test_the_registry_gives_the_executor_of_a_node(kind: str) -> None:
    node, _, _ = EXAMPLES[kind]
    assert kinds.kind_of(node) == kind
    assert kinds.executor_for(node) is kinds.get(kind)


@pytest.mark.parametrize("kind", EXAMPLES)
def test_what_is_there_is_available_and_has_a_digest(tmp_path: Path, kind: str) -> None:
    node, _, _ = EXAMPLES[kind]
    owner = _performer(tmp_path)
    owner.check_available(node)
    assert isinstance(owner.code_digest(node), str)


@pytest.mark.parametrize("kind", ["ai", "deterministic", "graph_turn"])
def test_what_is_missing_is_said_before_a_run_starts(tmp_path: Path, kind: str) -> None:
    node, _, _ = EXAMPLES[kind]
    with pytest.raises(errors.InvalidInput):
        _performer(tmp_path, equipped=False).check_available(node)


@pytest.mark.parametrize("kind", EXAMPLES)
def test_work_is_prepared_once_and_performed_for_every_attempt(tmp_path: Path, kind: str) -> None:
    node, inputs, expected = EXAMPLES[kind]

    async def scenario() -> None:
        owner = _performer(tmp_path)
        if expected is None:
            with pytest.raises(errors.AttemptFailed) as refused:
                kinds.get(kind).prepare(node, _services(owner), performer._FREE)  # pyright: ignore[reportPrivateUsage]
            assert (refused.value.code, refused.value.retryable) == ("NOT_PERFORMED", False)
            return
        work = kinds.get(kind).prepare(node, _services(owner), performer._FREE)  # pyright: ignore[reportPrivateUsage]
        request = workshop.task_of(node, inputs)
        returned = work(running_attempt.RunningAttempt(request, inputs))
        assert inspect.isawaitable(returned)
        outputs = await returned
        assert outputs == expected
        await owner.close()

    asyncio.run(scenario())


@pytest.mark.parametrize("kind", ["ai", "deterministic", "graph_turn"])
def test_cancelled_work_ends_and_leaves_nothing_running(tmp_path: Path, kind: str) -> None:
    node, inputs, _ = EXAMPLES[kind]
    started = asyncio.Event()

    async def forever(*_args: object) -> dict[str, Json]:
        started.set()
        await asyncio.Event().wait()
        return {}

    class Silent(scripted.Scripted):
        complete = forever  # pyright: ignore[reportAssignmentType]

    async def scenario() -> None:
        owner = performer.Performer(
            project=workshop.project(tmp_path),
            blobs=workshop.MemoryBlobs(),
            local_handlers={"it": forever},
            provider=Silent([]),
        )
        attempt = running_attempt.RunningAttempt(workshop.task_of(node, inputs), inputs)
        task = asyncio.create_task(owner.perform(attempt))
        await asyncio.wait_for(started.wait(), 10)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert asyncio.all_tasks() == {asyncio.current_task()}
        await owner.close()

    asyncio.run(scenario())
