"""Commands that other processes have queued in the store for runs driven here.

A process that wants to cancel, pause or answer a run which another process drives appends the command to the store's
command inbox. The driver polls the store; `Inbox` moves new commands into the mailboxes of their runs. Such a command
stays in the store until the append that carries it out removes it, so it is neither lost nor done twice in a crash.

Tasks that follow a run driven elsewhere wait here, too, until another process has changed the store.

A queued command is JSON:

    {"type": "CancelRun", "fields": {"by": "ann", "reason": null}}

The fields are those of the kernel's command, without `at`: the driver that takes the command says when. An answer to an
approval is stored as the person gave it (`Answer`), because the command depends on the run as it is when it is taken.
This is an internal queue: no file keeps it, and its form may change between versions.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import msgspec

from openskelo import errors
from openskelo.engine.commands import input_checks
from openskelo.engine.drive import driven_run
from openskelo.executors.inputs import node_inputs
from openskelo.kernel import commands, workflow_codec
from openskelo.kernel.json import Json, JsonObject
from openskelo.kernel.run import Run
from openskelo.stores import api

_LOG = logging.getLogger("openskelo.driver")


class Inbox:
    """Reads commands for the `driven` runs from the store, and hands each to `send`.

    `check_needs` raises InvalidInput if this process lacks something that the rest of a run needs. The sender of an
    answer cannot know that: its environment may be another one.
    """

    def __init__(
        self,
        store: api.Store,
        driven: Mapping[str, driven_run.DrivenRun],
        send: Callable[[driven_run.DrivenRun, driven_run.QueuedCommand], None],
        now: Callable[[], int],
        check_needs: Callable[[Run], None],
    ) -> None:
        self._check_needs = check_needs
        self._store = store
        self._driven = driven
        self._send = send
        self._now = now
        self._store_changed: asyncio.Event | None = None  # while a task waits for another process
        self._is_closed = False
        self._unread = False  # the store has changed since the inbox was last read completely

    async def poll(self) -> None:
        """Read new commands and wake the tasks that wait, if another process has changed the store (StoreError)."""
        if await self._store.has_changed():
            self._unread = True
            self.wake_waiters()
        if self._unread:
            await self.read(tuple(self._driven))
            self._unread = False

    async def read(self, run_ids: Sequence[str]) -> bool:
        """Move the commands queued for these runs into their mailboxes; return whether there were any."""
        queued = await self._store.list_commands(run_ids) if run_ids else ()
        for entry in queued:
            driven = self._driven.get(entry.run_id)
            if driven is None or entry.id in driven.inbox_ids:
                continue
            command = await self._decode(driven, entry)
            if entry.id not in driven.inbox_ids:  # another task may have read it meanwhile
                driven.inbox_ids.add(entry.id)
                self._send(driven, driven_run.QueuedCommand(command=command, inbox_id=entry.id))
        return bool(queued)

    async def _decode(self, driven: driven_run.DrivenRun, entry: api.QueuedCommand) -> commands.Command:
        """Return the command; a tick for one that cannot be carried out (any more), so that it leaves the store.

        Its sender checked it, too; what has changed since then is visible in the log. StoreError (the store has no room
        for a value) says nothing about the command, which stays queued.
        """
        now = self._now()
        try:
            command = await decode_command(self._store, driven.state, entry.body, now)
            if isinstance(command, commands.AnswerApproval) and command.status != "denied":
                self._check_answerable(driven.state)
        except errors.OpenSkeloError as error:
            if node_inputs.is_store_trouble(error):
                raise
            return commands.Tick(at=now)
        return command

    def _check_answerable(self, state: Run) -> None:
        """Raise InvalidInput if the run could not go on here: the answer would be used up, and the run would fail."""
        try:
            self._check_needs(state)
        except errors.InvalidInput as error:
            _LOG.warning("an answer to run %s is not taken: %s %s", state.id, error.code, error.message)
            raise

    def wake_waiters(self) -> None:
        """Wake the tasks that wait for another process."""
        if self._store_changed is not None:
            self._store_changed.set()
            self._store_changed = None

    async def wait_for_other_process(self) -> None:
        """Wait until another process has changed the store (ENGINE_CLOSED when this one stops)."""
        if not self._is_closed:
            if self._store_changed is None:
                self._store_changed = asyncio.Event()
            await self._store_changed.wait()
        if self._is_closed:
            raise closed()

    def close(self) -> None:
        """Fail the tasks that wait: no driver polls the store any more."""
        self._is_closed = True
        self.wake_waiters()


def closed() -> errors.OpenSkeloError:
    """Return the error for callers of an engine that was closed."""
    return errors.OpenSkeloError("the engine was closed", code="ENGINE_CLOSED", hint="resume the run in another one")


# -- commands as JSON -------------------------------------------------------------------------------------------------

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
            approval = run.approvals.get(str(body["approvalId"]))
            if approval is None:
                raise errors.approval_closed()
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
