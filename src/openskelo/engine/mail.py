"""Letters from other processes: commands as JSON in the store."""

from __future__ import annotations

from typing import cast

from openskelo import errors
from openskelo.engine import actor as actors
from openskelo.engine import door, wiring, words
from openskelo.executors import keeping
from openskelo.kernel import commands
from openskelo.kernel.json import Json, JsonObject
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


def pause_body(by: str, reason: str) -> JsonObject:
    """A pause for the run's driver in another process."""
    return {"type": "pause", "by": by, "reason": reason}


def resume_body(by: str) -> JsonObject:
    """The end of a pause, for the run's driver in another process."""
    return {"type": "resume", "by": by}


def mode_body(by: str, mode: str | None, global_mode: str | None) -> JsonObject:
    """A change of modes for the run's driver in another process."""
    return {"type": "mode", "by": by, "mode": mode, "globalMode": global_mode}


async def open_posted(store: keeping.Blobs, actor: actors.Actor, posted: log.PostedCommand, now: int) -> actors.Letter:
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


async def _command(store: keeping.Blobs, actor: actors.Actor, body: JsonObject, now: int) -> commands.Command:
    match body.get("type"):
        case "answer":
            asked = actor.run.approvals.get(cast("str", body["approvalId"]))
            if asked is None:
                raise errors.Refused("the approval is not open (any more)", code="APPROVAL_CLOSED")
            given = door.said(
                body["status"], cast("str", body["by"]), body.get("values"), cast("str | None", body.get("reason"))
            )
            return await door.answer(store, actor.run, asked, given, now)
        case "cancel":
            return commands.CancelRun(at=now, by=cast("str", body["by"]), reason=cast("str | None", body.get("reason")))
        case "pause":
            return commands.PauseRun(at=now, by=cast("str", body["by"]), reason=cast("str", body["reason"]))
        case "mode":
            mode, global_mode = body["mode"], body["globalMode"]
            return commands.ChangeMode(
                at=now,
                by=cast("str", body["by"]),
                mode=None if mode is None else words.mode(mode),
                global_mode=None if global_mode is None else words.global_mode(global_mode),
            )
        case "graph":
            from openskelo.engine import graph_mail  # noqa: PLC0415  few runs are live graphs

            return graph_mail.command(body, now)
        case "resume":
            return commands.ResumeRun(at=now, by=cast("str", body["by"]))
        case _:
            raise errors.InvalidInput(f"unknown command {body.get('type')!r}", code="COMMAND_UNKNOWN")
