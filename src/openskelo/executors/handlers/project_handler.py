"""Runs the handlers of a project: async Python in this process, sync Python in a worker, an executable by itself."""

from __future__ import annotations

import contextvars
import errno
import io
import os
import sys
from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import IO, Any

import orjson

from openskelo import errors
from openskelo.executors.attempt import running_attempt
from openskelo.executors.handlers import invocation, module_loader
from openskelo.executors.processes import worker_pool
from openskelo.handlers import context, file_access
from openskelo.kernel.json import Json
from openskelo.programs import child_process, time_limit
from openskelo.programs import program as processes_program
from openskelo.project import Project
from openskelo.structs import as_dict
from openskelo.values import canonical

#: How many worker processes there are at most. One takes 13 MB, and what its handlers import.
MOST_WORKERS = 16
_TAIL = 300


class ProjectHandlers:
    """The handlers of one project; holds its loaded modules and its worker processes."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self._sources = module_loader.Sources(project)
        write_roots = file_access.writable_roots(project.root, project.write_roots)
        self._modules = module_loader.Modules(project.root, {"print": print_to_log}, write_roots=write_roots)
        self.worker_count = MOST_WORKERS
        self._workers = worker_pool.WorkerPool(project.root, write_roots, size=self.worker_count)

    async def run(
        self,
        attempt: running_attempt.RunningAttempt,
        make_context: Callable[[running_attempt.RunningAttempt], context.Context],
    ) -> object:
        """Return what the handler of the node returns; a context is only made for a handler in this process."""
        node = attempt.request.node
        code = self._sources.locate(node.handler or "")
        if code.function is None:
            document = _document(attempt.request, attempt.inputs, node.config)
            return await self._execute(code.path, attempt, document, node.timeout_ms)
        if code.is_async:
            with collect(attempt.lines):
                handler = self._modules.function(code.path, code.function, attempt.lines)
                return await time_limit.within(
                    node.timeout_ms, invocation.call(handler, make_context(attempt), attempt.lines)
                )
        return await self._call(code, attempt)

    async def call(
        self, function: str, attempt: running_attempt.RunningAttempt, ctx: context.Context, timeout_ms: int | None
    ) -> object:
        """Return what a function of the project that is not the handler of a node returns for `ctx`: any JSON."""
        code = self._sources.locate(function)
        if code.function is None:
            return await self._execute(
                code.path, attempt, _document(attempt.request, ctx.inputs, ctx.config), timeout_ms
            )
        if code.is_async:
            with collect(attempt.lines):
                target = self._modules.function(code.path, code.function, attempt.lines)
                return await time_limit.within(timeout_ms, invocation.call(target, ctx, attempt.lines))
        return await self._ask(code, {"context": _values(ctx), "any": True}, attempt, timeout_ms)

    def needs_worker(self, handler: str) -> bool:
        """True if a worker runs the handler; one that cannot be read needs none: its attempt says what is wrong."""
        try:
            code = self._sources.locate(handler)
        except (errors.AttemptFailed, OSError):
            return False
        return code.function is not None and not code.is_async

    def digest(self, handler: str) -> str:
        """Return the digest of a handler's code as it is now; raise AttemptFailed HANDLER_LOAD if it cannot be read."""
        try:
            return module_loader.code_digest(self._sources.locate(handler).path, self._project.root)
        except OSError as error:
            raise errors.AttemptFailed(f"{handler}: {error.strerror}", code="HANDLER_LOAD") from error

    def read(self, handler: str) -> bytes:
        """Return a handler's file and those that it imports, one after the other (AttemptFailed HANDLER_LOAD)."""
        try:
            path = self._sources.locate(handler).path
            return b"\n".join(module_loader.read_code(path, self._project.root).values())
        except OSError as error:
            raise errors.AttemptFailed(f"{handler}: {error.strerror}", code="HANDLER_LOAD") from error

    async def close(self) -> None:
        await self._workers.close()

    async def _call(self, code: module_loader.Source, attempt: running_attempt.RunningAttempt) -> object:
        request = attempt.request
        inputs, visit, shared_inputs = attempt.inputs, request.visit_inputs, b""
        if request.item_index is not None and visit is not None:
            visit.message = visit.message or orjson.dumps(visit.inputs)
            shared_inputs = visit.message
            inputs = {visit.item_name: inputs[visit.item_name]} if visit.item_name else {}
        values: dict[str, object] = {
            "inputs": inputs,
            "config": request.node.config,
            "block_id": request.node.key,
            "run_id": request.run_id,
            "_visit": request.visit,
            "_now": request.now,
            "attempt": request.attempt,
            "item": request.item,
            "item_index": request.item_index,
            "item_name": request.node.foreach.name if request.node.foreach is not None else "item",
            "feedback": request.feedback,
        }
        if self._project.secrets:
            values["_secrets"] = dict(self._project.secrets)  # references: the worker has our environment
        return await self._ask(code, {"context": values}, attempt, request.node.timeout_ms, shared_inputs)

    async def _ask(
        self,
        code: module_loader.Source,
        what: Mapping[str, object],
        attempt: running_attempt.RunningAttempt,
        timeout_ms: int | None,
        shared_inputs: bytes = b"",
    ) -> object:
        body = orjson.dumps({"path": code.path, "name": code.function, **what})
        reply: Any = canonical.loads_canonical(await self._workers.call(body, timeout_ms, attempt, shared_inputs))
        attempt.lines.extend(reply["lines"])
        if "outputs" in reply:
            return reply["outputs"]
        error = reply["error"]
        if error.pop("missing"):
            raise errors.Missing(error["message"], code=error["code"], hint=error["hint"])
        cause = OSError(errno.ENFILE, os.strerror(errno.ENFILE)) if error.pop("files_exhausted") else None
        raise errors.AttemptFailed(error.pop("message"), **error) from cause

    async def _execute(
        self, path: str, attempt: running_attempt.RunningAttempt, document: bytes, timeout_ms: int | None
    ) -> object:
        program = processes_program.Program(argv=(path,), folder=self._project.root, stdin=document)

        def watch(stderr: IO[bytes]) -> None:
            def read() -> str:
                data = b"" if stderr.closed else os.pread(stderr.fileno(), program.max_bytes, 0)
                return data.decode("utf-8", "replace")

            attempt.read_printed = read

        try:
            result = await time_limit.within(timeout_ms, processes_program.run(program, watch))
        except OSError as error:
            raise errors.AttemptFailed(
                f"the program cannot be started: {error.strerror}", code="HANDLER_LOAD", hint="has it a #! line?"
            ) from error
        finally:
            attempt.read_printed = lambda: ""
        stderr = result.stderr.decode("utf-8", "replace")
        attempt.lines.extend(stderr.splitlines())
        if result.status != 0:
            ending = child_process.describe_end(result.status)
            last = stderr.strip().rpartition("\n")[2][-_TAIL:]
            raise errors.AttemptFailed(
                f"the program ended with {ending}",
                code="HANDLER_EXITED",
                hint=last or None,
                happened="no" if result.status > 0 else "unknown",  # an exit code says that it has failed
            )
        try:
            return canonical.loads_untrusted(result.stdout)
        except errors.InvalidInput as error:
            raise canonical.attempt_failure(error, "its output is not JSON", code="HANDLER_RETURN") from error


def _values(ctx: context.Context) -> dict[str, object]:
    """Return the fields of a context for the worker; secrets are references, as it has the engine's environment."""
    return {name: part for name, part in as_dict(ctx).items() if name != "_lines"}


def _document(request: running_attempt.AttemptRequest, inputs: Mapping[str, Json], config: Mapping[str, Json]) -> bytes:
    """Return what an executable reads on its standard input."""
    now = datetime.fromtimestamp(request.now / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    document: dict[str, Json] = {
        "inputs": inputs,
        "config": config,
        "blockId": request.node.key,
        "runId": request.run_id,
        "idempotencyKey": request.idempotency_key,
        "now": now,
        "attempt": request.attempt,
        "feedback": request.feedback,
    }
    if request.item_index is not None:
        document |= {"item": request.item, "itemIndex": request.item_index}
    return canonical.dumps_for_programs(document)


# Collects what handlers in the engine's own process print, for the log of their attempt.


class _Log:
    """The log of one attempt; `_open` is true while its last line has not ended."""

    def __init__(self, lines: list[str]) -> None:
        self._lines = lines
        self._open = False

    def write(self, text: str) -> None:
        if not text:
            return
        first, *other_lines = text.split("\n")
        if self._open and self._lines:
            self._lines[-1] += first
        else:
            self._lines.append(first)
        self._lines.extend(other_lines)
        self._open = not text.endswith("\n")
        if not self._open:
            self._lines.pop()  # the empty rest after the last newline


#: The log of the attempt that runs in this task.
_log: contextvars.ContextVar[_Log | None] = contextvars.ContextVar("skelo_log", default=None)


class _Redirected:
    """A standard stream while handlers run: what they write goes to their log, everything else to the stream."""

    def __init__(self, stream: IO[str]) -> None:
        self.stream = stream
        self.users = 0

    def write(self, text: str) -> int:
        log = _log.get()
        if log is None:
            return self.stream.write(text)
        log.write(text)
        return len(text)

    def writelines(self, texts: Iterable[str]) -> None:
        for text in texts:
            self.write(text)

    def __getattr__(self, name: str) -> object:
        return getattr(self.stream, name)


@contextmanager
def collect(lines: list[str]) -> Generator[None]:
    """Append to `lines` what this block, and tasks that it starts, print or write to a standard stream."""
    token = _log.set(_Log(lines))
    _redirect_streams()
    try:
        yield
    finally:
        _restore_streams()
        _log.reset(token)


def _redirect_streams() -> None:
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if not isinstance(stream, _Redirected):
            stream = _Redirected(stream)
            setattr(sys, name, stream)
        stream.users += 1


def _restore_streams() -> None:
    """Put the streams back when the last handler ends, unless other code has replaced them meanwhile."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if isinstance(stream, _Redirected):
            stream.users -= 1
            if not stream.users:
                setattr(sys, name, stream.stream)


def print_to_log(
    *values: object, sep: str | None = " ", end: str | None = "\n", file: IO[str] | None = None, flush: bool = False
) -> None:
    """Write to the log instead of standard output, which belongs to the command line; logs mask secrets."""
    log = _log.get()
    if log is None or (file is not None and file not in (sys.stdout, sys.stderr)):
        print(*values, sep=sep, end=end, file=file or sys.stderr, flush=flush)
        return
    text = io.StringIO()
    print(*values, sep=sep, end=end, file=text)
    log.write(text.getvalue())
