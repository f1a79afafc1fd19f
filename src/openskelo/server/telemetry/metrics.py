"""Metrics in Prometheus' text format: counters of facts, and gauges read when the metrics are requested.

    metrics = Metrics(store, hub)
    app.include_router(metrics.router())      # GET /metrics
    async with metrics.counting(): ...

A task follows the store's feed, which has the facts of all processes, and counts events, failures, tokens and cost.
Tokens and cost are by expert: `NodeModels` finds which model a node uses. Totals (runs, approvals, waiting commands)
come from the store at each request. The same task writes a line to the log for each run that ends.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections import Counter, OrderedDict
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias, cast

import orjson
from fastapi import APIRouter, Response

from openskelo import errors
from openskelo.kernel import definition
from openskelo.kernel.json import Json, JsonObject
from openskelo.server import webhooks
from openskelo.stores import api
from openskelo.structs import frozen

if TYPE_CHECKING:
    from prometheus_client import core


class _Store(api.RunLog, api.Listings, Protocol):
    """The part of a store that is counted: the log, and the totals of the listings."""


# -- the models of nodes ----------------------------------------------------------------------------------------------

_MAX_WORKFLOWS = 64
#: The workflow of this many runs is remembered.
_MAX_RUNS = 1024
#: The entry of a node whose model is not known.
UNKNOWN_MODEL: Mapping[str, str] = {"expert": "unknown", "provider": "unknown", "kind": "unknown", "model": "unknown"}

#: By node key: `expert`, `provider`, `kind` and `model`.
ModelsByNode = Mapping[str, Mapping[str, str]]


class NodeModels:
    """Finds which model each node of a run uses, in the workflow that the run has pinned; remembers recent ones."""

    def __init__(self, store: api.RunLog) -> None:
        self._store = store
        self._by_workflow: OrderedDict[str, ModelsByNode] = OrderedDict()
        self._workflow_of_run: OrderedDict[str, str] = OrderedDict()

    async def of_run(self, run_id: str) -> ModelsByNode:
        """Return the models by node key; empty if the run or its workflow was deleted or pruned."""
        name = self._workflow_of_run.get(run_id) or await self._find_workflow(run_id)
        return {} if name is None else await self._read_models(name)

    async def _find_workflow(self, run_id: str) -> str | None:
        async for lines in self._store.read_events(run_id):
            data = cast("JsonObject", orjson.loads(lines[0])).get("data")
            name = data.get("definition") if isinstance(data, Mapping) else None
            if not isinstance(name, str):
                return None
            self._workflow_of_run[run_id] = name
            if len(self._workflow_of_run) > _MAX_RUNS:
                self._workflow_of_run.popitem(last=False)
            return name
        return None

    async def _read_models(self, name: str) -> ModelsByNode:
        models = self._by_workflow.get(name)
        if models is None:
            try:
                models = _parse_models(orjson.loads(await self._store.read_blob(name)))
            except (errors.OpenSkeloError, orjson.JSONDecodeError):
                return {}
            self._by_workflow[name] = models
            if len(self._by_workflow) > _MAX_WORKFLOWS:
                self._by_workflow.popitem(last=False)
        return models


def _parse_models(document: Json) -> ModelsByNode:
    nodes = document.get("nodes") if isinstance(document, Mapping) else None
    models: dict[str, Mapping[str, str]] = {}
    for node in nodes if isinstance(nodes, Sequence) and not isinstance(nodes, str) else ():
        if isinstance(node, Mapping) and isinstance(node.get("key"), str):
            expert = _first_expert(node.get("config"))
            if expert is not None or definition.work_kind(node.get("mode")).calls_model:
                models[cast("str", node["key"])] = expert or UNKNOWN_MODEL
    return models


def _first_expert(config: Json) -> Mapping[str, str] | None:
    """Return the expert that is asked first; a fallback is recorded in the attempt's own log."""
    pins = config.get("pinned") if isinstance(config, Mapping) else None
    experts = pins.get("experts") if isinstance(pins, Mapping) else None
    if not isinstance(experts, Sequence) or isinstance(experts, str) or not experts:
        return None
    first = experts[0]
    if not isinstance(first, Mapping):
        return None
    return {name: str(first.get(name) or "unknown") for name in UNKNOWN_MODEL}


# -- Prometheus' text format ------------------------------------------------------------------------------------------

_CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_Labels: TypeAlias = Mapping[str, str]


@frozen
class Family:
    """Samples with one name; each has labels and a value."""

    name: str
    kind: Literal["gauge", "counter"]
    help: str
    samples: tuple[tuple[_Labels, float], ...]


def gauge(name: str, help_text: str, value: float) -> Family:
    """Return a family of one sample without labels."""
    return Family(name=name, kind="gauge", help=help_text, samples=(({}, value),))


@frozen
class _Collector:
    """The families as `prometheus_client` collects them."""

    families: Sequence[Family | tuple[str, str, api.Histogram]]

    def collect(self) -> Iterator[core.Metric]:
        for family in self.families:
            yield _metric(family) if isinstance(family, Family) else _histogram(*family)


def format_text(families: Sequence[Family | tuple[str, str, api.Histogram]]) -> str:
    """Return the text of all families; a histogram is given by name, help and counts."""
    # Imported here, as below, because it takes 20 ms, which a server that is not asked for metrics should not pay.
    from prometheus_client import exposition  # noqa: PLC0415

    return exposition.generate_latest(_Collector(families=families)).decode()


def _metric(family: Family) -> core.Metric:
    from prometheus_client import core  # noqa: PLC0415

    metric = core.Metric(family.name.removesuffix("_total"), family.help, family.kind)
    for labels, value in family.samples:
        metric.add_sample(family.name, dict(labels), value)
    return metric


def _histogram(name: str, help_text: str, histogram: api.Histogram) -> core.Metric:
    from prometheus_client import core  # noqa: PLC0415

    bounds = [*(f"{bound:g}" for bound in histogram.bounds), "+Inf"]
    buckets = list(zip(bounds, accumulate(histogram.counts), strict=True))
    return core.HistogramMetricFamily(name, help_text, buckets=buckets, sum_value=histogram.sum)


# -- the metrics ------------------------------------------------------------------------------------------------------

_LOG = logging.getLogger("openskelo.server.telemetry.metrics")
_RUN_LOG = logging.getLogger("openskelo.runs")
POLL_SECONDS = 0.5
_CHUNK = 256
#: At most this many error codes are counted apart: handlers may use any code.
_MAX_CODES = 200
#: The facts that say what an attempt has used.
_ATTEMPT_ENDED = ("attempt.succeeded", "attempt.failed", "attempt.interrupted", "attempt.cancelled")


class Streams(Protocol):
    """The counts of the hub that the metrics read."""

    @property
    def followers(self) -> int: ...
    @property
    def waiting_bytes(self) -> int: ...


class Metrics:
    """Counts facts while `counting` is open. Belongs to one event loop."""

    def __init__(self, store: _Store, streams: Streams | None = None) -> None:
        self._store = store
        self._streams = streams
        self._node_models = NodeModels(store)
        self._position = 0
        self._events: Counter[str] = Counter()
        self._failures: Counter[str] = Counter()
        self._tokens: Counter[tuple[str, str]] = Counter()
        self._cost: Counter[str] = Counter()
        self.webhooks: webhooks.Sender | None = None

    @contextlib.asynccontextmanager
    async def counting(self) -> AsyncGenerator[None]:
        """Count while this is open, starting with the next fact."""
        self._position = await self._store.last_position()
        task = asyncio.create_task(self._poll_feed(), name="metrics")
        try:
            yield
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def text(self) -> str:
        """Return all metrics in Prometheus' text format."""
        await self._catch_up()
        totals = await self._store.count_totals()
        lag = max(0, await self._store.last_position() - self._position)
        families: list[Family | tuple[str, str, api.Histogram]] = [
            *self._counter_families(),
            *_total_families(totals),
            gauge("openskelo_feed_lag", "Commits that were not counted yet.", lag),
        ]
        commit_times = self._store.commit_times
        if commit_times is not None:
            families.append(("openskelo_append_seconds", "How long a durable commit takes.", commit_times))
        if self._streams is not None:
            waiting = self._streams.waiting_bytes
            families += [
                gauge("openskelo_streams", "Streams that are open.", self._streams.followers),
                gauge("openskelo_streams_waiting_bytes", "Bytes that slow clients have not taken yet.", waiting),
            ]
        if self.webhooks is not None:
            families += _webhook_families(self.webhooks)
        return format_text(families)

    def router(self) -> APIRouter:
        """Return the router of `GET /metrics`."""
        router = APIRouter()

        @router.get("/metrics", include_in_schema=False)
        async def get_metrics() -> Response:
            return Response(await self.text(), headers={"content-type": _CONTENT_TYPE})

        return router

    # -- counting -----------------------------------------------------------------------------------------------------

    async def _poll_feed(self) -> None:
        while True:
            try:
                await self._catch_up()
            except errors.StoreError as error:
                _LOG.warning("metrics are not counted for now: %s %s", error.code, error.message)
            await asyncio.sleep(POLL_SECONDS)

    async def _catch_up(self) -> None:
        while entries := await self._store.read_feed(after=self._position, limit=_CHUNK):
            if entries[0].position <= self._position:
                return  # another task has counted these
            self._position = entries[-1].position
            for entry in entries:
                for line in entry.lines:
                    await self._count_line(entry.run_id, line)

    async def _count_line(self, run_id: str, line: bytes) -> None:
        event_type = line[line.rfind(b'"type":"') + 8 : -2].decode()
        self._events[event_type] += 1
        if event_type in _ATTEMPT_ENDED and line.startswith(b'{"data"'):
            fact = cast("JsonObject", orjson.loads(line))
            await self._count_attempt(run_id, cast("JsonObject", fact["data"]))
        elif event_type == "run.ended" and line.startswith(b'{"data"'):
            _log_end(run_id, cast("JsonObject", cast("JsonObject", orjson.loads(line))["data"]))

    async def _count_attempt(self, run_id: str, data: JsonObject) -> None:
        error = data.get("error")
        if isinstance(error, Mapping):
            code = str(error.get("code"))
            has_room = code in self._failures or len(self._failures) < _MAX_CODES
            self._failures[code if has_room else "other"] += 1
        receipt = cast("JsonObject", data["receipt"])
        metrics = cast("Mapping[str, int]", receipt["metrics"])
        cost = cast("Mapping[str, int]", data.get("spent") or {}).get("costNanousd", 0)
        if not (cost or metrics["tokens_in"] or metrics["tokens_out"]):
            return
        models = await self._node_models.of_run(run_id)
        expert = models.get(cast("str", data["node"]), UNKNOWN_MODEL)["expert"]
        self._tokens[expert, "in"] += metrics["tokens_in"]
        self._tokens[expert, "out"] += metrics["tokens_out"]
        self._cost[expert] += cost

    def _counter_families(self) -> Sequence[Family]:
        tokens = sorted(self._tokens.items())
        return (
            _counter("openskelo_events_total", "Facts of all runs since the server started.", "type", self._events),
            _counter("openskelo_attempts_failed_total", "Failed attempts by error code.", "code", self._failures),
            Family(
                name="openskelo_tokens_total",
                kind="counter",
                help="Tokens that models have read and written.",
                samples=tuple(
                    ({"expert": expert, "direction": direction}, count) for (expert, direction), count in tokens
                ),
            ),
            Family(
                name="openskelo_cost_usd_total",
                kind="counter",
                help="The cost of models.",
                samples=tuple(({"expert": expert}, cost / 1e9) for expert, cost in sorted(self._cost.items())),
            ),
        )


def _log_end(run_id: str, data: JsonObject) -> None:
    """Write a line about a run that has ended, with the code of its error but without the message, a value."""
    fields: dict[str, Json] = {"runId": run_id, "ending": data["ending"]}
    error = data.get("error")
    if isinstance(error, Mapping):
        fields |= {"code": error.get("code"), "node": error.get("node")}
    why = f" ({fields['code']})" if "code" in fields else ""
    _RUN_LOG.info("run %s ended: %s%s", run_id, data["ending"], why, extra={"fields": fields})


def _counter(name: str, help_text: str, label: str, counts: Counter[str]) -> Family:
    samples = tuple(({label: key}, float(count)) for key, count in sorted(counts.items()))
    return Family(name=name, kind="counter", help=help_text, samples=samples)


def _total_families(totals: api.Totals) -> Sequence[Family]:
    seconds_waited = 0.0 if totals.waiting_since is None else max(0.0, time.time() - totals.waiting_since / 1000)
    runs = tuple(
        ({"status": status, "ending": ending or ""}, float(count))
        for (status, ending), count in sorted(totals.runs.items(), key=str)
    )
    return (
        Family(name="openskelo_runs", kind="gauge", help="Runs by status and ending.", samples=runs),
        gauge("openskelo_approvals_open", "Approvals that wait for an answer.", totals.approvals),
        gauge("openskelo_approvals_oldest_seconds", "How long the oldest open approval has waited.", seconds_waited),
        gauge("openskelo_commands_waiting", "Commands that no driver has taken yet.", totals.commands),
    )


def _webhook_families(sender: webhooks.Sender) -> Sequence[Family]:
    backlogs = sender.backlog()
    states: list[tuple[_Labels, float]] = []
    ages: list[tuple[_Labels, float]] = []
    for hook in sender.hooks:
        backlog = backlogs.get(hook.id)
        states.append(({"hook": hook.label, "state": "waiting"}, 0 if backlog is None else backlog.waiting))
        states.append(({"hook": hook.label, "state": "dead"}, 0 if backlog is None else backlog.dead))
        oldest = None if backlog is None else backlog.oldest
        age = 0.0 if oldest is None else max(0.0, time.time() - oldest / 1000)
        ages.append(({"hook": hook.label}, age))
    return (
        Family(
            name="openskelo_webhook_deliveries",
            kind="gauge",
            help="Deliveries that wait or were given up.",
            samples=tuple(states),
        ),
        Family(
            name="openskelo_webhook_oldest_seconds",
            kind="gauge",
            help="How long the oldest waiting delivery has waited.",
            samples=tuple(ages),
        ),
    )
