"""What a server counts: facts of all runs as the feed brings them, and where everything stands when it is asked.

metrics = Metrics(engine.store, hub, teller)
app.include_router(metrics.router())      # GET /metrics
async with metrics.counting(): ...
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections import Counter
from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Protocol, cast

import orjson
from fastapi import APIRouter, Response

from openskelo import errors
from openskelo.kernel.json import JsonObject
from openskelo.server import asked, exposition, webhooks
from openskelo.server.exposition import Family
from openskelo.stores import log, timed

_LOG = logging.getLogger("openskelo.server.metrics")
LOOK_SECONDS = 0.5
_CHUNK = 256
#: So many different error codes are told apart: those of handlers are whatever their authors like.
_MOST_CODES = 200
#: The facts that say what an attempt has used.
_LANDING = ("attempt.succeeded", "attempt.failed", "attempt.interrupted", "attempt.cancelled")


class Streams(Protocol):
    """What is asked of the hub."""

    @property
    def followers(self) -> int: ...
    @property
    def waiting_bytes(self) -> int: ...


class Metrics:
    """Counts from `counting` on. Belongs to one event loop."""

    def __init__(self, store: log.Log, streams: Streams | None = None) -> None:
        self._store = store
        self._streams = streams
        self._asked = asked.Asked(store)
        self._position = 0
        self._events: Counter[str] = Counter()
        self._failures: Counter[str] = Counter()
        self._tokens: Counter[tuple[str, str]] = Counter()
        self._cost: Counter[str] = Counter()
        self.teller: webhooks.Teller | None = None

    @contextlib.asynccontextmanager
    async def counting(self) -> AsyncGenerator[None]:
        """Count for as long as this is open, beginning with what happens now."""
        self._position = await self._store.position()
        task = asyncio.create_task(self._count(), name="metrics")
        try:
            yield
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def text(self) -> str:
        """Everything, in Prometheus' format."""
        await self._catch_up()
        tally = await self._store.tally()
        lag = max(0, await self._store.position() - self._position)
        families: list[Family | tuple[str, str, timed.Histogram]] = [
            *self._counted(),
            *_standing(tally),
            exposition.gauge("openskelo_feed_lag", "Commits that were not looked at yet.", lag),
        ]
        if isinstance(self._store, timed.TimedLog):
            families.append(("openskelo_append_seconds", "How long a durable commit takes.", self._store.appends))
        if self._streams is not None:
            waiting = self._streams.waiting_bytes
            families += [
                exposition.gauge("openskelo_streams", "Streams that are open.", self._streams.followers),
                exposition.gauge("openskelo_streams_waiting_bytes", "What slow clients have not taken yet.", waiting),
            ]
        if self.teller is not None:
            families += _owed(self.teller)
        return exposition.text(families)

    def router(self) -> APIRouter:
        """`GET /metrics`; who may see it is for the guard to say."""
        router = APIRouter()

        @router.get("/metrics", include_in_schema=False)
        async def get_metrics() -> Response:
            return Response(await self.text(), headers={"content-type": exposition.CONTENT_TYPE})

        return router

    # -- counting -----------------------------------------------------------------------------------------------------

    async def _count(self) -> None:
        while True:
            try:
                await self._catch_up()
            except errors.StoreError as error:
                _LOG.warning("nothing is counted for now: %s %s", error.code, error.message)
            await asyncio.sleep(LOOK_SECONDS)

    async def _catch_up(self) -> None:
        while fed := await self._store.feed(after=self._position, limit=_CHUNK):
            if fed[0].position <= self._position:
                return  # the other one of us was quicker
            self._position = fed[-1].position
            for added in fed:
                for line in added.lines:
                    await self._line(added.run_id, line)

    async def _line(self, run_id: str, line: bytes) -> None:
        kind = line[line.rfind(b'"type":"') + 8 : -2].decode()
        self._events[kind] += 1
        if kind in _LANDING and line.startswith(b'{"data"'):
            opened = cast("JsonObject", orjson.loads(line))
            await self._attempt(run_id, cast("JsonObject", opened["data"]))

    async def _attempt(self, run_id: str, data: JsonObject) -> None:
        error = data.get("error")
        if isinstance(error, Mapping):
            code = str(error.get("code"))
            known = code in self._failures or len(self._failures) < _MOST_CODES
            self._failures[code if known else "other"] += 1
        receipt = cast("JsonObject", data["receipt"])
        metrics = cast("Mapping[str, int]", receipt["metrics"])
        cost = cast("Mapping[str, int]", data.get("spent") or {}).get("costNanousd", 0)
        if not (cost or metrics["tokens_in"] or metrics["tokens_out"]):
            return
        experts = await self._asked.of(run_id)
        expert = experts.get(cast("str", data["node"]), asked.UNKNOWN)["expert"]
        self._tokens[expert, "in"] += metrics["tokens_in"]
        self._tokens[expert, "out"] += metrics["tokens_out"]
        self._cost[expert] += cost

    def _counted(self) -> Sequence[Family]:
        tokens = sorted(self._tokens.items())
        return (
            _counter("openskelo_events_total", "Facts of all runs since the server started.", "type", self._events),
            _counter("openskelo_attempts_failed_total", "Failed attempts by error code.", "code", self._failures),
            Family(
                name="openskelo_tokens_total",
                kind="counter",
                help="Tokens that models took and gave.",
                samples=tuple(({"expert": expert, "direction": way}, count) for (expert, way), count in tokens),
            ),
            Family(
                name="openskelo_cost_usd_total",
                kind="counter",
                help="What models cost.",
                samples=tuple(({"expert": expert}, cost / 1e9) for expert, cost in sorted(self._cost.items())),
            ),
        )


def _counter(name: str, help_text: str, label: str, counts: Counter[str]) -> Family:
    samples = tuple(({label: key}, float(count)) for key, count in sorted(counts.items()))
    return Family(name=name, kind="counter", help=help_text, samples=samples)


def _standing(tally: log.Tally) -> Sequence[Family]:
    waited = 0.0 if tally.waiting_since is None else max(0.0, time.time() - tally.waiting_since / 1000)
    runs = tuple(
        ({"status": status, "ending": ending or ""}, float(count))
        for (status, ending), count in sorted(tally.runs.items(), key=str)
    )
    return (
        Family(name="openskelo_runs", kind="gauge", help="Runs that are kept, by where they stand.", samples=runs),
        exposition.gauge("openskelo_approvals_open", "Questions that wait for a person.", tally.approvals),
        exposition.gauge("openskelo_approvals_oldest_seconds", "How long the longest of them waits.", waited),
        exposition.gauge("openskelo_commands_waiting", "Commands that no driver has taken yet.", tally.commands),
    )


def _owed(teller: webhooks.Teller) -> Sequence[Family]:
    backlog = teller.backlog()
    states: list[tuple[exposition.Labels, float]] = []
    ages: list[tuple[exposition.Labels, float]] = []
    for hook in teller.hooks:
        found = backlog.get(hook.id)
        states.append(({"hook": hook.label, "state": "waiting"}, 0 if found is None else found.waiting))
        states.append(({"hook": hook.label, "state": "dead"}, 0 if found is None else found.dead))
        oldest = None if found is None else found.oldest
        ages.append(({"hook": hook.label}, 0.0 if oldest is None else max(0.0, time.time() - oldest / 1000)))
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
            help="How long the longest of those that wait does.",
            samples=tuple(ages),
        ),
    )
