"""What finished runs of a workflow took: in all, and one attempt of each of its nodes."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import cast

import orjson

from openskelo.frozen import field, frozen, mutable
from openskelo.kernel.json import Json, JsonObject
from openskelo.stores import log
from openskelo.workflows import estimate

#: So many finished runs are looked at, among so many newest of all.
_RUNS = 20
_ROWS = 500


@frozen
class Past:
    """What finished runs of the same name used, on the average; `attempts` by node, of those that asked nobody."""

    runs: int
    succeeded: int
    steps: float
    tokens: float
    cost_usd: float
    seconds: float
    attempts: Mapping[str, estimate.Quantity] = field(default_factory=dict[str, estimate.Quantity])

    def document(self) -> dict[str, Json]:
        """The past as JSON."""
        return {
            "runs": self.runs,
            "succeeded": self.succeeded,
            "average": {
                "steps": self.steps,
                "tokens": self.tokens,
                "costUsd": self.cost_usd,
                "durationSec": self.seconds,
            },
        }


@mutable
class _Spent:
    """Amounts added up, and of how many."""

    count: int = 0
    steps: float = 0
    tokens: float = 0
    nano: float = 0
    wall_ms: float = 0

    def add(self, steps: float, tokens: float, nano: float, wall_ms: float) -> None:
        self.count += 1
        self.steps += steps
        self.tokens += tokens
        self.nano += nano
        self.wall_ms += wall_ms


async def read(store: log.Log, name: str) -> Past | None:
    """The newest finished runs of a workflow's name; None when there are none, or all of them were pruned."""
    runs, attempts = _Spent(), dict[str, _Spent]()
    succeeded = 0
    rows = [row for row in await store.rows(limit=_ROWS) if row.name == name and row.ending is not None][:_RUNS]
    for row in rows:
        if await _add(store, row.run_id, runs, attempts):
            succeeded += row.ending == "ok"
    if not runs.count:
        return None
    return Past(
        runs=runs.count,
        succeeded=succeeded,
        steps=runs.steps / runs.count,
        tokens=runs.tokens / runs.count,
        cost_usd=runs.nano / runs.count / 1e9,
        seconds=runs.wall_ms / runs.count / 1e3,
        attempts={key: _average(spent) for key, spent in attempts.items()},
    )


async def _add(store: log.Log, run_id: str, runs: _Spent, attempts: dict[str, _Spent]) -> bool:
    """Add a run, whose last event holds what it took; False when that was pruned. Damage counts for nothing."""
    last = b"{}"
    async for lines in store.read(run_id):
        for line in lines:
            if b'"receipt":' in line:
                _add_attempt(_object(_opened(line), "data"), attempts)
        last = lines[-1]
        await asyncio.sleep(0)  # a server has others to answer meanwhile
    spent = _object(_object(_opened(last), "data"), "spent")
    if not spent:
        return False
    runs.add(*(_number(spent, key) for key in ("steps", "tokens", "costNanousd", "wallMs")))
    return True


def _add_attempt(data: JsonObject, attempts: dict[str, _Spent]) -> None:
    receipt = _object(data, "receipt")
    if receipt.get("op") in ("approval", "ask_human") or receipt.get("status") not in ("succeeded", "failed"):
        return
    metrics = _object(receipt, "metrics")
    tokens = _number(metrics, "tokens_in") + _number(metrics, "tokens_out")
    nano = _number(_object(data, "spent"), "costNanousd")
    one = attempts.setdefault(str(receipt.get("step_id")), _Spent())
    one.add(1, tokens, nano, _number(metrics, "wall_ms"))


def _average(spent: _Spent) -> estimate.Quantity:
    return estimate.Quantity(
        tokens=round(spent.tokens / spent.count),
        cost_usd=spent.nano / spent.count / 1e9,
        duration_sec=spent.wall_ms / spent.count / 1e3,
    )


def _object(found: JsonObject, key: str) -> JsonObject:
    """An object of the log; empty where it was pruned."""
    value = found.get(key)
    return cast("JsonObject", value) if isinstance(value, dict) else {}


def _opened(line: bytes) -> JsonObject:
    try:
        found: object = orjson.loads(line)
    except orjson.JSONDecodeError:
        found = None
    return cast("JsonObject", found) if isinstance(found, dict) else {}


def _number(found: JsonObject, key: str) -> float:
    value = found.get(key)
    return value if isinstance(value, int | float) else 0
