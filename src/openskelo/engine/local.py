"""The local engine: start, follow, answer, resume and cancel runs, driven by this process over one data dir."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Self

from openskelo import errors
from openskelo.engine import (
    beginning,
    door,
    driver,
    holding,
    loading,
    mail,
    orders,
    pinning,
    records,
    stopped,
    watching,
    words,
)
from openskelo.executors import attempt, calling, keeping, task
from openskelo.kernel import commands, definition
from openskelo.kernel.json import JsonObject
from openskelo.providers import seam
from openskelo.stores import log

if TYPE_CHECKING:
    from datetime import timedelta

    from openskelo.engine import fork_items, graphs, retention

#: Hears a piece of what a model says for an attempt.
OnText = Callable[[task.Task, str], None]


class Engine(records.Records):
    """Drives runs in this process. An async context manager; `open` gives one over a project's data dir."""

    def __init__(
        self,
        project: task.Project,
        store: log.Log,
        performer: attempt.Performer,
        *,
        cache: bool = True,
    ) -> None:
        super().__init__(project, store)
        self.performer = performer
        self._listeners: list[OnText] = []
        self._no_cache = not cache
        self._driver = driver.Driver(store, performer, cache=cache)
        self._pins = pinning.Pins()
        #: What this process drives, for whoever keeps runs going (`keeper`).
        self.holding = holding.Holding(store, self._driver, performer, self._pins)
        self._beginning = beginning.Beginning(store, self._driver, performer, self._pins)
        self._orders = orders.Orders(store, self._driver, self.holding)
        self._watching = watching.Watching(store, self._driver)

    @classmethod
    async def open(  # noqa: PLR0913  each says what the engine works with, and has a default
        cls,
        project: task.Project,
        *,
        store: log.Log | None = None,
        handlers: Mapping[str, calling.Handler] | None = None,
        provider: seam.Provider | None = None,
        on_text: OnText | None = None,
        cache: bool = True,
        processes: int = 1,
    ) -> Self:
        """An engine that drives: on the project's data dir, or on another store.

        Models are those of `provider`, else the project's. `on_text` hears what they say as they say it; what it hears
        is not in the log. Without `cache` the work of nodes that say `cache: true` is done, although its result is
        known, and what it comes to is known from then on; in the runs that begin here also when others go on with them.
        With several `processes` others drive runs beside this one: they open the data dir and import the handlers
        themselves (InvalidInput ENGINE_PROCESSES for another `store`, a `provider`, or a handler that cannot be
        imported).
        """
        packed = None
        if processes != 1:
            from openskelo.engine.fleet import channel, mates  # noqa: PLC0415  few engines have any

            mates.check(processes, project, store, provider)
            level = logging.getLogger().level
            packed = channel.pack(channel.Kit(project=project, handlers=handlers or {}, cache=cache, log_level=level))
        if store is None:
            from openskelo.stores import datadir  # noqa: PLC0415  a caller with its own store needs no SQLite

            store = datadir.open_log(project.data_dir)
        listeners: list[OnText] = [] if on_text is None else [on_text]

        def tell(of: task.Task, text: str) -> None:
            for listener in tuple(listeners):
                listener(of, text)

        performer = attempt.Performer(
            project=project, blobs=store, local_handlers=handlers, provider=provider, on_text=tell
        )
        engine = cls(project, store, performer, cache=cache)
        engine._listeners = listeners
        engine._driver.start()
        if packed is not None:
            await engine._open_fleet(packed, processes - 1, tell)
        return engine

    async def _open_fleet(self, packed: bytes, count: int, overhear: OnText) -> None:
        from openskelo.engine.fleet import mates  # noqa: PLC0415  few engines have any

        fleet = mates.Fleet(self.store, self.holding.take_over, overhear)
        try:
            await fleet.open(count, packed)
        except BaseException:
            await self.close()
            raise
        self._beginning.fleet = fleet

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Stop driving and let go of the store. Runs that were under way can be resumed."""
        self._driver.check_home()
        async with contextlib.AsyncExitStack() as closing:  # all of it, also for one who would not wait so long
            closing.push_async_callback(self.store.close)
            closing.push_async_callback(self.performer.close)
            closing.push_async_callback(self._driver.stop)
            if self._beginning.fleet is not None:
                closing.push_async_callback(self._beginning.fleet.close)

    # -- beginning ----------------------------------------------------------------------------------------------------

    async def start(  # noqa: PLR0913  each says how a run begins, and has a default
        self,
        workflow: definition.Workflow,
        inputs: JsonObject | None = None,
        *,
        by: str = "python",
        mode: words.Mode = "AUTO",
        global_mode: words.GlobalMode = "IMPLEMENTATION",
        run_id: str | None = None,
        contexts: JsonObject | None = None,
    ) -> str:
        """Begin a run and give its id; it is durable when this returns (InvalidInput: nothing was started).

        `contexts` are values for names that a plan uses (`ctx:…`, `snap:…`), in place of those the project would find.
        A caller who may have to ask twice brings the `run_id`; a run that has begun is not begun again (Refused
        RUN_EXISTS).
        """
        if run_id is not None:
            await self._beginning.check_new(run_id)
        pin = self._beginning.pin(workflow)
        values = pin.inputs.complete(inputs or {}, self.project)
        if pin.inputs.referring:
            await door.check_artifacts(pin.inputs.referring, values, self.store)
        surroundings = None
        if contexts or workflow.plan is not None:
            from openskelo.engine import contexts as known  # noqa: PLC0415  only plans have any

            surroundings = await known.read(self.store, self.project, workflow, contexts or {})
        command = commands.CreateRun(
            at=self._driver.now(),
            definition=pin.name,
            inputs=await keeping.store(self.store, values),
            by=by,
            mode=words.mode(mode),
            global_mode=words.global_mode(global_mode),
            contexts=surroundings,
            no_cache=self._no_cache,
        )
        return await self._beginning.create(pin, command, run_id)

    async def fork(  # noqa: PLR0913  each says how a run begins, and has a default
        self,
        run_id: str,
        *,
        node: str,
        inputs: JsonObject | None = None,
        workflow: definition.Workflow | None = None,
        items: fork_items.Again | None = None,
        by: str = "python",
        new_id: str | None = None,
    ) -> str:
        """Begin a new run from `node` of another one; what came before it is kept, `inputs` change it.

        Of a foreach that did not come to its end, items that were done are taken over if nothing is changed for them.
        `items` says which are done again: `all`, `unfinished`, or some indexes beside. `new_id` is `run_id` of `start`.
        """
        from openskelo.engine import forking  # noqa: PLC0415  most runs begin anew

        if new_id is not None:
            await self._beginning.check_new(new_id)
        if workflow is not None:
            pinning.check(workflow)
        parent = (await self._read(run_id)).run
        wish = forking.Wish(node=node, changes=inputs or {}, workflow=workflow, anew=self._no_cache, items=items)
        plan = await forking.plan(self.store, parent, wish, self.project, self.performer)
        pin = self._beginning.pin(plan.workflow)
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
        return await self._beginning.create(pin, command, new_id)

    # -- going on -----------------------------------------------------------------------------------------------------

    async def resume(self, run_id: str, *, by: str = "python", only: str | None = None) -> None:
        """Drive a run again: after a crash, a suspension or a pause (Busy while another process drives it).

        InvalidInput, and the run is left as it was, when a model that it still has to ask is not there. With `only` a
        run that was paused for another reason stays paused.
        """
        try:
            actor = await self.holding.take(run_id, going_on=True)
        except errors.Busy:
            if self._beginning.fleet is None or not self._beginning.fleet.drives(run_id):
                raise
            if (paused := (await self._read(run_id)).run.paused) is not None and only in (None, paused):
                await self._orders.post(run_id, mail.resume_body(by))
            actor = None
        if actor is not None and actor.run.paused is not None and only in (None, actor.run.paused):
            await self._driver.submit(actor, commands.ResumeRun(at=self._driver.now(), by=by))
        await stopped.forget(self.store, run_id)

    async def stand_by(self) -> None:
        """Let the other processes of this engine, if it has any, keep the runs of the data dir going (`keeper`)."""
        if self._beginning.fleet is not None:
            await self._beginning.fleet.keep()

    async def elsewhere(self) -> None:
        """Wait until another process has changed the store, or this one has taken up another run."""
        await self._driver.elsewhere()

    def is_under_way(self, run_id: str, attempt: tuple[str, int, int, int | None]) -> bool:
        """Whether this process is at an attempt of a run: of a node key, its visit, its number, and its item if any.

        Of a run that another process of this engine drives it is not known which attempts are over.
        """
        if self._beginning.fleet is not None and self._beginning.fleet.drives(run_id):
            return True
        actor = self._driver.roster.get(run_id)
        node, visit, number, item = attempt
        flight = None if actor is None else actor.run.in_flight.get((node, visit, item or 0))
        return flight is not None and flight.attempt == number

    async def wait(self, run_id: str) -> JsonObject:
        """Wait until the run has ended or only a person can move it; gives its document (see `show`).

        It may be driven here or elsewhere. The document of a run that nobody drives is given at once, as it is:
        `resume` takes it up. StoreError when this process had to let go of the run: the same helps.
        """
        self._driver.check_home()
        if self._beginning.fleet is not None:
            told = await self._beginning.fleet.wait(run_id)
            if told is not None:
                return told
        return await self._watching.settled(run_id)

    async def suspend(self, *, by: str = "python") -> None:
        """Stop cleanly: nothing new starts, `once` effects finish, other work is cut and done again on resume."""
        if self._beginning.fleet is not None:
            await asyncio.gather(self._beginning.fleet.suspend(by), self.holding.suspend(by))
        await self.holding.suspend(by)  # with what a process that was lost meanwhile drove

    async def pause(self, run_id: str, *, by: str = "python", reason: str = "operator") -> None:
        """Let nothing new start in a run, wherever it is driven; what is under way ends (Refused when it has ended)."""
        command = commands.PauseRun(at=self._driver.now(), by=by, reason=reason)
        await self._orders.give(run_id, command, mail.pause_body(by, reason))

    async def change(
        self,
        run_id: str,
        *,
        mode: words.Mode | None = None,
        global_mode: words.GlobalMode | None = None,
        by: str = "python",
    ) -> None:
        """Change a run's modes, wherever it is driven; None leaves one as it is (Refused when it has ended)."""
        mode = None if mode is None else words.mode(mode)
        global_mode = None if global_mode is None else words.global_mode(global_mode)
        command = commands.ChangeMode(at=self._driver.now(), by=by, mode=mode, global_mode=global_mode)
        await self._orders.give(run_id, command, mail.mode_body(by, mode, global_mode))

    async def go_on(self, run_id: str, *, by: str = "python") -> None:
        """As `resume`, wherever the run is driven (Refused when it has ended)."""
        row = await self.store.row(run_id)
        if row is not None and row.ending is not None:
            raise errors.Refused("the run has ended", code="RUN_ENDED", hint="fork it to go on from one of its nodes")
        try:
            await self.resume(run_id, by=by)
        except errors.Busy:
            await self._orders.post(run_id, mail.resume_body(by))

    async def cancel(self, run_id: str, *, by: str = "python", reason: str | None = None) -> None:
        """End a run and everything under way in it (Refused when it has ended)."""
        command = commands.CancelRun(at=self._driver.now(), by=by, reason=reason)
        await self._orders.give(run_id, command, mail.cancel_body(by, reason))

    def graph(self, run_id: str) -> graphs.Graph:
        """The run as a live graph, to which nodes, edges and messages may be given."""
        from openskelo.engine import graphs  # noqa: PLC0415  few runs are live graphs

        return graphs.Graph(self, run_id)

    async def order(self, run_id: str, make: graphs.Make) -> None:
        """Give a live graph the order that `make` makes for it as it is now (Refused, NotFound, InvalidInput)."""
        await self._orders.give_graph(run_id, make)

    # -- people -------------------------------------------------------------------------------------------------------

    async def answer(
        self,
        approval_id: str,
        *,
        status: commands.Answer,
        values: JsonObject | None = None,
        reason: str | None = None,
        by: str = "python",
        leave: bool = False,
    ) -> str:
        """Answer an open approval; gives the id of its run, which goes on (InvalidInput, Refused, NotFound).

        `status` is `approved`, `denied` or `modified` (with the `values` that take the place of what was proposed).
        With `leave` it goes on in the process that drives it or stands by, and here only if there is none.
        """
        return await self._orders.answer(approval_id, door.said(status, by, values, reason), leave=leave)

    def overhear(self, listener: OnText) -> Callable[[], None]:
        """Let `listener` hear what models say, from now until the returned function is called."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    # -- looking after the data dir -----------------------------------------------------------------------------------

    async def prune(
        self,
        run_ids: Sequence[str] = (),
        *,
        older_than: timedelta | None = None,
        keep: int | None = None,
        delete: bool = False,
        dry_run: bool = False,
    ) -> retention.Pruned:
        """Take what went through these runs out of the data dir, or through all but the newest and the last ones.

        Their records still verify; with `delete` they go altogether. Runs that have not ended are left alone, those
        that `older_than` or `keep` choose without a word. NotFound; InvalidInput USAGE when nothing says which runs.
        """
        from openskelo.engine import retention  # noqa: PLC0415  few callers prune

        choice = retention.Choice(older_than=older_than, keep=keep)
        chosen = await retention.choose(self.store, run_ids, choice)
        pruned = await retention.prune(self.store, chosen, self.project.data_dir, delete=delete, dry_run=dry_run)
        for run_id in chosen:
            self.forget(run_id)
        return pruned

    # -- reading ------------------------------------------------------------------------------------------------------

    async def _read(self, run_id: str) -> loading.Loaded:
        return await loading.load(self.store, run_id)

    async def show(self, run_id: str) -> JsonObject:
        """The run's document, from its log (NotFound)."""
        return await self._watching.show(run_id)

    def forget(self, run_id: str) -> None:
        """Read an ended run from its log from now on: it was pruned or deleted."""
        self._driver.roster.forget(run_id)
        if self._beginning.fleet is not None:
            self._beginning.fleet.forget(run_id)

    def follow(self, run_id: str, *, after: int = 0, until_end: bool = True) -> AsyncIterator[JsonObject]:
        """The run's events after seq `after`, as in its events.jsonl: those there are, then live (NotFound).

        It ends with the run, at once where that has ended; without `until_end` with what there is.
        """
        return self._watching.follow(run_id, after=after, until_end=until_end)
