"""For tests of your own workflows: a model and people who say what they are told, and a store that forgets.

    document = await testing.run(
        workflow,
        {"topic": "bees"},
        project=project,
        model={"draft": [{"text": "Bees buzz."}]},
        people={"review": [testing.Reply(status="approved")]},
    )
    assert document["ending"] == "ok"

What a plan's tools and checkers say can be played too: `handlers=testing.stand_ins({"s3": [{"ok": True}]})`.

Everything else is real: handlers, gates, contracts, the engine. `STORE_CHECKS` is the suite that any store must pass.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from openskelo.engine.local import Engine
from openskelo.errors import AttemptFailed, InvalidInput, Refused
from openskelo.executors.calling import Handler
from openskelo.executors.task import Project
from openskelo.frozen import frozen
from openskelo.handlers.context import Context
from openskelo.kernel.commands import Answer
from openskelo.kernel.definition import Workflow
from openskelo.kernel.json import Json, JsonObject
from openskelo.providers import scripted
from openskelo.providers.scripted import Script, Scripted
from openskelo.stores.conformance import CHECKS as STORE_CHECKS
from openskelo.stores.memory import MemoryLog

__all__ = ["STORE_CHECKS", "MemoryLog", "Reply", "Scripted", "drive", "run", "stand_ins"]


@frozen
class Reply:
    """What a person answers to an approval."""

    status: Answer = "approved"
    values: JsonObject | None = None
    reason: str | None = None


async def run(  # noqa: PLR0913  each is a part that may be played, and has a default
    workflow: Workflow,
    inputs: JsonObject | None = None,
    *,
    project: Project,
    handlers: Mapping[str, Handler] | None = None,
    model: Mapping[str, Sequence[Script]] | None = None,
    people: Mapping[str, Sequence[Reply]] | None = None,
    contexts: JsonObject | None = None,
) -> JsonObject:
    """The document of a run that went as far as the scripts reach: `model` by node, `people` by node, each in order."""
    provider = Scripted(model or {})
    async with await Engine.open(project, store=MemoryLog(), handlers=handlers, provider=provider) as engine:
        run_id = await engine.start(workflow, inputs, by="test", contexts=contexts)
        return await drive(engine, run_id, people or {})


def stand_ins(results: Mapping[str, Sequence[Json]]) -> dict[str, Handler]:
    """Handlers for `Engine.open` that play the tools and checkers of a plan's steps: results by step, in order.

    `{"error": {"code", "message", "retryable"}}` is a failure, and so is running out. Whether the step may reach its
    tool, its arguments, the form of a verdict and what a call costs are as always.
    """
    return {f"step:{key}": _stand_in(key, list(found)) for key, found in results.items()}


def _stand_in(key: str, left: list[Json]) -> Handler:
    async def play(_: Context) -> Json:
        if not left:
            raise AttemptFailed(f"the script has no result left for {key!r}", code="SCRIPT_EXHAUSTED", retryable=False)
        result = left.pop(0)
        failure = scripted.failure(result)
        if failure is not None:
            raise failure
        return result

    return play


async def drive(engine: Engine, run_id: str, people: Mapping[str, Sequence[Reply]]) -> JsonObject:
    """Answer what the run asks as long as the script has an answer; its document when it ended or nobody answers.

    An answer that is refused (InvalidInput, Refused) is named in the error.
    """
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
        try:
            await engine.answer(
                cast("str", asked["id"]), status=reply.status, values=reply.values, reason=reply.reason, by="test"
            )
        except (InvalidInput, Refused) as error:
            message = f"answer {turn + 1} to {node} is refused: {error.message}"
            raise type(error)(message, code=error.code, hint=error.hint) from error


def _next_asked(
    document: JsonObject, people: Mapping[str, Sequence[Reply]], used: Mapping[str, int]
) -> JsonObject | None:
    for asked in cast("Sequence[JsonObject]", document["approvals"]):
        node = cast("str", asked["node"])
        if used.get(node, 0) < len(people.get(node, ())):
            return asked
    return None
