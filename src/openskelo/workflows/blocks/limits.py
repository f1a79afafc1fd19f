"""The sections with limits and amounts: `defaults`, `retry`, `budgets` and `estimate`.

Money is kept in whole nano-dollars, because sums of binary fractions of a dollar would not be exact.
"""

from __future__ import annotations

from typing import cast

from openskelo.kernel import definition
from openskelo.kernel.json import Json
from openskelo.structs import frozen
from openskelo.workflows.text import cursor

_MAX_COUNT = 2**53
_MAX_USD = 1_000_000
_MAX_MS = 7 * 86_400_000
_BACKOFFS = ("none", "linear", "exponential")
_FIRST_DELAY_MS = 1_000
#: The time limit of a handler that has no other: long for computation, short enough to notice a hung request.
HANDLER_TIMEOUT_MS = 300_000


def handler_timeout(fields: cursor.Fields) -> int:
    """Read the key `handler_timeout_ms` of `skelo.yaml`."""
    return fields.integer("handler_timeout_ms", HANDLER_TIMEOUT_MS, 1, _MAX_MS)


@frozen
class Defaults:
    """The defaults for all blocks of a file."""

    retry: definition.Retry = definition.Retry()
    timeout_ms: int | None = None
    parallel: int = 64


def defaults(section: cursor.Cursor | None) -> Defaults:
    """Read the `defaults` section."""
    fields = None if section is None else section.fields({"retry", "timeout_ms", "concurrency", "stall_after"})
    if fields is None:
        return Defaults()
    base = definition.Retry(stall_after=fields.integer("stall_after", 3, 0, 1000))
    timeout = fields.get("timeout_ms")
    return Defaults(
        retry=retry(fields.get("retry"), base),
        timeout_ms=None if timeout is None else timeout.integer(1, _MAX_MS),
        parallel=fields.integer("concurrency", 64, 1, 10_000),
    )


def retry(section: cursor.Cursor | None, base: definition.Retry) -> definition.Retry:
    """Read the `retry` section; `base` holds for keys that it leaves out."""
    keys = {"max_attempts", "backoff", "delay_ms", "max_delay_ms", "stall_after"}
    fields = None if section is None else section.fields(keys)
    if fields is None:
        return base
    backoff = cast("definition.Backoff", fields.choice("backoff", _BACKOFFS, base.backoff))
    # A growing delay that starts at zero would never grow.
    delay = base.delay_ms or (_FIRST_DELAY_MS if backoff != "none" else 0)
    return definition.Retry(
        max_attempts=fields.integer("max_attempts", base.max_attempts, 1, 100),
        backoff=backoff,
        delay_ms=fields.integer("delay_ms", delay, 0, _MAX_MS),
        max_delay_ms=fields.integer("max_delay_ms", base.max_delay_ms, 0, _MAX_MS),
        stall_after=fields.integer("stall_after", base.stall_after, 0, 1000),
    )


def budgets(section: cursor.Cursor | None) -> definition.Limits:
    """Read the `budgets` section."""
    keys = {"max_steps", "max_tokens", "max_wall_ms", "max_tool_spend_usd", "max_cost_usd"}
    fields = None if section is None else section.fields(keys)
    if fields is None:
        return definition.Limits()
    return definition.Limits(
        max_steps=_count(fields.get("max_steps")),
        max_tokens=_count(fields.get("max_tokens")),
        max_wall_ms=_count(fields.get("max_wall_ms")),
        max_cost_nanousd=_nanousd(fields.get("max_cost_usd")),
        max_tool_nanousd=_nanousd(fields.get("max_tool_spend_usd")),
    )


def estimate(section: cursor.Cursor | None, mode: str) -> definition.Estimate | None:
    """Read the `estimate` section; only a node that calls a model of the project uses tokens and money."""
    fields = None if section is None else section.fields({"tokens", "cost_usd", "duration_sec"})
    if fields is None:
        return None
    tokens = fields.integer("tokens", 0, 0, _MAX_COUNT)
    cost = fields.number("cost_usd", 0, 0, _MAX_USD)
    calls_model = definition.work_kind(mode).calls_model
    for key, value in (("tokens", tokens), ("cost_usd", cost)):
        if not calls_model and value and (place := fields.get(key)) is not None:
            reason = f"a block of mode {mode} calls no model of the project"
            place.problem("ESTIMATE_INVALID", f"`{key}` must be 0: {reason}")
    duration = fields.number("duration_sec", 0, 0, 366 * 86_400)
    return definition.Estimate(tokens=tokens, cost_usd=float(cost), duration_sec=float(duration))


def reserve(estimated: definition.Estimate | None, max_tokens: Json) -> definition.Amount:
    """Return what to reserve before an attempt: the larger of the author's estimate and `max_tokens`."""
    tokens = 0 if estimated is None else estimated.tokens
    if isinstance(max_tokens, int) and not isinstance(max_tokens, bool):
        tokens = max(tokens, max_tokens)
    cost = 0 if estimated is None else to_nanousd(estimated.cost_usd)
    if tokens or cost:
        return definition.Amount(tokens=tokens, cost_nanousd=cost)
    return definition.NOTHING


def to_nanousd(usd: float) -> int:
    """Return dollars as whole nano-dollars."""
    return round(usd * definition.NANO_PER_USD)


def _count(place: cursor.Cursor | None) -> int | None:
    return None if place is None else place.integer(0, _MAX_COUNT)


def _nanousd(place: cursor.Cursor | None) -> int | None:
    value = None if place is None else place.number(0, _MAX_USD)
    return None if value is None else to_nanousd(value)
