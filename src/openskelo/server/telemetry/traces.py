"""Traces over OTLP: every run that ends is sent as spans, by one process of a data dir.

A run becomes one span for itself, and one for each visit of a node, each approval and each attempt. Spans are made from
the facts of the log alone: they say what was done, when and with which result, and contain no values. Their ids follow
from the run's, so the same run gives the same spans. The position in the feed is stored, so the next server goes on
where the last one stopped.

Off unless `OTEL_EXPORTER_OTLP_ENDPOINT` (or `…_TRACES_ENDPOINT`) is set; needs the extra `otel`.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import logging
import uuid
from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, cast

from openskelo import errors
from openskelo.kernel import events
from openskelo.kernel.json import JsonObject
from openskelo.project import Project
from openskelo.record import envelope, line_check
from openskelo.server.telemetry import metrics
from openskelo.stores import api, delivery_queue
from openskelo.structs import field, mutable

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import ReadableSpan
    from opentelemetry.sdk.trace.export import SpanExporter

# -- the spans of a run -----------------------------------------------------------------------------------------------

_Value = str | int | float | bool


@mutable
class Span:
    """One span; times are milliseconds."""

    id: int
    parent: int | None
    name: str
    start: int
    end: int
    attributes: dict[str, _Value] = field(default_factory=dict[str, _Value])
    #: A code.
    error: str | None = None
    #: It is the call of a model.
    is_model_call: bool = False


def trace_id(run_id: str) -> int:
    """Return the id of a run's trace: the run's UUID as a number."""
    return uuid.UUID(run_id).int


def run_spans(run_id: str, lines: Iterable[bytes], models: metrics.ModelsByNode) -> list[Span]:
    """Return the spans of a run, the run's own first; pruned facts are left out."""
    builder = _SpanBuilder(run_id, models)
    for line in lines:
        if not line_check.is_pruned(line):
            builder.add(envelope.open_line(line)[1])
    return [builder.run, *builder.visits.values(), *builder.others]


_AttemptEnded = events.AttemptSucceeded | events.AttemptFailed | events.AttemptInterrupted | events.AttemptCancelled


class _SpanBuilder:
    def __init__(self, run_id: str, models: metrics.ModelsByNode) -> None:
        self._run_id = run_id
        self._models = models
        self.run = Span(id=self._id("run"), parent=None, name="run", start=0, end=0)
        self.run.attributes["openskelo.run.id"] = run_id
        self.visits: dict[tuple[str, int], Span] = {}
        self.others: list[Span] = []
        self._open: dict[str, Span] = {}

    def add(self, event: events.Event) -> None:
        self.run.start = self.run.start or event.at
        self.run.end = max(self.run.end, event.at)
        node, visit = getattr(event, "node", None), getattr(event, "visit", None)
        if isinstance(node, str) and isinstance(visit, int):
            self._extend_visit(node, visit, event.at)
        match event:
            case events.RunCreated():
                self.run.name = f"run {event.workflow}"
                self.run.attributes["openskelo.workflow.name"] = event.workflow
                self.run.attributes["openskelo.workflow.hash"] = event.workflow_hash
            case events.RunEnded():
                self._end_run(event)
            case events.AttemptStarted():
                self._start_attempt(event)
            case (
                events.AttemptSucceeded()
                | events.AttemptFailed()
                | events.AttemptInterrupted()
                | events.AttemptCancelled()
            ):
                self._end_attempt(event)
            case events.ApprovalRequested() | events.ApprovalResolved() | events.ApprovalWithdrawn():
                self._add_approval(event)
            case _:
                return

    def _end_run(self, event: events.RunEnded) -> None:
        self.run.attributes["openskelo.run.ending"] = event.ending
        for name in ("steps", "tokens"):
            self.run.attributes[f"openskelo.run.{name}"] = cast("int", (event.spent or {}).get(name, 0))
        if event.ending != "ok":
            self.run.error = str((event.error or {}).get("code", event.ending))

    def _extend_visit(self, node: str, visit: int, at: int) -> None:
        span = self.visits.get((node, visit))
        if span is None:
            key = f"{node}/{visit}"
            span = Span(id=self._id(key), parent=self.run.id, name=f"node {node}", start=at, end=at)
            span.attributes |= {"openskelo.node.key": node, "openskelo.node.visit": visit}
            self.visits[node, visit] = span
        span.end = max(span.end, at)

    def _start_attempt(self, event: events.AttemptStarted) -> None:
        key = f"{event.node}/{event.visit}/{event.item or 0}/{event.attempt}"
        span = Span(
            id=self._id(key),
            parent=self.visits[event.node, event.visit].id,
            name=f"attempt {event.node}",
            start=event.at,
            end=event.at,
        )
        span.attributes |= {"openskelo.node.key": event.node, "openskelo.attempt": event.attempt}
        if event.item is not None:
            span.attributes["openskelo.item"] = event.item
        self._open[key] = span
        self.others.append(span)

    def _end_attempt(self, event: _AttemptEnded) -> None:
        span = self._open.pop(f"{event.node}/{event.visit}/{event.item or 0}/{event.attempt}", None)
        if span is None:
            return  # a person's answer or a cached result: no attempt was started
        span.end = event.at
        span.attributes["openskelo.attempt.status"] = cast("str", event.receipt["status"])
        if isinstance(event, events.AttemptFailed):
            span.error = self.visits[event.node, event.visit].error = str(event.error.get("code"))
        elif isinstance(event, events.AttemptSucceeded):
            self.visits[event.node, event.visit].error = None
        model = self._models.get(event.node)
        if model is not None:
            _add_model(span, model, event.receipt)

    def _add_approval(
        self, event: events.ApprovalRequested | events.ApprovalResolved | events.ApprovalWithdrawn
    ) -> None:
        if isinstance(event, events.ApprovalRequested):
            parent = self.visits[event.node, event.visit].id
            name = f"approval {event.node}"
            span = Span(id=self._id(event.approval_id), parent=parent, name=name, start=event.at, end=event.at)
            span.attributes["openskelo.approval.id"] = event.approval_id
            self._open[event.approval_id] = span
            self.others.append(span)
            return
        span = self._open.pop(event.approval_id, None)
        if span is not None:
            is_answer = isinstance(event, events.ApprovalResolved)
            status = str(event.resolution.get("status")) if is_answer else "withdrawn"
            span.end = event.at
            span.attributes["openskelo.approval.status"] = status

    def _id(self, key: str) -> int:
        digest = hashlib.sha256(f"{self._run_id}/{key}".encode()).digest()[:8]
        return int.from_bytes(digest) or 1


def _add_model(span: Span, model: Mapping[str, str], receipt: JsonObject) -> None:
    """Add the attributes of OpenTelemetry's conventions for generative AI."""
    usage = cast("Mapping[str, int]", receipt["metrics"])
    span.is_model_call = True
    span.name = f"chat {model['model']}"
    span.attributes |= {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": model["kind"],
        "gen_ai.request.model": model["model"],
        "gen_ai.usage.input_tokens": usage["tokens_in"],
        "gen_ai.usage.output_tokens": usage["tokens_out"],
        "openskelo.expert": model["expert"],
    }


# -- sending ----------------------------------------------------------------------------------------------------------

_LOG = logging.getLogger("openskelo.server.telemetry.traces")
VARIABLES = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
_READER = "traces"
_CHUNK = 128
_POLL_SECONDS = 1.0
_MAX_RETRY_SECONDS = 60.0
#: The number of spans that are sent at a time.
_BATCH = 500


@contextlib.asynccontextmanager
async def tracing(project: Project, store: api.RunLog, environment: Mapping[str, str]) -> AsyncGenerator[None]:
    """Send traces while this is open, if the environment configures it. Raise InvalidInput EXTRA_MISSING."""
    if not _is_configured(environment):
        yield
        return
    tracer = Tracer(project, store, _exporter())
    task = asyncio.create_task(tracer.run(), name="traces")
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        tracer.close()


def check(environment: Mapping[str, str]) -> None:
    """Raise InvalidInput EXTRA_MISSING if traces are configured and the extra `otel` is not installed."""
    if _is_configured(environment):
        _exporter().shutdown()


def _is_configured(environment: Mapping[str, str]) -> bool:
    return any(environment.get(name) for name in VARIABLES)


def _exporter() -> SpanExporter:
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter  # noqa: PLC0415  an extra
    except ImportError as error:
        raise errors.InvalidInput(
            "traces are configured, but the extra that sends them is not installed",
            code="EXTRA_MISSING",
            hint="pip install 'openskelo[otel]', or unset OTEL_EXPORTER_OTLP_ENDPOINT",
        ) from error
    return OTLPSpanExporter(timeout=10)


class Tracer:
    """Follows the feed and sends the runs that have ended; retries while the collector does not accept them."""

    def __init__(self, project: Project, store: api.RunLog, exporter: SpanExporter) -> None:
        self._store = store
        self._exporter = exporter
        self._node_models = metrics.NodeModels(store)
        self._queue = delivery_queue.DeliveryQueue(project.data_dir)
        self._lock = delivery_queue.SenderLock(project.data_dir, "traces")

    async def run(self) -> None:
        """Send until cancelled, while this process holds the sender lock."""
        while True:
            try:
                if self._lock.acquire():
                    await self._send_new()
            except errors.OpenSkeloError as error:
                _LOG.warning("traces are not sent for now: %s %s", error.code, error.message)
            await asyncio.sleep(_POLL_SECONDS)

    def close(self) -> None:
        """Close the queue, and let another process send."""
        self._queue.close()
        self._lock.release()
        self._exporter.shutdown()

    async def _send_new(self) -> None:
        position = self._queue.position(_READER)
        if position is None:
            position = await self._store.last_position()
            self._queue.add(_READER, position, ())
        while entries := await self._store.read_feed(after=position, limit=_CHUNK):
            for entry in entries:
                if entry.lines[-1].endswith(b'"type":"run.ended"}'):
                    await self._send(entry.run_id)
                position = entry.position
            self._queue.add(_READER, position, ())

    async def _send(self, run_id: str) -> None:
        lines = [line async for chunk in self._store.read_events(run_id) for line in chunk]
        spans = run_spans(run_id, lines, await self._node_models.of_run(run_id))
        for at in range(0, len(spans), _BATCH):
            await self._export(run_id, spans[at : at + _BATCH])

    async def _export(self, run_id: str, spans: Sequence[Span]) -> None:
        from opentelemetry.sdk.trace.export import SpanExportResult  # noqa: PLC0415  an extra

        wait = 1.0
        sdk_spans = _to_sdk_spans(trace_id(run_id), spans)
        while await asyncio.to_thread(self._exporter.export, sdk_spans) is not SpanExportResult.SUCCESS:
            _LOG.warning("the collector did not accept the trace of run %s; it is sent again in %g s", run_id, wait)
            await asyncio.sleep(wait)
            wait = min(_MAX_RETRY_SECONDS, wait * 2)


def _to_sdk_spans(trace: int, spans: Sequence[Span]) -> list[ReadableSpan]:
    """Return the spans as objects of OpenTelemetry's SDK."""
    from importlib import metadata  # noqa: PLC0415  slow

    from opentelemetry.sdk.resources import Resource  # noqa: PLC0415  an extra
    from opentelemetry.sdk.trace import ReadableSpan  # noqa: PLC0415  an extra
    from opentelemetry.sdk.util.instrumentation import InstrumentationScope  # noqa: PLC0415  an extra
    from opentelemetry.trace import SpanContext, SpanKind, Status, StatusCode, TraceFlags  # noqa: PLC0415  an extra

    version = metadata.version("openskelo")
    resource = Resource.create({"service.name": "openskelo", "service.version": version})
    scope = InstrumentationScope("openskelo", version)

    def context(span_id: int) -> SpanContext:
        return SpanContext(trace, span_id, is_remote=False, trace_flags=TraceFlags(TraceFlags.SAMPLED))

    return [
        ReadableSpan(
            name=span.name,
            context=context(span.id),
            parent=None if span.parent is None else context(span.parent),
            resource=resource,
            attributes=span.attributes if span.error is None else {**span.attributes, "error.type": span.error},
            kind=SpanKind.CLIENT if span.is_model_call else SpanKind.INTERNAL,
            status=Status(StatusCode.UNSET if span.error is None else StatusCode.ERROR),
            start_time=span.start * 1_000_000,
            end_time=span.end * 1_000_000,
            instrumentation_scope=scope,
        )
        for span in spans
    ]
