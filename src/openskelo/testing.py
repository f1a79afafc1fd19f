"""For tests of your own workflows: a model and people who say what they are told, and a store that forgets.

    document = await testing.run(
        workflow,
        {"topic": "bees"},
        project=project,
        model={"draft": [{"text": "Bees buzz."}]},
        people={"review": [testing.Reply(status="approved")]},
    )
    assert document["ending"] == "ok"

Everything else is real: handlers, gates, contracts, the engine. `STORE_CHECKS` is the suite that any store must pass.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from openskelo.engine.local import Engine
from openskelo.executors.calling import Handler
from openskelo.executors.task import Project
from openskelo.kernel.commands import Answer
from openskelo.kernel.definition import Workflow
from openskelo.kernel.json import JsonObject
from openskelo.providers.scripted import Script, Scripted
from openskelo.stores.conformance import CHECKS as STORE_CHECKS
from openskelo.stores.memory import MemoryLog

__all__ = ["STORE_CHECKS", "MemoryLog", "Reply", "Scripted", "drive", "run"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What a person answers to an approval."""

    status: Answer = "approved"
    values: JsonObject | None = None
    reason: str | None = None


async def run(
    workflow: Workflow,
    inputs: JsonObject | None = None,
    *,
    project: Project,
    handlers: Mapping[str, Handler] | None = None,
    model: Mapping[str, Sequence[Script]] | None = None,
    people: Mapping[str, Sequence[Reply]] | None = None,
) -> JsonObject:
    """The document of a run that went as far as the scripts reach: `model` by node, `people` by node, each in order."""
    provider = Scripted(model or {})
    async with await Engine.open(project, store=MemoryLog(), handlers=handlers, provider=provider) as engine:
        run_id = await engine.start(workflow, inputs, by="test")
        return await drive(engine, run_id, people or {})


async def drive(engine: Engine, run_id: str, people: Mapping[str, Sequence[Reply]]) -> JsonObject:
    """Answer what the run asks as long as the script has an answer; its document when it ended or nobody answers."""
    used: dict[str, int] = {}
    while True:
        document = await engine.wait(run_id)
        asked = _next_asked(document, people, used)
        if asked is None:
            return document
        node = cast("str", asked["node"])
        turn = used.get(node, 0)
        used[node] = turn + 1
        reply = people[node][turn]
        await engine.answer(
            cast("str", asked["id"]), status=reply.status, values=reply.values, reason=reply.reason, by="test"
        )


def _next_asked(
    document: JsonObject, people: Mapping[str, Sequence[Reply]], used: Mapping[str, int]
) -> JsonObject | None:
    for asked in cast("Sequence[JsonObject]", document["approvals"]):
        node = cast("str", asked["node"])
        if used.get(node, 0) < len(people.get(node, ())):
            return asked
    return None
