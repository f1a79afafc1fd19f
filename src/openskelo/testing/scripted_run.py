"""Runs a workflow with scripted answers of models, people, tools and checkers, in a store in memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from openskelo.engine.api import Engine, open_engine
from openskelo.errors import AttemptFailed, InvalidInput, Refused
from openskelo.executors.handlers.invocation import Handler
from openskelo.handlers.context import Context
from openskelo.history.run_document import ApprovalDocument, RunDocument
from openskelo.kernel.commands import Answer
from openskelo.kernel.definition import Workflow
from openskelo.kernel.json import Json, JsonObject
from openskelo.project import Project
from openskelo.providers import scripted
from openskelo.providers.scripted import Script, Scripted
from openskelo.stores.memory import MemoryStore
from openskelo.structs import frozen


@frozen
class Reply:
    """The answer of a person to an approval."""

    status: Answer = "approved"
    modified_args: JsonObject | None = None
    reason: str | None = None
    #: The person's name, which `approvers` may demand.
    by: str = "test"


async def run(  # noqa: PLR0913  each is a part that a test may script, and has a default
    workflow: Workflow,
    inputs: JsonObject | None = None,
    *,
    project: Project,
    handlers: Mapping[str, Handler] | None = None,
    model: Mapping[str, Sequence[Script]] | None = None,
    people: Mapping[str, Sequence[Reply]] | None = None,
    contexts: JsonObject | None = None,
) -> RunDocument:
    """Run a workflow until it ends or the scripts have no answer left, and return its document.

    `model` and `people` have the answers by node, each in order.
    """
    provider = Scripted(model or {})
    async with open_engine(project, store=MemoryStore(), handlers=handlers, provider=provider) as engine:
        run_id = await engine.start(workflow, inputs, by="test", contexts=contexts)
        return await drive(engine, run_id, people or {})


def stand_ins(results: Mapping[str, Sequence[Json]]) -> dict[str, Handler]:
    """Return handlers for `open_engine` in place of the tools and checkers of a plan: results by step, in order.

    A result `{"error": {"code", "message", "retryable"}}` is a failure, and so is a script without results left. The
    permissions of the step, its arguments, the form of a verdict and the cost of a call are checked as always.
    """
    return {f"step:{key}": _stand_in(key, list(step_results)) for key, step_results in results.items()}


def _stand_in(key: str, remaining: list[Json]) -> Handler:
    async def next_result(_: Context) -> Json:
        if not remaining:
            raise AttemptFailed(f"the script has no result left for {key!r}", code="SCRIPT_EXHAUSTED", retryable=False)
        result = remaining.pop(0)
        failure = scripted.failure(result)
        if failure is not None:
            raise failure
        return result

    return next_result


async def drive(engine: Engine, run_id: str, people: Mapping[str, Sequence[Reply]]) -> RunDocument:
    """Answer the run's approvals as long as the script has answers; return its document when it ends or waits.

    Raise InvalidInput or Refused, with the number of the answer, if the engine refuses one.
    """
    answer_counts: dict[str, int] = {}
    while True:
        document = await engine.wait(run_id)
        approval = _next_answerable(document, people, answer_counts)
        if approval is None:
            return document
        node = approval["node"]
        number = answer_counts.get(node, 0)
        answer_counts[node] = number + 1
        reply = people[node][number]
        try:
            await engine.answer(
                approval["id"],
                status=reply.status,
                modified_args=reply.modified_args,
                reason=reply.reason,
                by=reply.by,
            )
        except (InvalidInput, Refused) as error:
            message = f"answer {number + 1} to {node} is refused: {error.message}"
            raise type(error)(message, code=error.code, hint=error.hint) from error


def _next_answerable(
    document: RunDocument, people: Mapping[str, Sequence[Reply]], used: Mapping[str, int]
) -> ApprovalDocument | None:
    """Return the first open approval for which the script has an answer left."""
    for approval in document["approvals"]:
        node = approval["node"]
        if used.get(node, 0) < len(people.get(node, ())):
            return approval
    return None
