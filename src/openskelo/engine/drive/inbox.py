"""Commands that other processes have queued in the store for runs driven here.

A process that wants to cancel, pause or answer a run which another process drives appends the command to the store's
command inbox. The driver polls the store; `Inbox` moves new commands into the mailboxes of their runs. Such a command
stays in the store until the append that carries it out removes it, so it is neither lost nor done twice in a crash.

Tasks that follow a run driven elsewhere wait here, too, until another process has changed the store.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence

from openskelo import errors
from openskelo.engine import pinning
from openskelo.engine.commands import command_codec, input_checks
from openskelo.engine.drive import driven_run
from openskelo.executors.attempt import performer as attempt_performer
from openskelo.executors.inputs import node_inputs
from openskelo.kernel import commands
from openskelo.kernel.run import Run
from openskelo.stores import api

_LOG = logging.getLogger("openskelo.driver")


class Inbox:
    """Reads commands for the `driven` runs from the store into the mailboxes of these runs."""

    def __init__(
        self,
        store: api.Store,
        driven: Mapping[str, driven_run.DrivenRun],
        now: Callable[[], int],
        performer: attempt_performer.Performer,
    ) -> None:
        self._store = store
        self._driven = driven
        self._now = now
        self._performer = performer
        self._waiters: list[asyncio.Future[None]] = []  # tasks that wait for another process
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
        entries = await self._store.list_commands(run_ids) if run_ids else ()
        for entry in entries:
            run = self._driven.get(entry.run_id)
            if run is None or entry.id in run.inbox_ids:
                continue
            command = await self._decode(run, entry)
            if entry.id not in run.inbox_ids:  # another task may have read it meanwhile
                run.inbox_ids.add(entry.id)
                run.send(driven_run.QueuedCommand(command=command, inbox_id=entry.id))
        return bool(entries)

    async def _decode(self, driven: driven_run.DrivenRun, entry: api.QueuedCommand) -> commands.Command:
        """Return the command; a tick for one that cannot be carried out (any more), so that it leaves the store.

        Its sender checked it, too; what has changed since then is visible in the log. StoreError (the store has no room
        for a value) says nothing about the command, which stays queued.
        """
        now = self._now()
        try:
            command = await command_codec.decode_command(self._store, driven.state, entry.body, now)
            if isinstance(command, commands.AnswerApproval) and input_checks.goes_on(driven.state, command):
                self._check_answerable(driven.state)
        except errors.OpenSkeloError as error:
            if node_inputs.is_store_trouble(error):
                raise
            return commands.Tick(at=now)
        return command

    def _check_answerable(self, state: Run) -> None:
        """Raise InvalidInput if the run could not go on here: the answer would be used up, and the run would fail.

        The sender of the answer cannot know that: its environment may be another one.
        """
        try:
            pinning.check_remaining(state, self._performer)
        except errors.InvalidInput as error:
            _LOG.warning("an answer to run %s is not taken: %s %s", state.id, error.code, error.message)
            raise

    def wake_waiters(self) -> None:
        """Wake the tasks that wait for another process."""
        driven_run.wake(self._waiters)

    async def wait_for_other_process(self) -> None:
        """Wait until another process has changed the store (ENGINE_CLOSED when this one stops)."""
        if not self._is_closed:
            await driven_run.wait_in(self._waiters)
        if self._is_closed:
            raise closed()

    def close(self) -> None:
        """Fail the tasks that wait: no driver polls the store any more."""
        self._is_closed = True
        self.wake_waiters()


def closed() -> errors.OpenSkeloError:
    """Return the error for callers of an engine that was closed."""
    return errors.OpenSkeloError("the engine was closed", code="ENGINE_CLOSED", hint="resume the run in another one")
