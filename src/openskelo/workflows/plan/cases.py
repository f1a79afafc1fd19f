"""What a run of a plan takes along its paths: at best, when every condition holds, and at worst.

At best each amount is that of the path that takes the least of it; at worst all tries and repairs are used up, and
every loop is gone round as often as it may be.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Mapping

from openskelo.frozen import frozen
from openskelo.kernel import definition
from openskelo.workflows.plan import flow


@frozen
class Cost:
    """Amounts that budgets count; money in nano-dollars."""

    steps: int = 0
    tokens: int = 0
    cost_nanousd: int = 0
    tool_nanousd: int = 0

    def plus(self, other: Cost) -> Cost:
        return Cost(
            steps=self.steps + other.steps,
            tokens=self.tokens + other.tokens,
            cost_nanousd=self.cost_nanousd + other.cost_nanousd,
            tool_nanousd=self.tool_nanousd + other.tool_nanousd,
        )

    def times(self, factor: int) -> Cost:
        return Cost(
            steps=self.steps * factor,
            tokens=self.tokens * factor,
            cost_nanousd=self.cost_nanousd * factor,
            tool_nanousd=self.tool_nanousd * factor,
        )

    def highest(self, other: Cost) -> Cost:
        return Cost(
            steps=max(self.steps, other.steps),
            tokens=max(self.tokens, other.tokens),
            cost_nanousd=max(self.cost_nanousd, other.cost_nanousd),
            tool_nanousd=max(self.tool_nanousd, other.tool_nanousd),
        )


@frozen
class Worst:
    """The worst case, and how often each step is entered in it; not `bounded`: only the budget ends some loop."""

    cost: Cost
    visits: Mapping[str, int]
    bounded: bool


def once(node: definition.Node) -> Cost:
    """One attempt of a step."""
    reserve = node.reserve
    return Cost(steps=1, tokens=reserve.tokens, cost_nanousd=reserve.cost_nanousd, tool_nanousd=reserve.tool_nanousd)


def least(workflow: definition.Workflow) -> Cost:
    """The best case. Of tokens and of what models cost it is the largest reservation that no path avoids: what an
    attempt does not use of it is given back. Tools cost what they cost, and steps are never given back."""
    ways = flow.of(workflow)

    def taken(amount: Callable[[Cost], int], merge: Callable[[int, int], int]) -> int:
        return _cheapest(ways, lambda key: amount(_visit(workflow, ways, key, tries=1)), merge)

    return Cost(
        steps=taken(lambda cost: cost.steps, lambda one, other: one + other),
        tokens=taken(lambda cost: cost.tokens, max),
        cost_nanousd=taken(lambda cost: cost.cost_nanousd, max),
        tool_nanousd=taken(lambda cost: cost.tool_nanousd, lambda one, other: one + other),
    )


def most(workflow: definition.Workflow) -> Worst:
    """The worst case: the longest way through, with every loop as often as its steps may be entered."""
    ways = flow.of(workflow)
    free = frozenset(key for group in flow.unbounded(ways) for key in group)
    limit = workflow.limits.max_steps
    visits: dict[str, int] = {}
    dearest: dict[str, Cost] = {}
    for group in flow.components(ways):  # those it leads to come first
        rounds = _rounds(ways, group, limit if not free.isdisjoint(group) else None)
        visits |= {key: _entered(ways.steps[key], rounds) for key in group}
        whole = Cost()
        for key in group:
            whole = whole.plus(_visit(workflow, ways, key, tries=None).times(visits[key]))
        after = Cost()
        for key in group:
            for target in ways.exits(key):
                after = after.highest(dearest.get(target, Cost()))
        for key in group:
            dearest[key] = whole.plus(after)
    for key in visits.copy():
        target = ways.steps[key].target
        if target is not None:
            tries = workflow.nodes[key].retry.max_attempts
            visits[target] = visits.get(target, 0) + visits[key] * tries
    return Worst(cost=dearest[ways.entry], visits=visits, bounded=not free)


def _entered(step: definition.Step, rounds: int) -> int:
    return rounds if step.max_visits is None else min(rounds, step.max_visits)


def _rounds(ways: flow.Flow, group: tuple[str, ...], limit: int | None) -> int:
    """How often a step of a group can be entered: between two visits some step that has a bound was passed."""
    if not flow.is_loop(ways, group):
        return 1
    if limit is not None:
        return limit
    return 1 + sum(ways.steps[key].max_visits or 0 for key in group)


def likely(workflow: definition.Workflow) -> tuple[str, ...]:
    """The path on which nothing fails and every condition holds, but those that lead back."""
    ways = flow.of(workflow)
    path: dict[str, None] = {}
    key: str | None = ways.entry
    while key is not None and key not in path:
        path[key] = None
        step = ways.steps[key]
        if step.op == "branch":
            key = step.then if step.then not in path else step.otherwise
        else:
            key = None if step.op == "emit" else step.next
    return tuple(path)


def shortest(workflow: definition.Workflow) -> tuple[str, ...]:
    """A path with the fewest steps."""
    ways = flow.of(workflow)
    came: dict[str, str | None] = {ways.entry: None}
    queue = [ways.entry]
    end = ways.entry
    for key in queue:  # grows while it is walked
        end = key
        if not ways.exits(key) or ways.may_end(key):
            break
        for target in ways.exits(key):
            if target not in came:
                came[target] = key
                queue.append(target)
    path: list[str] = []
    at: str | None = end
    while at is not None:
        path.append(at)
        at = came[at]
    return tuple(reversed(path))


def _visit(workflow: definition.Workflow, ways: flow.Flow, key: str, *, tries: int | None) -> Cost:
    """What a visit takes, its retry's target included; without `tries` all tries and repairs count."""
    node, step = workflow.nodes[key], ways.steps[key]
    own = once(node).times(1 if tries is not None else 1 + node.repairs)
    if step.target is None:
        return own
    target = workflow.nodes[step.target]
    often = tries if tries is not None else node.retry.max_attempts
    return own.plus(once(target).times(often if tries is not None else often + target.repairs))


def _cheapest(ways: flow.Flow, amount: Callable[[str], int], merge: Callable[[int, int], int]) -> int:
    """The least amount with which the run can end, amounts along a path put together by `merge`."""
    queue = [(amount(ways.entry), ways.entry)]
    done: set[str] = set()
    while queue:
        spent, key = heapq.heappop(queue)
        if key in done:
            continue
        done.add(key)
        if not ways.exits(key) or ways.may_end(key):
            return spent
        for target in ways.exits(key):
            if target not in done:
                heapq.heappush(queue, (merge(spent, amount(target)), target))
    return 0  # no way out: a Problem of its own
