"""Runs a handler that the project brings along: async Python here, sync Python in a worker, an executable by itself."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from datetime import UTC, datetime

import orjson

from openskelo import errors
from openskelo.executors import calling, code, crew, job, limit, module, mortal, printing, process, source, task
from openskelo.frozen import as_dict
from openskelo.handlers import context
from openskelo.kernel.json import Json
from openskelo.values import canonical, outside

#: How many worker processes stay, at least and at most; as many as there are cores in between.
_KEPT = (2, 4)
#: How many there are at most, while calls wait. One takes 13 MB, and whatever its handlers import.
MOST_WORKERS = 32
_TAIL = 300


class ProjectHandlers:
    """The handlers of one project; holds its loaded modules and its worker processes."""

    def __init__(self, project: task.Project) -> None:
        self._project = project
        self._sources = source.Sources(project)
        self._modules = module.Modules(project.root, {"print": printing.say})
        kept = min(max(os.cpu_count() or 1, _KEPT[0]), _KEPT[1])
        self._crew = crew.Crew(project.root, kept=kept, most=MOST_WORKERS)

    async def run(self, one: job.Job, make_context: Callable[[job.Job], context.Context]) -> object:
        """What the node's handler gives for this job; a context is only made for a handler in this process."""
        node = one.task.node
        found = self._sources.locate(node.handler or "")
        if found.function is None:
            document = _document(one.task, one.inputs, node.config)
            return await self._execute(found.path, one, document, node.timeout_ms)
        if found.is_async:
            with printing.into(one.lines):
                handler = self._modules.function(found.path, found.function, one.lines)
                return await limit.within(node.timeout_ms, calling.call(handler, make_context(one), one.lines))
        return await self._call(found, one)

    async def call(self, function: str, one: job.Job, ctx: context.Context, timeout_ms: int | None) -> object:
        """What a function of the project that is no node's handler gives for `ctx`: any JSON, or AttemptFailed."""
        found = self._sources.locate(function)
        if found.function is None:
            return await self._execute(found.path, one, _document(one.task, ctx.inputs, ctx.config), timeout_ms)
        if found.is_async:
            with printing.into(one.lines):
                called = self._modules.function(found.path, found.function, one.lines)
                return await limit.within(timeout_ms, calling.call(called, ctx, one.lines))
        return await self._ask(found, {"context": _values(ctx), "any": True}, one, timeout_ms)

    def digest(self, handler: str) -> str:
        """The digest of a handler's code as it is now (AttemptFailed HANDLER_LOAD)."""
        try:
            return code.digest(self._sources.locate(handler).path, self._project.root)
        except OSError as error:
            raise errors.AttemptFailed(f"{handler}: {error.strerror}", code="HANDLER_LOAD") from error

    async def close(self) -> None:
        await self._crew.close()

    async def _call(self, found: source.Source, one: job.Job) -> object:
        of = one.task
        values: dict[str, object] = {
            "inputs": one.inputs,
            "config": of.node.config,
            "block_id": of.node.key,
            "run_id": of.run_id,
            "_visit": of.visit,
            "_now": of.now,
            "attempt": of.attempt,
            "item": of.item,
            "item_index": of.item_index,
            "item_name": of.node.foreach.name if of.node.foreach is not None else "item",
            "feedback": of.feedback,
        }
        if self._project.secrets:
            values["_secrets"] = dict(self._project.secrets)  # references: the worker has our environment
        return await self._ask(found, {"context": values}, one, of.node.timeout_ms)

    async def _ask(
        self, found: source.Source, what: Mapping[str, object], one: job.Job, timeout_ms: int | None
    ) -> object:
        body = orjson.dumps({"path": found.path, "name": found.function, **what})
        reply = orjson.loads(await self._crew.call(body, timeout_ms, one))
        one.lines.extend(reply["lines"])
        if "outputs" in reply:
            return reply["outputs"]
        error = reply["error"]
        raise errors.AttemptFailed(error.pop("message"), **error)

    async def _execute(self, path: str, one: job.Job, document: bytes, timeout_ms: int | None) -> object:
        program = process.Program(argv=(path,), folder=self._project.root, stdin=document)
        try:
            finished = await limit.within(timeout_ms, process.run(program))
        except OSError as error:
            raise errors.AttemptFailed(
                f"the program cannot be started: {error.strerror}", code="HANDLER_LOAD", hint="has it a #! line?"
            ) from error
        said = finished.stderr.decode("utf-8", "replace")
        one.lines.extend(said.splitlines())
        if finished.status != 0:
            ending = mortal.describe_end(finished.status)
            last = said.strip().rpartition("\n")[2][-_TAIL:]
            raise errors.AttemptFailed(
                f"the program ended with {ending}",
                code="HANDLER_EXITED",
                hint=last or None,
                happened="no" if finished.status > 0 else "unknown",  # an exit code says that it has failed
            )
        try:
            return outside.loads(finished.stdout)
        except errors.InvalidInput as error:
            raise canonical.failed(error, "its output is not JSON", code="HANDLER_RETURN") from error


def _values(ctx: context.Context) -> dict[str, object]:
    """A context as the worker makes it again; secrets are references, as the worker has our environment."""
    return {name: part for name, part in as_dict(ctx).items() if name != "_lines"}


def _document(of: task.Task, inputs: Mapping[str, Json], config: Mapping[str, Json]) -> bytes:
    """What an executable reads on its standard input."""
    now = datetime.fromtimestamp(of.now / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    document: dict[str, Json] = {
        "inputs": inputs,
        "config": config,
        "blockId": of.node.key,
        "runId": of.run_id,
        "idempotencyKey": of.idempotency_key,
        "now": now,
        "attempt": of.attempt,
        "feedback": of.feedback,
    }
    if of.item_index is not None:
        document |= {"item": of.item, "itemIndex": of.item_index}
    return canonical.dumps(document)
