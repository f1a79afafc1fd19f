"""Traces over OTLP: every run that ends is sent as spans, by one process of a data dir, from where the last one was.

Off unless `OTEL_EXPORTER_OTLP_ENDPOINT` (or `…_TRACES_ENDPOINT`) is set; needs the extra `otel`.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import TYPE_CHECKING

from openskelo import errors
from openskelo.executors import task
from openskelo.server import asked, spans
from openskelo.stores import deliveries, log

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import ReadableSpan
    from opentelemetry.sdk.trace.export import SpanExporter

_LOG = logging.getLogger("openskelo.server.traces")
VARIABLES = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
_READER = "traces"
_CHUNK = 128
_LOOK_SECONDS = 1.0
_LONGEST_SECONDS = 60.0
#: So many spans are sent at a time.
_BATCH = 500


@contextlib.asynccontextmanager
async def tracing(project: task.Project, store: log.Log, environment: Mapping[str, str]) -> AsyncGenerator[None]:
    """Send traces for as long as this is open, if the environment says where to (InvalidInput EXTRA_MISSING)."""
    if not _is_on(environment):
        yield
        return
    tracer = Tracer(project, store, _exporter())
    sending = asyncio.create_task(tracer.run(), name="traces")
    try:
        yield
    finally:
        sending.cancel()
        await asyncio.gather(sending, return_exceptions=True)
        tracer.close()


def check(environment: Mapping[str, str]) -> None:
    """Refuse (InvalidInput EXTRA_MISSING) to send traces without what sends them."""
    if _is_on(environment):
        _exporter().shutdown()


def _is_on(environment: Mapping[str, str]) -> bool:
    return any(environment.get(name) for name in VARIABLES)


def _exporter() -> SpanExporter:
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter  # noqa: PLC0415  an extra
    except ImportError as error:
        raise errors.InvalidInput(
            "traces are configured, but what sends them is not installed",
            code="EXTRA_MISSING",
            hint="pip install 'openskelo[otel]', or unset OTEL_EXPORTER_OTLP_ENDPOINT",
        ) from error
    return OTLPSpanExporter(timeout=10)


class Tracer:
    """Follows the feed and sends what has ended; a collector in trouble is waited for, and nothing else is."""

    def __init__(self, project: task.Project, store: log.Log, exporter: SpanExporter) -> None:
        self._store = store
        self._exporter = exporter
        self._asked = asked.Asked(store)
        self._owed = deliveries.Deliveries(project.data_dir)
        self._turn = deliveries.Turn(project.data_dir, "traces")

    async def run(self) -> None:
        """Go on until cancelled."""
        while True:
            try:
                if self._turn.take():
                    await self._follow()
            except errors.OpenSkeloError as error:
                _LOG.warning("no traces are sent for now: %s %s", error.code, error.message)
            await asyncio.sleep(_LOOK_SECONDS)

    def close(self) -> None:
        """Let another process go on."""
        self._owed.close()
        self._turn.leave()
        self._exporter.shutdown()

    async def _follow(self) -> None:
        position = self._owed.position(_READER)
        if position is None:
            position = await self._store.position()
            self._owed.take(_READER, position, ())
        while fed := await self._store.feed(after=position, limit=_CHUNK):
            for added in fed:
                if added.lines[-1].endswith(b'"type":"run.ended"}'):
                    await self._send(added.run_id)
                position = added.position
            self._owed.take(_READER, position, ())

    async def _send(self, run_id: str) -> None:
        lines = [line async for chunk in self._store.read(run_id) for line in chunk]
        made = spans.of(run_id, lines, await self._asked.of(run_id))
        for at in range(0, len(made), _BATCH):
            await self._export(run_id, made[at : at + _BATCH])

    async def _export(self, run_id: str, made: Sequence[spans.Span]) -> None:
        from opentelemetry.sdk.trace.export import SpanExportResult  # noqa: PLC0415  an extra

        wait = 1.0
        readable = _readable(spans.trace_id(run_id), made)
        while await asyncio.to_thread(self._exporter.export, readable) is not SpanExportResult.SUCCESS:
            _LOG.warning("the collector did not take the trace of run %s; it is sent again in %g s", run_id, wait)
            await asyncio.sleep(wait)
            wait = min(_LONGEST_SECONDS, wait * 2)


def _readable(trace: int, made: Sequence[spans.Span]) -> list[ReadableSpan]:
    """The same spans in the words of OpenTelemetry's SDK."""
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
            name=one.name,
            context=context(one.id),
            parent=None if one.parent is None else context(one.parent),
            resource=resource,
            attributes=one.attributes if one.error is None else {**one.attributes, "error.type": one.error},
            kind=SpanKind.CLIENT if one.calls else SpanKind.INTERNAL,
            status=Status(StatusCode.UNSET if one.error is None else StatusCode.ERROR),
            start_time=one.start * 1_000_000,
            end_time=one.end * 1_000_000,
            instrumentation_scope=scope,
        )
        for one in made
    ]
