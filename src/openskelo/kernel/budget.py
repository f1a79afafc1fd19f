"""Budgets: reserved before an attempt starts, settled when it lands, and its own ending when one is exceeded."""

from __future__ import annotations

from openskelo.kernel import definition
from openskelo.kernel.json import JsonObject
from openskelo.kernel.run import Run


def refusal(run: Run, reserve: definition.Amount, at: int) -> JsonObject | None:
    """Why an attempt that needs `reserve` (and a step, and a millisecond) does not fit into what is left, or None."""
    limits, spent, held = run.workflow.limits, run.spent, run.reserved
    rows = (
        ("max_tokens", limits.max_tokens, spent.tokens + held.tokens, reserve.tokens),
        ("max_cost_usd", limits.max_cost_nanousd, spent.cost_nanousd + held.cost_nanousd, reserve.cost_nanousd),
        ("max_tool_spend_usd", limits.max_tool_nanousd, spent.tool_nanousd + held.tool_nanousd, reserve.tool_nanousd),
        ("max_wall_ms", limits.max_wall_ms, wall_ms(run, at), 1),
    )
    for name, limit, used, wanted in rows:
        if limit is not None and used + wanted > limit:
            return _evidence(name, limit, used, wanted)
    return step_refusal(run)


def step_refusal(run: Run) -> JsonObject | None:
    """Why one more step does not fit, or None. A step once reserved is never given back: its attempt takes it."""
    limit, used = run.workflow.limits.max_steps, run.spent.steps + run.reserved.steps
    return _evidence("max_steps", limit, used, 1) if limit is not None and used + 1 > limit else None


def shortage(run: Run, tokens: int, cost_nanousd: int) -> JsonObject | None:
    """Why work that needs so much, as it has turned out, cannot be done with what is not used yet; None if it can."""
    limits, spent = run.workflow.limits, run.spent
    rows = (
        ("max_tokens", limits.max_tokens, spent.tokens, tokens),
        ("max_cost_usd", limits.max_cost_nanousd, spent.cost_nanousd, cost_nanousd),
    )
    for name, limit, used, wanted in rows:
        if limit is not None and used + wanted > limit:
            return _evidence(name, limit, used, wanted)
    return None


def overrun(run: Run, at: int) -> JsonObject | None:
    """The first limit that what was really used has gone beyond, or None. Steps cannot: each is reserved."""
    limits, spent = run.workflow.limits, run.spent
    rows = (
        ("max_tokens", limits.max_tokens, spent.tokens),
        ("max_cost_usd", limits.max_cost_nanousd, spent.cost_nanousd),
        ("max_tool_spend_usd", limits.max_tool_nanousd, spent.tool_nanousd),
        ("max_wall_ms", limits.max_wall_ms, wall_ms(run, at)),
    )
    for name, limit, used in rows:
        if limit is not None and used > limit:
            return _evidence(name, limit, used, 0)
    return None


def wall_ms(run: Run, at: int) -> int:
    """Time the run was busy so far; waiting for a person is not counted."""
    running = 0 if run.active_since is None else max(0, at - run.active_since)
    return run.spent.wall_ms + running


def wall_deadline(run: Run) -> int | None:
    """When the run's time is up if it stays busy, or None while nothing counts."""
    limit = run.workflow.limits.max_wall_ms
    if limit is None or run.active_since is None:
        return None
    return run.active_since + limit - run.spent.wall_ms + 1


def _evidence(name: str, limit: int, used: int, wanted: int) -> JsonObject:
    """Exact amounts for programs (money in nano-dollars), and a message in the unit that the author wrote."""
    unit = " USD" if name.endswith("_usd") else " ms" if name.endswith("_ms") else ""
    allowed, taken, asked = (_dollars(amount) if unit == " USD" else str(amount) for amount in (limit, used, wanted))
    needs = f" and the next attempt needs {asked}" if wanted else ""
    message = f"{name} is {allowed}{unit}; {taken} used{needs}"
    return {"code": "BUDGET_EXCEEDED", "message": message, "limit": name, "allowed": limit, "used": used}


def _dollars(nano: int) -> str:
    """All of its digits, and no more."""
    whole, rest = divmod(nano, 10**9)
    return f"{whole}.{rest:09d}".rstrip("0").rstrip(".") if rest else str(whole)
