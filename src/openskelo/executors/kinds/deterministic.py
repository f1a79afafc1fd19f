"""Deterministic nodes: a handler computes the outputs from the inputs.

builtin:NAME            a function of `openskelo.handlers`, called in this process
local:NAME              a function that the program passed to the engine
handlers/file.py[:f]    a function of the project: async here, sync in a worker process
path/to/program         an executable of the project
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from openskelo import errors
from openskelo.executors import api
from openskelo.executors.attempt import port_contract, running_attempt
from openskelo.executors.handlers import invocation
from openskelo.handlers import builtin, context, secrets
from openskelo.kernel import definition
from openskelo.kernel.json import Json, JsonObject
from openskelo.programs import time_limit
from openskelo.providers import protocol, scripted
from openskelo.structs import frozen
from openskelo.values import canonical


class DeterministicExecutor(api.Executor):
    """Calls the handler of a node."""

    def prepare(self, node: definition.Node, services: api.Services, outputs: port_contract.PortContract) -> api.Work:
        handler = _handler_name(node)
        kind, _, name = handler.partition(":")
        if kind == "builtin":
            return _builtin(node, handler, services)
        if kind == "local":
            if name not in services.local_handlers:
                raise _unknown(f"no handler named {handler!r} is registered with the engine")
            return _local(node, services.local_handlers[name], services)
        return _project(services)

    def check_available(self, node: definition.Node, services: api.Services) -> None:
        kind, _, name = _handler_name(node).partition(":")
        if kind == "local" and name not in services.local_handlers:
            raise errors.InvalidInput(
                f"{node.key} needs the handler 'local:{name}', which this program does not have",
                code="HANDLER_UNKNOWN",
                hint="only the program that brings it can run this; a run of `skelo plan` goes on with --resume there",
            )

    def check_present(self, node: definition.Node, services: api.Services) -> None:
        if self.code_digest(node, services):
            check_code(_handler_name(node), services)
        check_secrets(node.config, services)

    def code_digest(self, node: definition.Node, services: api.Services) -> str:
        handler = _project_handler(node)
        return services.project_handlers().digest(handler) if handler else ""

    def needs_worker(self, node: definition.Node, services: api.Services) -> bool:
        handler = _project_handler(node)
        return bool(handler) and services.project_handlers().needs_worker(handler)


EXECUTOR = DeterministicExecutor()


def check_code(function: str, services: api.Services) -> None:
    """Raise AttemptFailed if the project's code behind `function`, or a secret that the code names, is missing here."""
    declared_secrets = services.project.secrets
    source = services.project_handlers().read(function)
    for name in declared_secrets or {}:
        if f'"{name}"'.encode() in source or f"'{name}'".encode() in source:
            secrets.lookup(declared_secrets, name)


def check_secrets(value: Json, services: api.Services) -> None:
    """Raise AttemptFailed if a secret or a variable that texts in `value` refer to is missing here."""
    for reference in secrets.named(canonical.dumps(value).decode()):
        secrets.resolve(reference, services.project.secrets)


def _handler_name(node: definition.Node) -> str:
    if node.work.is_subworkflow:
        return node.handler or "builtin:pass"
    return node.handler or ""


def _project_handler(node: definition.Node) -> str:
    """Return the handler if it is code of the project, else the empty string."""
    handler = node.handler or ""
    return "" if handler.startswith(("builtin:", "local:")) else handler


def _builtin(node: definition.Node, name: str, services: api.Services) -> api.Work:
    handler = builtin.HANDLERS.get(name)
    if handler is None:
        raise _unknown(f"there is no built-in handler {name!r}")
    access = _Access.of(services)
    # Most handlers return more than a block declares; the rest is dropped.
    output_names = None if handler.exact_outputs else frozenset(port.name for port in node.outputs)

    async def work(attempt: running_attempt.RunningAttempt) -> object:
        pending_result = handler.run(make_context(attempt, services), access)
        outputs = await time_limit.within(node.timeout_ms, pending_result)
        if output_names is None:
            return outputs
        return {name: value for name, value in outputs.items() if name in output_names}

    return work


@frozen
class _Access:
    """The `builtin.Access` of the handlers of one engine."""

    root: Path
    data_dir: Path
    write_roots: Sequence[Path]
    read_roots: Sequence[Path]
    allow_private_addresses: bool
    provider: Callable[[], protocol.Provider | None]

    @classmethod
    def of(cls, services: api.Services) -> _Access:
        """Return the access that an engine's services allow."""
        project = services.project
        return cls(
            root=project.root,
            data_dir=project.data_dir,
            write_roots=project.write_roots,
            read_roots=project.read_roots,
            allow_private_addresses=project.allow_private_addresses,
            provider=services.provider,
        )

    async def apply_changes(self, run_id: str, node: str, message: Json) -> JsonObject | None:
        from openskelo.agents.workspace import apply_changes, workspace  # noqa: PLC0415 -- a run without agents imports none of it

        if isinstance(self.provider(), scripted.Scripted):  # a test: its agents have changed nothing
            return {"branch": f"skelo/apply/{run_id}", "commit": "", "files_changed": []}
        place = workspace.find(self.data_dir, run_id, node)
        if place is None:
            return None
        result = await apply_changes.apply(place, apply_changes.commit_message(place, message))
        return {"branch": result.branch, "commit": result.commit, "files_changed": list(result.files)}


def _local(node: definition.Node, local: invocation.LocalHandler, services: api.Services) -> api.Work:
    async def work(attempt: running_attempt.RunningAttempt) -> object:
        pending_call = local.call(local.handler, make_context(attempt, services), attempt.lines)
        return await time_limit.within(node.timeout_ms, pending_call)

    return work


def _project(services: api.Services) -> api.Work:
    def context_for(attempt: running_attempt.RunningAttempt) -> context.Context:
        return make_context(attempt, services)

    async def work(attempt: running_attempt.RunningAttempt) -> object:
        return await services.project_handlers().run(attempt, context_for)

    return work


def make_context(attempt: running_attempt.RunningAttempt, services: api.Services) -> context.Context:
    """Return what the handler of this attempt is called with."""
    request = attempt.request
    node = request.node
    return context.Context(
        inputs=attempt.inputs,
        config=port_contract.copy_json(node.config),
        block_id=node.key,
        run_id=request.run_id,
        attempt=request.attempt,
        item=port_contract.copy_json(request.item),
        item_index=request.item_index,
        item_name="item" if node.foreach is None else node.foreach.name,
        feedback=port_contract.copy_json(request.feedback),
        _visit=request.visit,
        _now=request.now,
        _secrets=services.project.secrets,
        _lines=attempt.lines,
    )


def _unknown(message: str) -> errors.AttemptFailed:
    return errors.AttemptFailed(message, code="HANDLER_UNKNOWN", retryable=False)
