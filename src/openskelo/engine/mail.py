"""Letters from other processes: commands as JSON in the store, and what a finished attempt leaves for later runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from openskelo import errors
from openskelo.engine import actor as actors
from openskelo.engine import door, resolve, wiring
from openskelo.executors import task
from openskelo.kernel import commands, outcome
from openskelo.kernel.json import Json, JsonObject
from openskelo.kernel.run import Run
from openskelo.stores import log


def answer_body(approval_id: str, given: door.Answer) -> JsonObject:
    """An answer for the run's driver in another process."""
    body: dict[str, Json] = {"type": "answer", "approvalId": approval_id, "status": given.status, "by": given.by}
    if given.values is not None:
        body["values"] = given.values
    if given.reason is not None:
        body["reason"] = given.reason
    return body


def cancel_body(by: str, reason: str | None) -> JsonObject:
    """A cancellation for the run's driver in another process."""
    return {"type": "cancel", "by": by, "reason": reason}


async def open_posted(store: wiring.Blobs, actor: actors.Actor, posted: log.PostedCommand, now: int) -> actors.Letter:
    """The letter in a posted command. One that cannot be carried out (any more) becomes a tick: it is taken out.

    A store without room (StoreError) says nothing about the command, which stays where it is.
    """
    try:
        command = await _command(store, actor, posted.body, now)
    except errors.OpenSkeloError as error:
        if wiring.is_trouble(error):
            raise
        command = commands.Tick(at=now)  # its sender checked it too; what changed since then is visible in the log
    return actors.Letter(command=command, posted=posted.id)


async def _command(store: wiring.Blobs, actor: actors.Actor, body: JsonObject, now: int) -> commands.Command:
    match body.get("type"):
        case "answer":
            asked = actor.run.approvals.get(cast("str", body["approvalId"]))
            if asked is None:
                raise errors.Refused("the approval is not open (any more)", code="APPROVAL_CLOSED")
            given = door.Answer(
                status=cast("commands.Answer", body["status"]),
                by=cast("str", body["by"]),
                values=cast("JsonObject | None", body.get("values")),
                reason=cast("str | None", body.get("reason")),
            )
            return await door.answer(store, actor.run, asked, given, now)
        case "cancel":
            return commands.CancelRun(at=now, by=cast("str", body["by"]), reason=cast("str | None", body.get("reason")))
        case _:
            raise errors.InvalidInput(f"unknown command {body.get('type')!r}", code="COMMAND_UNKNOWN")


def cache_entry(run: Run, of: task.Task, result: outcome.Outcome) -> dict[str, JsonObject]:
    """What a successful attempt of a caching node leaves for later runs.

    Work that was sent back has answered more than its inputs ask, and leaves nothing; nor do items of a foreach.
    """
    sent_back = isinstance(of.feedback, Mapping) and "from" in of.feedback
    if result.outputs is None or result.output_hash is None or sent_back or of.item_index is not None:
        return {}
    entry: JsonObject = {
        "outputs": result.outputs,
        "outputHash": result.output_hash,
        "source": {"runId": run.id, "node": of.node.key, "visit": of.visit, "attempt": of.attempt},
    }
    return {resolve.cache_key(run.id, of.node, result.inputs_hash): entry}
