"""Performs one attempt from its inputs to a judged outcome: contract, gates before, the work, contract, gates after."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol, cast

import orjson

from openskelo import errors
from openskelo.executors import calling, job, journal, ports, task, work
from openskelo.handlers import place, secret
from openskelo.kernel import definition, outcome
from openskelo.kernel.json import Json, JsonObject, Stored
from openskelo.providers import seam
from openskelo.values import canonical

#: Outputs above this many canonical bytes are kept as a blob, and events hold their name.
INLINE_BYTES = 32 * 1024
#: Logs above this many bytes are written and synced before the outcome, smaller ones committed with it.
SMALL_ARTIFACT_BYTES = 64 * 1024
#: What a node may give back at most.
MAX_OUTPUT_BYTES = 64 * 1024 * 1024
#: How many nodes stay compiled; above it the oldest are compiled anew when they come again.
_MAX_PREPARED = 16_384
_NOTHING = canonical.digest_bytes(b"")


class Blobs(Protocol):
    """Where large values go (every `stores.log.Log` is one)."""

    async def put_blob(self, data: bytes) -> str: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempted:
    """An outcome, and the small blobs (by name) that must be committed together with it."""

    outcome: outcome.Outcome
    blobs: Mapping[str, bytes] = field(default_factory=dict[str, bytes])


@dataclass(frozen=True, slots=True, kw_only=True)
class _Prepared:
    """Everything about a node that does not change between attempts."""

    node: definition.Node
    inputs: ports.Ports
    outputs: ports.Ports
    work: job.Work


class _Broken(Exception):  # noqa: N818 -- says what happened; it never leaves this file
    """A contract or a gate said no: `failure` is the verdict, `feedback` what the next attempt should know."""

    def __init__(self, failure: outcome.Failure, feedback: Json) -> None:
        super().__init__(failure.code)
        self.failure = failure
        self.feedback = feedback


@dataclass(slots=True)
class _Trace:
    """What is known so far about the attempt in progress."""

    started: float
    job: job.Job
    inputs_hash: str = _NOTHING
    output_hash: str | None = None
    verdicts: list[JsonObject] = field(default_factory=list[JsonObject])


class Performer:
    """Turns tasks into outcomes. One per engine; `perform` may run many times at once."""

    def __init__(
        self,
        *,
        project: task.Project,
        blobs: Blobs,
        local_handlers: Mapping[str, calling.Handler] | None = None,
        provider: seam.Provider | None = None,
        on_text: Callable[[task.Task, str], None] | None = None,
    ) -> None:
        self._project = project
        self._blobs = blobs
        self._means = work.Means(
            project=project, local=local_handlers or {}, provider=provider, on_text=on_text or (lambda _of, _text: None)
        )
        self._prepared: dict[int, _Prepared] = {}

    async def perform(self, of: task.Task) -> Attempted:
        """The judged outcome of one attempt; raises only `asyncio.CancelledError`, and then leaves nothing running."""
        trace = _Trace(time.perf_counter(), job.Job(task=of, inputs=of.inputs))
        try:
            stored = await self._produce(of, trace)
        except _Broken as broken:
            return await self._failed(trace, broken.failure, broken.feedback)
        except errors.AttemptFailed as error:
            return await self._failed(trace, _failure(error, error.retryable, error.retry_after_ms))
        except errors.OpenSkeloError as error:
            return await self._failed(trace, _failure(error, retryable=isinstance(error, errors.StoreError)))
        except Exception as error:  # the promise of this method: one attempt never takes the engine down
            failed = calling.raised(error, trace.job.lines)
            return await self._failed(trace, outcome.Failure(code="INTERNAL", message=failed.message))
        return await self._attempted(trace, stored, None, None)

    async def close(self) -> None:
        """End every process that is kept for later attempts."""

    async def _produce(self, of: task.Task, trace: _Trace) -> Stored:
        """The stored outputs of an attempt in which everything went well."""
        prepared = self._prepared.get(id(of.node)) or self._prepare(of.node)
        trace.job.inputs = self._accept_inputs(of, prepared, trace)
        returned = await prepared.work(trace.job)
        outputs, data = self._accept_outputs(returned, prepared, trace)
        if len(data) > INLINE_BYTES:
            return {"blob": await self._blobs.put_blob(data), "bytes": len(data)}
        return {"value": outputs}

    def _prepare(self, node: definition.Node) -> _Prepared:
        own = node.handler == "builtin:write-file"  # an author may let it write outside the roots
        prepared = _Prepared(
            node=node,
            inputs=ports.Ports(node.inputs, "input", place.readable_roots(self._project)),
            outputs=ports.Ports(node.outputs, "output", None if own else place.readable_roots(self._project)),
            work=work.resolve(node, self._means),
        )
        if len(self._prepared) >= _MAX_PREPARED:
            del self._prepared[next(iter(self._prepared))]
        self._prepared[id(node)] = prepared  # holds the node, so that its id stays its own
        return prepared

    def _accept_inputs(self, of: task.Task, prepared: _Prepared, trace: _Trace) -> JsonObject:
        """The work's own copy of the inputs, once they are JSON and keep the contract."""
        try:
            inputs = canonical.admit(of.inputs)
            data = canonical.dumps(inputs)
        except errors.InvalidInput as error:
            raise _contract("INPUT_CONTRACT", [error.message], retryable=False) from error
        if of.item_index is None:
            trace.inputs_hash = canonical.digest_bytes(data)
        else:
            trace.inputs_hash = canonical.digest({"inputs": inputs, "item": of.item})
        problems = prepared.inputs.problems(cast("JsonObject", inputs), self._project)
        if problems:
            raise _contract("INPUT_CONTRACT", problems, retryable=False)
        return orjson.loads(data)

    def _accept_outputs(self, returned: object, prepared: _Prepared, trace: _Trace) -> tuple[JsonObject, bytes]:
        """The outputs (a copy that nobody else holds) and their bytes, once they are JSON and keep the contract."""
        if not isinstance(returned, Mapping):
            raise errors.AttemptFailed(
                f"the handler returned {type(returned).__name__}, not a dict of outputs", code="HANDLER_RETURN"
            )
        try:
            data = canonical.dumps(canonical.admit(cast("object", returned)))
        except errors.InvalidInput as error:
            raise errors.AttemptFailed(f"the outputs are not JSON: {error.message}", code="HANDLER_RETURN") from error
        if len(data) > MAX_OUTPUT_BYTES:
            raise errors.AttemptFailed(
                f"the outputs take {len(data)} bytes, more than {MAX_OUTPUT_BYTES}",
                code="HANDLER_RETURN",
                retryable=False,
            )
        trace.output_hash = canonical.digest_bytes(data)
        outputs: JsonObject = orjson.loads(data)
        problems = prepared.outputs.problems(outputs, self._project)
        if problems:
            raise _contract("OUTPUT_CONTRACT", problems, retryable=True)
        return outputs, data

    async def _failed(self, trace: _Trace, failure: outcome.Failure, feedback: Json = None) -> Attempted:
        hidden = secret.values(self._project.secrets)
        message = journal.clean(failure.message, hidden)
        failure = outcome.Failure(
            code=failure.code,
            message=message,
            retryable=failure.retryable,
            retry_after_ms=failure.retry_after_ms,
            gate=failure.gate,
        )
        return await self._attempted(trace, None, failure, feedback or {"code": failure.code, "message": message})

    async def _attempted(
        self, trace: _Trace, stored: Stored | None, failure: outcome.Failure | None, feedback: Json
    ) -> Attempted:
        blobs: dict[str, bytes] = {}
        notes: tuple[outcome.ArtifactNote, ...] = ()
        if trace.job.lines:
            note, data = journal.artifact(trace.job.task, trace.job.lines, secret.values(self._project.secrets))
            notes = (note,)
            blobs[note.hash] = data
        spent = trace.job.spent
        return Attempted(
            outcome=outcome.Outcome(
                inputs_hash=trace.inputs_hash,
                outputs=stored,
                output_hash=trace.output_hash,
                failure=failure,
                verdicts=tuple(trace.verdicts),
                metrics=outcome.Metrics(
                    tokens_in=spent.tokens_in,
                    tokens_out=spent.tokens_out,
                    wall_ms=int((time.perf_counter() - trace.started) * 1000),
                    cost_nanousd=spent.cost_nanousd,
                    tool_nanousd=spent.tool_nanousd,
                ),
                artifacts=notes,
                feedback=feedback,
            ),
            blobs=blobs,
        )


def _failure(error: errors.OpenSkeloError, retryable: bool, retry_after_ms: int | None = None) -> outcome.Failure:
    message = f"{error.message} ({error.hint})" if error.hint else error.message
    return outcome.Failure(code=error.code, message=message, retryable=retryable, retry_after_ms=retry_after_ms)


def _contract(code: str, problems: list[str] | tuple[str, ...], *, retryable: bool) -> _Broken:
    failure = outcome.Failure(code=code, message="; ".join(problems), retryable=retryable)
    return _Broken(failure, {"code": code, "problems": list(problems)})
