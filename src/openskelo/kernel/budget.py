"""Budgets: what an attempt may need is reserved before it starts, and what it has used is counted when it is over.

A run that exceeds a limit ends as `budget_exceeded`, with the numbers as evidence. The functions return that evidence,
or None if the limit holds. `apply.attempts` keeps the sums that are compared here.
"""

from __future__ import annotations

from openskelo.kernel import definition
from openskelo.kernel.json import JsonObject
from openskelo.kernel.run import Run


def refusal(run: Run, reserve: definition.Amount, at: int) -> JsonObject | None:
    """Return why an attempt that needs `reserve`, a step and a millisecond does not fit into what is left, or None."""
    limits, usage, reserved_amounts = run.workflow.limits, run.spent, run.reserved
    rows = (
        ("max_tokens", limits.max_tokens, usage.tokens + reserved_amounts.tokens, reserve.tokens),
        (
            "max_cost_usd",
            limits.max_cost_nanousd,
            usage.cost_nanousd + reserved_amounts.cost_nanousd,
            reserve.cost_nanousd,
        ),
        (
            "max_tool_spend_usd",
            limits.max_tool_nanousd,
            usage.tool_nanousd + reserved_amounts.tool_nanousd,
            reserve.tool_nanousd,
        ),
        ("max_wall_ms", limits.max_wall_ms, wall_ms(run, at), 1),
    )
    for name, limit, amount, demand in rows:
        if limit is not None and amount + demand > limit:
            return _evidence(name, limit, amount, demand)
    return step_refusal(run)


def step_refusal(run: Run) -> JsonObject | None:
    """Return why one more step does not fit, or None; every reserved step is used by its attempt."""
    limit, step_count = run.workflow.limits.max_steps, run.spent.steps + run.reserved.steps
    return _evidence("max_steps", limit, step_count, 1) if limit is not None and step_count + 1 > limit else None


def shortage(run: Run, tokens: int, cost_nanousd: int) -> JsonObject | None:
    """Return why work that turned out to need this much does not fit into what is not used yet, or None."""
    limits, usage = run.workflow.limits, run.spent
    rows = (
        ("max_tokens", limits.max_tokens, usage.tokens, tokens),
        ("max_cost_usd", limits.max_cost_nanousd, usage.cost_nanousd, cost_nanousd),
    )
    for name, limit, amount, demand in rows:
        if limit is not None and amount + demand > limit:
            return _evidence(name, limit, amount, demand)
    return None


def overrun(run: Run, at: int) -> JsonObject | None:
    """Return the first limit that the amounts used exceed, or None; steps are reserved, so they never exceed theirs."""
    limits, usage = run.workflow.limits, run.spent
    rows = (
        ("max_tokens", limits.max_tokens, usage.tokens),
        ("max_cost_usd", limits.max_cost_nanousd, usage.cost_nanousd),
        ("max_tool_spend_usd", limits.max_tool_nanousd, usage.tool_nanousd),
        ("max_wall_ms", limits.max_wall_ms, wall_ms(run, at)),
    )
    for name, limit, amount in rows:
        if limit is not None and amount > limit:
            return _evidence(name, limit, amount, 0)
    return None


def wall_ms(run: Run, at: int) -> int:
    """Return the time that the run has been busy; waiting for a person does not count."""
    running = 0 if run.active_since is None else max(0, at - run.active_since)
    return run.spent.wall_ms + running


def wall_deadline(run: Run) -> int | None:
    """Return when the run exceeds its wall time if it stays busy; None if it has no such limit or is not busy."""
    limit = run.workflow.limits.max_wall_ms
    if limit is None or run.active_since is None:
        return None
    return run.active_since + limit - run.spent.wall_ms + 1


def _evidence(name: str, limit: int, used: int, wanted: int) -> JsonObject:
    """Return exact amounts for programs (money in nano-dollars), and a message in the unit that the author wrote."""
    show, unit = str, ""
    if name.endswith("_usd"):
        show, unit = _dollars, " USD"
    elif name.endswith("_ms"):
        unit = " ms"
    needs = f" and the next attempt needs {show(wanted)}" if wanted else ""
    message = f"{name} is {show(limit)}{unit}; {show(used)} used{needs}"
    return {"code": "BUDGET_EXCEEDED", "message": message, "limit": name, "allowed": limit, "used": used}


def _dollars(nano: int) -> str:
    """Return the amount in dollars, with all of its digits and no trailing zeros."""
    whole, rest = divmod(nano, definition.NANO_PER_USD)
    return f"{whole}.{rest:09d}".rstrip("0").rstrip(".") if rest else str(whole)
