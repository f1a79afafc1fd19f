"""The local engine: start, follow, answer, resume and cancel runs, driven by this process over one data dir.

`Engine` only joins its parts: `RunStarter` starts runs, `CommandRouter` brings commands to the driver of a run,
`Ownership` claims and releases runs, `RunWatcher` shows and follows them, and the `Driver` does the work. Reading is
inherited from `HistoryReader`.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Literal, Self

from openskelo import errors
from openskelo.engine import pinning, run_start, waiting
from openskelo.engine.commands import command_router, input_checks
from openskelo.engine.drive import driven_run, driver
from openskelo.engine.takeover import handover, ownership
from openskelo.executors import stored_values
from openskelo.executors.attempt import performer as attempt_performer
from openskelo.executors.attempt import running_attempt
from openskelo.executors.handlers import invocation
from openskelo.history import loading, reader
from openskelo.kernel import commands, definition
from openskelo.kernel.json import JsonObject
from openskelo.project import Project
from openskelo.providers import protocol
from openskelo.stores import api, guarded

if TYPE_CHECKING:
    from datetime import timedelta

    from openskelo.engine import forking
    from openskelo.engine.commands import graph_commands
    from openskelo.engine.takeover import supervisor
    from openskelo.history.prune import Pruned
    from openskelo.history.run_document import RunDocument

#: How long `resume` waits for a lock that a dead driver's child may still hold.
_DEAD_DRIVER_SECONDS = 0.5
#: Called with each piece of text that a model gives for an attempt.
OnText = Callable[[running_attempt.AttemptRequest, str], None]


class Engine(reader.HistoryReader):
    """Drives runs in this process. An async context manager; `Engine.open` makes one for a project."""

    def __init__(
        self,
        project: Project,
        store: api.Store,
        performer: attempt_performer.Performer,
        *,
        cache: bool = True,
        share_runs: bool = False,
    ) -> None:
        super().__init__(project, store)
        self.performer = performer
        self._listeners: list[OnText] = []
        self._status_listeners: list[OnText] = []
        self._no_cache = not cache
        self._driver = driver.Driver(store, performer, cache=cache)
        self._pins = pinning.Pins()
        #: The runs that this process drives, for its supervisor.
        self.ownership = ownership.Ownership(store, self._driver, performer, self._pins)
        self._starter = run_start.RunStarter(
            store, self._driver, performer, self._pins, self.ownership if share_runs else None
        )
        self._router = command_router.CommandRouter(store, self._driver, self.ownership)
        self._watcher = waiting.RunWatcher(store, self._driver, share_runs=share_runs)
        self._recovering: supervisor.Supervisor | None = None

    @classmethod
    async def open(  # noqa: PLR0913  each says what the engine works with, and has a default
        cls,
        project: Project,
        *,
        store: api.Store | None = None,
        handlers: Mapping[str, invocation.Handler] | None = None,
        provider: protocol.Provider | None = None,
        on_text: OnText | None = None,
        cache: bool = True,
        share_runs: bool = False,
        recover: bool = False,
    ) -> Self:
        """Return an engine that drives runs of the project's data dir, or of another `store`.

        Models are those of `provider`, else the project's. `on_text` is called with their text as it arrives; the log
        does not hold these pieces. Without `cache` nodes with `cache: true` do their work although a result is cached,
        and the new result replaces it; runs started here keep that when another process goes on with them.

        With `share_runs` (for a server that has workers) new runs are left to other processes while this one is busy
        enough; a supervisor of this process or of another one takes them up.

        With `recover` the engine also drives runs of the data dir that no process drives: after a crash or the end of
        another engine, and after an approval was answered or has expired. `close` then suspends its
        runs, and the next engine with `recover` goes on with them.
        """
        if store is None:
            from openskelo.stores import factory  # noqa: PLC0415  a caller with its own store needs no SQLite

            store = factory.open_store(project)
        store = guarded.guard(store)
        listeners: list[OnText] = [] if on_text is None else [on_text]

        def call_listeners(request: running_attempt.AttemptRequest, text: str) -> None:
            for listener in tuple(listeners):
                listener(request, text)

        status_listeners: list[OnText] = []

        def call_status_listeners(request: running_attempt.AttemptRequest, text: str) -> None:
            for listener in tuple(status_listeners):
                listener(request, text)

        performer = attempt_performer.Performer(
            project=project,
            blobs=store,
            local_handlers=handlers,
            provider=provider,
            on_text=call_listeners,
            on_status=call_status_listeners,
        )
        engine = cls(project, store, performer, cache=cache, share_runs=share_runs)
        engine._listeners, engine._status_listeners = listeners, status_listeners
        engine._driver.start()
        if recover:
            engine._recovering = engine.supervisor()
            try:
                await engine._recovering.start()
            except BaseException:
                await engine.close()
                raise
        return engine

    @property
    def history(self) -> reader.HistoryReader:
        """Return the reader of the runs' logs: an engine is a reader that also drives."""
        return self

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Stop driving and close the store. Runs that were under way can be resumed; questions stay open."""
        self._driver.check_loop()
        async with contextlib.AsyncExitStack() as closing:  # all of them, even if the caller is cancelled
            closing.push_async_callback(self.store.close)
            closing.push_async_callback(self.performer.close)
            closing.push_async_callback(self._driver.stop)
            closing.push_async_callback(self.ownership.cut_waiting_attempts)
            if self._recovering is not None:
                closing.push_async_callback(self._recovering.stop)

    # -- new runs -----------------------------------------------------------------------------------------------------

    async def start(  # noqa: PLR0913  each says how a run starts, and has a default
        self,
        workflow: definition.Workflow,
        inputs: JsonObject | None = None,
        *,
        by: str = "python",
        mode: input_checks.Mode = "AUTO",
        global_mode: input_checks.GlobalMode = "IMPLEMENTATION",
        run_id: str | None = None,
        contexts: JsonObject | None = None,
    ) -> str:
        """Start a run and return its id; the run is durable then. Raise InvalidInput before anything is started.

        `contexts` are values for names that a plan uses (`ctx:…`, `snap:…`), in place of the project's. A caller that
        may have to repeat the call chooses the `run_id`: a run that exists is not started again (Refused RUN_EXISTS).
        """
        if run_id is not None:
            await self._starter.check_new(run_id)
        pin = self._starter.pin(workflow)
        values = pin.inputs.complete(inputs or {}, self.project)
        if pin.inputs.referring:
            await input_checks.check_artifacts(pin.inputs.referring, values, self.store)
        if pin.file_readers:
            await pinning.check_files(pin.file_readers, values, self.performer)
        plan_contexts = None
        if contexts or workflow.plan is not None:
            plan_contexts = await run_start.read_contexts(self.store, self.project, workflow, contexts or {})
        command = commands.CreateRun(
            at=self._driver.now(),
            definition=pin.name,
            inputs=await stored_values.store(self.store, values),
            by=by,
            mode=input_checks.run_mode(mode),
            global_mode=input_checks.global_mode(global_mode),
            contexts=plan_contexts,
            no_cache=self._no_cache,
        )
        return await self._starter.create(pin, command, run_id)

    async def fork(  # noqa: PLR0913  each says how a run starts, and has a default
        self,
        run_id: str,
        *,
        node: str,
        inputs: JsonObject | None = None,
        workflow: definition.Workflow | None = None,
        items: forking.ItemsToRedo | None = None,
        by: str = "python",
        new_id: str | None = None,
    ) -> str:
        """Start a new run from `node` of another run and return its id; results before the node are kept.

        `inputs` change inputs of the node or of the run. Finished items of an unfinished foreach are kept if their work
        has not changed. `items` says which items are done again: `all`, `unfinished`, or the unfinished ones and some
        indexes. `new_id` is as `run_id` of `start`.
        """
        from openskelo.engine import forking  # noqa: PLC0415  few runs are forks

        if new_id is not None:
            await self._starter.check_new(new_id)
        if workflow is not None:
            loading.check_workflow(workflow)
        parent = await self.load_run(run_id)
        request = forking.ForkRequest(
            node=node, changes=inputs or {}, workflow=workflow, no_reuse=self._no_cache, items=items
        )
        plan = await forking.plan_fork(self.store, parent, request, self.project, self.performer)
        pin = self._starter.pin(plan.workflow)
        command = commands.CreateRun(
            at=self._driver.now(),
            definition=pin.name,
            inputs=plan.inputs,
            by=by,
            mode=parent.mode,
            global_mode=parent.global_mode,
            parent=plan.parent,
            kept=plan.kept,
            contexts=plan.contexts,
            variables=plan.variables,
            no_cache=self._no_cache or parent.no_cache,
            unjudged=plan.unjudged,
            items=plan.items,
        )
        return await self._starter.create(pin, command, new_id)

    # -- runs under way -----------------------------------------------------------------------------------------------

    async def resume(self, run_id: str, *, by: str = "python", only: str | None = None) -> None:
        """Drive a run again: after a crash, a suspension or a pause (Busy while another process drives it).

        Raises InvalidInput, and leaves the run as it was, when a model, a handler or a secret that the run still needs
        is missing here. With `only` a run that was paused for another reason stays paused.
        """
        run = await self._take_from_dead_driver(run_id)
        if run is not None and run.state.paused is not None and only in (None, run.state.paused):
            await self._driver.submit(run, commands.ResumeRun(at=self._driver.now(), by=by))
        await handover.forget_stopped(self.store, run_id)

    async def _take_from_dead_driver(self, run_id: str) -> driven_run.DrivenRun | None:
        """Return the driven run; None if it has ended (Busy if another process still drives it after a moment).

        A driver that is killed while it starts a child seems to live until that child runs its program: until then the
        child has the dead driver's lock.
        """
        loop = asyncio.get_running_loop()
        give_up_at = loop.time() + _DEAD_DRIVER_SECONDS
        while True:
            try:
                return await self.ownership.take(run_id, check_needs=True)
            except errors.Busy:
                if loop.time() >= give_up_at:
                    raise
            await asyncio.sleep(0.02)

    def supervisor(self) -> supervisor.Supervisor:
        """Return what drives the runs of the data dir that no process drives."""
        from openskelo.engine.takeover import supervisor  # noqa: PLC0415  only servers and workers have one

        return supervisor.Supervisor(self)

    def check_driving(self) -> None:
        """Raise the error that ended this engine's driver, if one has: it drives no run any more."""
        self._driver.check_driving()

    def is_driving(self, run_id: str) -> bool:
        """True if this process drives the run."""
        return self.ownership.is_driving(run_id)

    async def is_driven_elsewhere(self, run_id: str) -> bool:
        """True if another process drives the run, or has a supervisor that would."""
        is_driven = await self.store.is_driver_alive(run_id)
        return is_driven or handover.has_supervisor(self.project.data_dir)

    async def wait_for_other_process(self) -> None:
        """Wait until another process has changed the store, or this one has taken up another run."""
        self._driver.check_loop()
        await self._driver.inbox.wait_for_other_process()

    def is_under_way(self, run_id: str, attempt: tuple[str, int, int, int | None]) -> bool:
        """True if this process performs the attempt: node key, visit, number, and the item of a foreach or None."""
        run = self._driver.runs.get(run_id)
        node, visit, number, item = attempt
        under_way = None if run is None else run.state.in_flight.get((node, visit, item or 0))
        return under_way is not None and under_way.attempt == number

    def logs_so_far(self, run_id: str, node: str) -> list[JsonObject]:
        """Return what attempts of the node that this process performs now have logged: `{visit, attempt, item, text}`.

        The log of an attempt that has ended is an artifact.
        """
        run = self._driver.runs.get(run_id)
        return [] if run is None else run.logs_so_far(node)

    async def wait(self, run_id: str) -> RunDocument:
        """Return the run's document (see `show`) once it has ended or only a person can move it.

        The run may be driven here or elsewhere. If no process drives it, this returns at once: `resume` drives it.
        Raises StoreError when this process had to drop the run; `resume` helps then, too.
        """
        return await self._watcher.wait(run_id)

    async def suspend(self, *, by: str = "python") -> None:
        """Pause every run driven here: `once` effects finish, other attempts are cut and retried on resume."""
        await self.ownership.suspend(by)

    async def pause(self, run_id: str, *, by: str = "python", reason: str = "operator", now: bool = False) -> None:
        """Start nothing new in a run, whichever process drives it. Raise Refused if it has ended.

        Attempts under way finish; with `now` they are cut, and done again when the run is resumed, except those whose
        effect happens once.
        """
        command = commands.PauseRun(at=self._driver.now(), by=by, reason=reason)
        await self._router.send(run_id, command)
        if not now:
            return
        run = await self.load_run(run_id)
        for attempt in tuple(run.in_flight.values()):
            if run.workflow.nodes[attempt.node].effect == "once":
                continue
            cut = commands.ReportInterrupted(
                at=self._driver.now(),
                node=attempt.node,
                visit=attempt.visit,
                attempt=attempt.attempt,
                item=attempt.item,
            )
            with contextlib.suppress(errors.Refused):  # it has finished meanwhile
                await self._router.send(run_id, cut)

    async def change(
        self,
        run_id: str,
        *,
        mode: input_checks.Mode | None = None,
        global_mode: input_checks.GlobalMode | None = None,
        by: str = "python",
    ) -> None:
        """Change a run's modes, whichever process drives it; None changes nothing. Raise Refused if it has ended."""
        mode = None if mode is None else input_checks.run_mode(mode)
        global_mode = None if global_mode is None else input_checks.global_mode(global_mode)
        command = commands.ChangeMode(at=self._driver.now(), by=by, mode=mode, global_mode=global_mode)
        await self._router.send(run_id, command)

    async def go_on(self, run_id: str, *, by: str = "python") -> None:
        """Resume a run in the process that drives it, or here. Raise Refused if it has ended."""
        row = await self.store.find_run(run_id)
        if row is not None and row.ending is not None:
            raise errors.Refused("the run has ended", code="RUN_ENDED", hint="fork it to go on from one of its nodes")
        try:
            await self.resume(run_id, by=by)
        except errors.Busy:
            await self._router.send_to_other_process(run_id, commands.ResumeRun(at=self._driver.now(), by=by))

    async def cancel(self, run_id: str, *, by: str = "python", reason: str | None = None) -> None:
        """End a run and its attempts under way, whichever process drives it. Raise Refused if it has ended."""
        command = commands.CancelRun(at=self._driver.now(), by=by, reason=reason)
        await self._router.send(run_id, command)

    def graph(self, run_id: str) -> graph_commands.Graph:
        """Return the run as a live graph, whose nodes and edges can be changed and which takes messages."""
        from openskelo.engine.commands import graph_commands  # noqa: PLC0415  few runs are live graphs

        return graph_commands.Graph(self, run_id)

    async def send_graph_command(self, run_id: str, make: command_router.MakeGraphCommand) -> None:
        """Carry out the command that `make` returns for the live graph (Refused, NotFound, InvalidInput)."""
        await self._router.send_graph(run_id, make)

    # -- approvals ----------------------------------------------------------------------------------------------------

    async def answer(  # noqa: PLR0913 -- by keyword, and few callers need all
        self,
        approval_id: str,
        *,
        status: commands.Answer,
        modified_args: JsonObject | None = None,
        reason: str | None = None,
        by: str = "python",
        remember: Literal["turn", "run"] | None = None,
        leave: bool = False,
    ) -> str:
        """Answer an open approval and return the id of its run, which goes on. Raise InvalidInput, Refused or NotFound.

        `status` is `approved`, `denied` or `modified` (with `modified_args` that replace the proposed ones).
        `remember` allows an agent's calls like the one that was asked about, until its turn or the run ends. With
        `leave` the run goes on in the process that drives it or has a supervisor, and here only without such a process.
        """
        answer = input_checks.read_answer(status, by, modified_args, reason, remember)
        return await self._router.answer(approval_id, answer, leave=leave)

    def listen(self, listener: OnText) -> Callable[[], None]:
        """Call `listener` with the text that models give, until the returned function is called."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def listen_status(self, listener: OnText) -> Callable[[], None]:
        """Call `listener` with what work says it is doing, until the returned function is called."""
        self._status_listeners.append(listener)
        return lambda: self._status_listeners.remove(listener)

    # -- the data dir -------------------------------------------------------------------------------------------------

    async def prune(
        self,
        run_ids: Sequence[str] = (),
        *,
        older_than: timedelta | None = None,
        keep: int | None = None,
        delete: bool = False,
        dry_run: bool = False,
    ) -> Pruned:
        """Remove the values of ended runs from the data dir and return what was removed.

        The runs are those in `run_ids`, or all that ended longer than `older_than` ago and are not among the last
        `keep`. Their records still verify; with `delete` the runs are removed completely. Runs that have not ended are
        left alone. Raises NotFound for an unknown id, and InvalidInput (USAGE) if no argument says which runs.
        """
        from openskelo.history import prune as history_prune  # noqa: PLC0415  few callers prune

        choice = history_prune.Choice(older_than=older_than, keep=keep)
        chosen_ids = await history_prune.choose(self.store, run_ids, choice)
        return await history_prune.prune_runs(
            self.store, chosen_ids, self.project.data_dir, delete=delete, dry_run=dry_run
        )

    # -- reading ------------------------------------------------------------------------------------------------------

    async def show(self, run_id: str) -> RunDocument:
        """Return the run's document as it is now. Raise NotFound for an unknown run."""
        return await self._watcher.show(run_id)

    def follow(self, run_id: str, *, after: int = 0, until_end: bool = True) -> AsyncIterator[JsonObject]:
        """Yield the run's events after seq `after`, as the log has them, then live until the run ends.

        Without `until_end` the iterator ends with the last event that the log has now. Raise NotFound for an unknown
        run.
        """
        return self._watcher.follow(run_id, after=after, until_end=until_end)
