"""Deterministic nodes: a handler computes the outputs from the inputs.

builtin:NAME            a function of `openskelo.handlers`, called in this process
local:NAME              a function that the program passed to the engine
handlers/file.py[:f]    a function of the project: async here, sync in a worker process
path/to/program         an executable of the project
"""

from __future__ import annotations

from openskelo import errors
from openskelo.executors import api
from openskelo.executors.attempt import port_contract, running_attempt
from openskelo.executors.handlers import apply_changes, invocation
from openskelo.handlers import builtin, context, secrets
from openskelo.kernel import definition
from openskelo.kernel.json import Json
from openskelo.programs import time_limit
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
    run = handler.run
    # Most handlers return more than a block declares; the rest is dropped.
    output_names = None if handler.exact_outputs else frozenset(port.name for port in node.outputs)

    async def work(attempt: running_attempt.RunningAttempt) -> object:
        ctx = make_context(attempt, services)
        pending_result = apply_changes.run(ctx, services) if run is None else run(ctx, services.project)
        outputs = await time_limit.within(node.timeout_ms, pending_result)
        if output_names is None:
            return outputs
        return {name: value for name, value in outputs.items() if name in output_names}

    return work


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
