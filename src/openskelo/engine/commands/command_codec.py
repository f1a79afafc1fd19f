"""Commands as JSON, for the inbox through which processes send them to each other.

A queued command is JSON:

    {"type": "CancelRun", "fields": {"by": "ann", "reason": null}}

The fields are those of the kernel's command, without `at`: the driver that takes the command says when. An answer to an
approval is stored as the person gave it (`Answer`), because the command depends on the run as it is when it is taken.
This is an internal queue: no file keeps it, and its form may change between versions.
"""

from __future__ import annotations

from typing import Any, cast

import msgspec

from openskelo import errors
from openskelo.engine.commands import input_checks
from openskelo.kernel import commands, workflow_codec
from openskelo.kernel.json import Json, JsonObject
from openskelo.kernel.run import Run
from openskelo.stores import api

_TYPES: dict[str, type[Any]] = {
    command_type.__name__: command_type
    for command_type in (
        commands.CancelRun,
        commands.PauseRun,
        commands.ResumeRun,
        commands.ChangeMode,
        commands.AddNode,
        commands.ChangeNode,
        commands.RemoveNode,
        commands.AddEdge,
        commands.RemoveEdge,
        commands.SendMessage,
        commands.ResetSession,
        commands.RetryTurn,
        commands.CompleteRun,
        commands.ReportInterrupted,
    )
}
_WITH_DEFINITION = ("AddNode", "ChangeNode")


def encode_command(command: commands.Command) -> JsonObject:
    """Return a command as JSON."""
    name = type(command).__name__
    if name not in _TYPES:
        raise TypeError(f"{name} is not a command that another process may send")
    if isinstance(command, commands.AddNode | commands.ChangeNode):
        fields: dict[str, Json] = {"by": command.by, "node": workflow_codec.encode_node(command.node)}
    else:
        fields = cast("dict[str, Json]", msgspec.to_builtins(command))
        del fields["at"]
    return {"type": name, "fields": fields}


def encode_answer(approval_id: str, answer: input_checks.Answer) -> JsonObject:
    """Return the answer to an approval as JSON."""
    return {"type": "Answer", "approvalId": approval_id, "fields": cast("JsonObject", msgspec.to_builtins(answer))}


async def decode_command(blobs: api.Blobs, run: Run, body: JsonObject, now: int) -> commands.Command:
    """Return the command for a run as it is now (InvalidInput, Refused; StoreError when a value cannot be kept)."""
    name = body.get("type")
    fields = cast("dict[str, Any]", body.get("fields") or {})
    try:
        if name == "Answer":
            approval = errors.require_open(run.approvals.get(str(body["approvalId"])))
            answer = input_checks.read_answer(**fields)
            return await input_checks.answer_command(blobs, run, approval, answer, now)
        command_type = _TYPES[str(name)]
        if name in _WITH_DEFINITION:
            return command_type(at=now, by=fields["by"], node=workflow_codec.decode_node(fields["node"]))
        if command_type is commands.SendMessage:  # msgspec cannot check the recursive type of its JSON content
            return commands.SendMessage(at=now, **fields)
        return msgspec.convert({**fields, "at": now}, command_type)
    except (LookupError, TypeError, ValueError) as error:  # msgspec.ValidationError is a ValueError
        raise errors.InvalidInput(f"unknown command {name!r}: {error}", code="COMMAND_UNKNOWN") from error
