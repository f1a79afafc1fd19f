"""The interface between the engine and the work of nodes: work in, outputs out.

An `Executor` exists once per kind of work (`ai`, `deterministic`, `approval`, `op`, `agent`, `graph_turn`); the
registry finds it. The performer asks it for the `Work` of a node once, and then calls that work for every attempt:

    executor.check_available(node, services)           before a run starts: is everything there that the node needs?
    executor.check_inputs(node, known, services)       before a run starts: can the work be done on the known inputs?
    executor.check_present(node, services)             before a run goes on: are its files and secrets there, too?
    executor.needs_worker(node, services)              before a run begins: does its work take a worker process?
    work = executor.prepare(node, services, outputs)   once per node: parse, compile, look up
    outputs = await work(attempt)                      for every attempt: do it

The work returns its outputs, which the performer then validates and records, or it raises AttemptFailed. It is
cancelled as any coroutine is: when CancelledError arrives it stops what it has started, and raises it again. Its other
results it writes into the attempt: log lines, files, usage, streamed text. An executor never sees the
store and never writes an event.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Protocol, TypeAlias, runtime_checkable

from openskelo.executors.attempt import port_contract, running_attempt
from openskelo.executors.handlers import invocation
from openskelo.kernel import definition
from openskelo.kernel.json import JsonObject
from openskelo.project import Project
from openskelo.providers import protocol
from openskelo.structs import frozen

if TYPE_CHECKING:
    from openskelo.agents import sessions as agent_sessions
    from openskelo.executors import artifacts
    from openskelo.executors import mcp_servers as mcp
    from openskelo.executors.handlers import project_handler

#: Performs one attempt of a node: returns its outputs, not yet checked, or raises AttemptFailed.
Work: TypeAlias = Callable[[running_attempt.RunningAttempt], Awaitable[object]]


@frozen
class Services:
    """Services that all executors share: everything that work may need and that is not in its request.

    Most runs need no model, no worker processes, no MCP servers and no agents, so each of them is made when it is first
    called for.
    """

    project: Project
    local_handlers: Mapping[str, invocation.LocalHandler]
    provider: Callable[[], protocol.Provider | None]
    #: Passes streamed text to the viewers of the run.
    on_text: Callable[[running_attempt.AttemptRequest, str], None]
    project_handlers: Callable[[], project_handler.ProjectHandlers]
    mcp_servers: Callable[[], mcp.ServerPool]
    agents: Callable[[], agent_sessions.SessionPool]
    #: Passes a short text about the progress of the work.
    on_status: Callable[[running_attempt.AttemptRequest, str], None] = lambda _request, _text: None
    #: The kept files of runs; None if the engine has no log.
    artifacts: artifacts.ArtifactIndex | None = None


@runtime_checkable
class Executor(Protocol):
    """Performs one kind of work. It has no state of its own: what lives longer than an attempt is in `Services`.

    A subclass has to write `prepare`; the others have defaults for work that needs no service and no project code.
    """

    def prepare(self, node: definition.Node, services: Services, outputs: port_contract.PortContract) -> Work:
        """Return the work of `node`; raise AttemptFailed, not retryable, if it can never be done."""
        ...

    def check_available(self, node: definition.Node, services: Services) -> None:
        """Raise InvalidInput if something is missing here that `node` needs, so that no run starts only to fail."""

    def check_present(self, node: definition.Node, services: Services) -> None:
        """Raise AttemptFailed if a file or a secret that `node` needs is missing in this process.

        The engine calls this before it resumes a run, not when a run starts: a run may reach the node much later, and
        in another process that has the file or the secret.
        """

    async def check_inputs(self, node: definition.Node, known: JsonObject, services: Services) -> None:
        """Raise InvalidInput if the work cannot be done on inputs that are known before the run starts."""

    def code_digest(self, node: definition.Node, services: Services) -> str:
        """Return the digest of the project's code that does the work, empty if none does (AttemptFailed)."""
        return ""

    def needs_worker(self, node: definition.Node, services: Services) -> bool:
        """True if the work of `node` is done in a worker process (`processes`), of which there are only some."""
        return False
