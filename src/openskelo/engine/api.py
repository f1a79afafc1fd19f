"""The Engine Protocol that the command line and the server use, and `open_engine`, which makes the local engine.

An engine takes commands for runs and sees to it that they are driven. It is composed of small parts:

    RunControl   start, fork, resume, pause, cancel and change runs
    RunWatch     show a run, wait for it, follow its events, say which process drives it
    AttemptWatch listen to the attempts under way here
    Approvals    answer what runs ask
    LiveGraphs   change a run that is a live graph
    Hosting      drive what is left, suspend, close: for the process that the engine lives in

Reading is not the engine's: `engine.history` reads logs, listings and blobs (`openskelo.history`). So another engine
(one that carries runs to other hosts, say) has to take commands and drive runs; it shares the log and all its readers.

`open_engine` makes the local engine (`engine/local.py`). No other module of `cli` or `server` names it. How to add
another engine: docs/extending/engine.md; `tests/engine/test_engine_conformance.py` has the checks.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias

from openskelo.engine.commands import input_checks
from openskelo.executors.attempt import running_attempt
from openskelo.executors.handlers import invocation
from openskelo.history import reader
from openskelo.kernel import commands, definition
from openskelo.kernel.json import JsonObject
from openskelo.project import Project
from openskelo.providers import protocol
from openskelo.stores import api

if TYPE_CHECKING:
    from datetime import timedelta

    from openskelo.engine import forking
    from openskelo.engine.commands import graph_commands
    from openskelo.engine.takeover import supervisor
    from openskelo.history.prune import Pruned
    from openskelo.history.run_document import ApprovalDocument, RunDocument

#: Hears a piece of what a model says for an attempt.
OnText: TypeAlias = Callable[[running_attempt.AttemptRequest, str], None]


class RunControl(Protocol):
    """Commands for runs. What a call changes is durable when it returns. Refused leaves the run as it was."""

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
        """Start a run and return its id. Raise InvalidInput, or Refused RUN_EXISTS for a `run_id` that is taken."""
        ...

    async def fork(  # noqa: PLR0913  as above
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
        """Start a new run from a node of another run and return its id."""
        ...

    async def resume(self, run_id: str, *, by: str = "python", only: str | None = None) -> None:
        """Drive a run in this process and end its pause, with `only` a pause for that reason (Busy, NotFound)."""
        ...

    async def go_on(self, run_id: str, *, by: str = "python") -> None:
        """Resume a run in the process that drives it, or here. Raise Refused RUN_ENDED if it has ended."""
        ...

    async def pause(self, run_id: str, *, by: str = "python", reason: str = "operator", now: bool = False) -> None:
        """Start nothing new in a run; attempts under way finish."""
        ...

    async def change(
        self,
        run_id: str,
        *,
        mode: input_checks.Mode | None = None,
        global_mode: input_checks.GlobalMode | None = None,
        by: str = "python",
    ) -> None:
        """Change a run's modes; None leaves one as it is."""
        ...

    async def cancel(self, run_id: str, *, by: str = "python", reason: str | None = None) -> None:
        """End a run and its attempts under way."""
        ...


class RunWatch(Protocol):
    """Watch a run, whichever process drives it. Every method raises NotFound for an unknown run."""

    async def show(self, run_id: str) -> RunDocument:
        """Return the run's document as it is now."""
        ...

    async def wait(self, run_id: str) -> RunDocument:
        """Return the run's document once it has ended, only a person can move it, or no process drives it."""
        ...

    def follow(self, run_id: str, *, after: int = 0, until_end: bool = True) -> AsyncIterator[JsonObject]:
        """Yield the run's events after seq `after`, with `until_end` live until the run ends."""
        ...

    async def is_driven_elsewhere(self, run_id: str) -> bool:
        """True if another process drives the run, or has a supervisor that would."""
        ...

    def is_driving(self, run_id: str) -> bool:
        """True if this process drives the run."""
        ...


class AttemptWatch(Protocol):
    """Watch the attempts that this process performs."""

    def listen(self, listener: OnText) -> Callable[[], None]:
        """Call `listener` with the text that models give, until the returned function is called."""
        ...

    def listen_status(self, listener: OnText) -> Callable[[], None]:
        """Call `listener` with what work says it is doing, until the returned function is called."""
        ...

    def is_under_way(self, run_id: str, attempt: tuple[str, int, int, int | None]) -> bool:
        """True if this process performs the attempt: node key, visit, number, item."""
        ...

    def logs_so_far(self, run_id: str, node: str) -> list[JsonObject]:
        """Return what the node's attempts under way here have logged so far: `{visit, attempt, item, text}` of each."""
        ...


class Approvals(Protocol):
    """The part of an engine that takes the answers to approvals."""

    async def approvals(self, run_id: str | None = None) -> list[ApprovalDocument]:
        """Return the open approvals of all runs or of one, the oldest first."""
        ...

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
        """Answer an open approval and return the id of its run, which goes on.

        Raise NotFound for an unknown approval, InvalidInput for a wrong answer, Refused if it cannot be answered now.
        """
        ...


class LiveGraphs(Protocol):
    """Runs whose nodes and edges people change while they run."""

    def graph(self, run_id: str) -> graph_commands.Graph:
        """Return the run as a live graph."""
        ...


class Hosting(Protocol):
    """The engine as a part of its process."""

    def supervisor(self) -> supervisor.Supervisor:
        """Return what drives the runs of the data dir that no process drives."""
        ...

    async def suspend(self, *, by: str = "python") -> None:
        """Pause every run driven here: `once` effects finish, other attempts are cut and retried on resume."""
        ...

    async def prune(
        self,
        run_ids: Sequence[str] = (),
        *,
        older_than: timedelta | None = None,
        keep: int | None = None,
        delete: bool = False,
        dry_run: bool = False,
    ) -> Pruned:
        """Remove the values of ended runs from the data dir; with `delete` the runs themselves."""
        ...

    def check_driving(self) -> None:
        """Raise the error that ended this engine's driver, if one has: it drives no run any more."""
        ...

    async def close(self) -> None:
        """Stop driving and close the store. Runs that were under way can be resumed; questions stay open."""
        ...


class Engine(RunControl, RunWatch, AttemptWatch, Approvals, LiveGraphs, Hosting, Protocol):
    """Everything that the command line and the server need of an engine."""

    @property
    def project(self) -> Project:
        """Return the project whose runs these are."""
        ...

    @property
    def history(self) -> reader.HistoryReader:
        """Return the reader of the runs' logs."""
        ...


@contextlib.asynccontextmanager
async def open_engine(
    project: Project,
    *,
    store: api.Store | None = None,
    handlers: Mapping[str, invocation.Handler] | None = None,
    provider: protocol.Provider | None = None,
    cache: bool = True,
    share_runs: bool = False,
) -> AsyncGenerator[Engine]:
    """Open the engine of a project, and close it at the end. The parameters are those of `openskelo.Engine.open`."""
    from openskelo.engine import local  # noqa: PLC0415  a command that opens no engine does not load one

    engine = await local.Engine.open(
        project, store=store, handlers=handlers, provider=provider, cache=cache, share_runs=share_runs
    )
    async with engine:
        yield engine
