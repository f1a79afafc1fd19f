"""Bounds and amounts: retries, budgets, defaults, and what an author expects a block to take."""

from __future__ import annotations

from typing import cast

from openskelo.frozen import frozen
from openskelo.kernel import definition
from openskelo.kernel.json import Json
from openskelo.workflows import cursor

_NANO = 1_000_000_000
_MOST = 2**53
_MOST_USD = 1_000_000
_LONGEST_MS = 7 * 86_400_000
_BACKOFFS = ("none", "linear", "exponential")
_DELAY_MS = 1_000


@frozen
class Defaults:
    """What `defaults` says for all blocks of a file."""

    retry: definition.Retry = definition.Retry()
    timeout_ms: int | None = None
    parallel: int = 64


def defaults(found: cursor.Cursor | None) -> Defaults:
    """The `defaults` section."""
    fields = None if found is None else found.fields({"retry", "timeout_ms", "concurrency", "stall_after"})
    if fields is None:
        return Defaults()
    base = definition.Retry(stall_after=fields.integer("stall_after", 3, 0, 1000))
    timeout = fields.get("timeout_ms")
    return Defaults(
        retry=retry(fields.get("retry"), base),
        timeout_ms=None if timeout is None else timeout.integer(1, _LONGEST_MS),
        parallel=fields.integer("concurrency", 64, 1, 10_000),
    )


def retry(found: cursor.Cursor | None, base: definition.Retry) -> definition.Retry:
    """The `retry` section over what holds without it."""
    keys = {"max_attempts", "backoff", "delay_ms", "max_delay_ms", "stall_after"}
    fields = None if found is None else found.fields(keys)
    if fields is None:
        return base
    backoff = cast("definition.Backoff", fields.choice("backoff", _BACKOFFS, base.backoff))
    # A growing delay that starts at nothing would never grow.
    delay = base.delay_ms or (_DELAY_MS if backoff != "none" else 0)
    return definition.Retry(
        max_attempts=fields.integer("max_attempts", base.max_attempts, 1, 100),
        backoff=backoff,
        delay_ms=fields.integer("delay_ms", delay, 0, _LONGEST_MS),
        max_delay_ms=fields.integer("max_delay_ms", base.max_delay_ms, 0, _LONGEST_MS),
        stall_after=fields.integer("stall_after", base.stall_after, 0, 1000),
    )


def budgets(found: cursor.Cursor | None) -> definition.Limits:
    """The `budgets` section; dollars become whole nano-dollars."""
    keys = {"max_steps", "max_tokens", "max_wall_ms", "max_tool_spend_usd", "max_cost_usd"}
    fields = None if found is None else found.fields(keys)
    if fields is None:
        return definition.Limits()
    return definition.Limits(
        max_steps=_count(fields.get("max_steps")),
        max_tokens=_count(fields.get("max_tokens")),
        max_wall_ms=_count(fields.get("max_wall_ms")),
        max_cost_nanousd=_money(fields.get("max_cost_usd")),
        max_tool_nanousd=_money(fields.get("max_tool_spend_usd")),
    )


def estimate(found: cursor.Cursor | None, mode: str) -> definition.Estimate | None:
    """The `estimate` section; only a model uses tokens and money."""
    fields = None if found is None else found.fields({"tokens", "cost_usd", "duration_sec"})
    if fields is None:
        return None
    tokens = fields.integer("tokens", 0, 0, _MOST)
    cost = fields.number("cost_usd", 0, 0, _MOST_USD)
    for key, value in (("tokens", tokens), ("cost_usd", cost)):
        if mode != "ai" and value and (spot := fields.get(key)) is not None:
            what = "a deterministic block calls no model" if mode == "deterministic" else "a person uses no model"
            spot.problem("ESTIMATE_INVALID", f"`{key}` must be 0: {what}")
    duration = fields.number("duration_sec", 0, 0, 366 * 86_400)
    return definition.Estimate(tokens=tokens, cost_usd=float(cost), duration_sec=float(duration))


def reserve(estimated: definition.Estimate | None, max_tokens: Json) -> definition.Amount:
    """What to set aside before an attempt: the author's bound on tokens, else what the author expects."""
    tokens = 0 if estimated is None else estimated.tokens
    if isinstance(max_tokens, int) and not isinstance(max_tokens, bool):
        tokens = max(tokens, max_tokens)
    cost = 0 if estimated is None else nano(estimated.cost_usd)
    return definition.Amount(tokens=tokens, cost_nanousd=cost) if tokens or cost else definition.NOTHING


def nano(usd: float) -> int:
    """Dollars as whole nano-dollars."""
    return round(usd * _NANO)


def _count(found: cursor.Cursor | None) -> int | None:
    return None if found is None else found.integer(0, _MOST)


def _money(found: cursor.Cursor | None) -> int | None:
    value = None if found is None else found.number(0, _MOST_USD)
    return None if value is None else nano(value)
