"""Which work a node stands for: its mode and its handler's name, turned into something that can be awaited."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, TypeAlias, overload

import orjson

from openskelo import errors
from openskelo.executors import calling, intake, job, limit, ports, task
from openskelo.frozen import frozen
from openskelo.handlers import context, place
from openskelo.kernel import definition
from openskelo.kernel.json import Json, JsonObject
from openskelo.providers import seam
from openskelo.values import canonical

if TYPE_CHECKING:
    from openskelo.executors import mcp_servers, project_handler

Builtin: TypeAlias = Callable[[context.Context, place.Place], Awaitable[JsonObject]]


@frozen
class Means:
    """What work is done with: everything a handler may need that is not in its task."""

    project: task.Project
    local: Mapping[str, calling.Local]
    provider: Callable[[], seam.Provider | None]
    on_text: Callable[[task.Task, str], None]
    project_handlers: Callable[[], project_handler.ProjectHandlers]
    servers: Callable[[], mcp_servers.Servers]


def is_light(node: definition.Node) -> bool:
    """Whether nothing has to be loaded to find out what the work of `node` is: it is a handler of the user's own."""
    return node.step is None and node.turn is None and node.handler is not None and node.handler[:8] != "builtin:"


def resolve(node: definition.Node, means: Means, outputs: ports.Ports) -> job.Work:
    """The work of `node`; AttemptFailed, never retried, when there is no such handler."""
    if node.step is not None:
        from openskelo.executors.ops import step  # noqa: PLC0415 -- only plans need it

        return step.resolve(node, node.step, means)
    if node.turn is not None:
        from openskelo.executors import turn  # noqa: PLC0415 -- only live graphs need it

        return turn.routed(_own_work(node, means, outputs))
    return _own_work(node, means, outputs)


def _own_work(node: definition.Node, means: Means, outputs: ports.Ports) -> job.Work:
    match node.mode:
        case "deterministic":
            return _handler(node, node.handler or "", means)
        case "dag":
            return _handler(node, node.handler or "builtin:pass", means)
        case "ai":
            return _model(node, means, outputs)
        case "approval":
            raise _unknown("an approval is answered by a person, not performed", "NOT_PERFORMED")


def _handler(node: definition.Node, name: str, means: Means) -> job.Work:
    kind, _, rest = name.partition(":")
    if name == "builtin:step":
        from openskelo.executors.ops import in_block  # noqa: PLC0415 -- few blocks need it

        return in_block.resolve(node, means)
    if kind == "builtin":
        return _builtin(node, name, means)
    if kind == "local":
        if rest not in means.local:
            raise _unknown(f"no handler named {name!r} is registered with the engine", "HANDLER_UNKNOWN")
        return _local(node, means.local[rest], means)
    return _project(means)


def _builtin(node: definition.Node, name: str, means: Means) -> job.Work:
    builtin = _load_builtin(name)
    # Most offer more than a node declares, and keep the rest to themselves; a transform says exactly what it was told.
    declared = None if name == "builtin:transform" else frozenset(port.name for port in node.outputs)

    async def work(one: job.Job) -> object:
        made = await limit.within(node.timeout_ms, builtin(context_of(one, means), means.project))
        return made if declared is None else {key: value for key, value in made.items() if key in declared}

    return work


def _load_builtin(name: str) -> Builtin:
    match name:
        case "builtin:pass":
            from openskelo.handlers.passing import passing  # noqa: PLC0415 -- each built-in is loaded when first used

            return passing
        case "builtin:write-file":
            from openskelo.handlers.write_file import write_file  # noqa: PLC0415

            return write_file
        case "builtin:read-file":
            from openskelo.handlers.read_file import read_file  # noqa: PLC0415

            return read_file
        case "builtin:transform":
            from openskelo.handlers.transform import transform  # noqa: PLC0415

            return transform
        case "builtin:http-request":
            from openskelo.handlers.http_request import http_request  # noqa: PLC0415

            return http_request
        case _:
            raise _unknown(f"there is no built-in handler {name!r}", "HANDLER_UNKNOWN")


def _local(node: definition.Node, local: calling.Local, means: Means) -> job.Work:
    timeout_ms = node.timeout_ms
    handler, call = local.handler, local.call

    def work(one: job.Job) -> Awaitable[object]:
        called = call(handler, context_of(one, means), one.lines)
        return called if timeout_ms is None else limit.within(timeout_ms, called)

    return work


def _model(node: definition.Node, means: Means, outputs: ports.Ports) -> job.Work:
    provider = means.provider()
    if provider is None:
        raise _unknown("no model provider is set up", "PROVIDER_MISSING")
    if node.turn is not None:
        from openskelo.executors import turn  # noqa: PLC0415 -- only live graphs need it

        return turn.model(node, means, provider, outputs.schema)
    from openskelo.executors import ai  # noqa: PLC0415 -- only workflows with ai nodes need it

    how = ai.asking(node, provider, means.on_text, outputs.schema)

    async def work(one: job.Job) -> object:
        return await limit.within(node.timeout_ms, ai.work(one, how), one.spent.idle)

    return work


def _project(means: Means) -> job.Work:
    def make_context(one: job.Job) -> context.Context:
        return context_of(one, means)

    async def work(one: job.Job) -> object:
        return await means.project_handlers().run(one, make_context)

    return work


def context_of(one: job.Job, means: Means) -> context.Context:
    """What the handler of this job is given."""
    of = one.task
    node = of.node
    return context.Context(
        inputs=one.inputs,
        config=own(node.config) if node.config else {},
        block_id=node.key,
        run_id=of.run_id,
        attempt=of.attempt,
        item=None if of.item is None else own(of.item),
        item_index=of.item_index,
        item_name="item" if node.foreach is None else node.foreach.name,
        feedback=None if of.feedback is None else own(of.feedback),
        _visit=of.visit,
        _now=of.now,
        _secrets=means.project.secrets,
        _lines=one.lines,
    )


@overload
def own(value: JsonObject) -> JsonObject: ...
@overload
def own(value: Json) -> Json: ...
def own(value: Json) -> Json:
    """A copy for whoever may change it; values that cannot be changed are given as they are."""
    if type(value) in intake.PLAIN:  # as most; whether it is a Mapping takes long to find out
        return value
    return orjson.loads(canonical.dumps(value)) if value and isinstance(value, Mapping | list) else value


def _unknown(message: str, code: str) -> errors.AttemptFailed:
    return errors.AttemptFailed(message, code=code, retryable=False)
