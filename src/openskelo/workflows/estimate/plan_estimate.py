"""Estimates a run of a plan along the paths through its steps.

- best case: for each amount the path that takes the least of it (`best_case`), found by Dijkstra's algorithm;
- expected case: the path on which nothing fails and every condition holds, unless it leads back (`likely_path`);
- worst case: every component of the control flow as often as its steps may be entered, all attempts and repairs used,
  then the most expensive way on (`worst_case`).

`checks.check_budget` compares the best and the worst case with the plan's budget before any run.
"""

from __future__ import annotations

import heapq
import operator
from collections.abc import Callable, Mapping

from openskelo.kernel import definition
from openskelo.structs import frozen, replace
from openskelo.workflows.estimate.quantities import Quantities, Quantity, Range, Report, sum_by_mode, sum_ranges
from openskelo.workflows.plan import control_flow


@frozen
class Cost:
    """The amounts that a budget limits; money in nano-dollars."""

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
class WorstCase:
    """The cost of the worst case, and how often each step is entered in it."""

    cost: Cost
    visits: Mapping[str, int]
    #: False if only the budget's max_steps ends some loop.
    bounded: bool


def estimate_plan(workflow: definition.Workflow, history: Quantities, bounds: Quantities) -> Report:
    """Return the estimate of a run of a plan.

    `history` is what one attempt of a step took in past runs, `bounds` the most that one may take.
    """
    workflow = replace(
        workflow, nodes={key: _with_reservation(node, bounds.get(key)) for key, node in workflow.nodes.items()}
    )
    worst = worst_case(workflow)
    shortest = _attempts_on_path(workflow, shortest_path(workflow))
    likely = _attempts_on_path(workflow, likely_path(workflow))
    by_node = {
        key: Range(
            minimum=_least_attempt(node).times(shortest.get(key, 0)),
            expected=_expected_attempt(node, history.get(key)).times(likely.get(key, 0)),
            worst=_worst_visit(node).times(worst.visits.get(key, 0)),
        )
        for key, node in workflow.nodes.items()
    }
    by_mode = _with_least_needed(sum_by_mode(workflow, by_node), best_case(workflow))
    total = sum_ranges(by_mode.values())
    most = Quantity(
        steps=worst.cost.steps,
        tokens=worst.cost.tokens,
        cost_usd=(worst.cost.cost_nanousd + worst.cost.tool_nanousd) / definition.NANO_PER_USD,
        duration_sec=total.worst.duration_sec,
    )
    return Report(
        by_node=by_node,
        by_mode=by_mode,
        total=replace(total, worst=most),
        items=0,
        notes=tuple(_notes(workflow, bounded=worst.bounded)),
    )


def _with_least_needed(by_mode: Mapping[str, Range], best: Cost) -> dict[str, Range]:
    """Return the modes, the one that calls models with the tokens and model cost of the best case.

    `checks.check_budget` demands those: past runs may have used less than they reserved, and a budget must allow the
    reservation all the same. They are one reservation, so they count for one mode.
    """
    mode = next((mode for mode in by_mode if definition.work_kind(mode).calls_model), None)
    if mode is None:
        return {**by_mode}
    least = by_mode[mode].minimum
    least_needed = replace(
        least, tokens=best.tokens, cost_usd=least.cost_usd + best.cost_nanousd / definition.NANO_PER_USD
    )
    return {**by_mode, mode: replace(by_mode[mode], minimum=least_needed)}


def _with_reservation(node: definition.Node, bound: Quantity | None) -> definition.Node:
    """Return the node with a reservation of its bound, whether a budget asks for one or not."""
    if bound is None:
        return node
    reserve = replace(
        node.reserve,
        tokens=max(node.reserve.tokens, bound.tokens),
        cost_nanousd=max(node.reserve.cost_nanousd, round(bound.cost_usd * definition.NANO_PER_USD)),
    )
    return replace(node, reserve=reserve)


def _attempts_on_path(workflow: definition.Workflow, path: tuple[str, ...]) -> Mapping[str, int]:
    """Return how often each step is attempted on a path; a retry attempts its target once."""
    counts = dict.fromkeys(path, 1)
    for key in path:
        step = workflow.nodes[key].step
        if step is not None and step.target is not None:
            counts[step.target] = counts.get(step.target, 0) + 1
    return counts


def _least_attempt(node: definition.Node) -> Quantity:
    """Return an attempt that uses none of the reservation for models; tools always cost what they cost."""
    return Quantity(steps=1, cost_usd=node.reserve.tool_nanousd / definition.NANO_PER_USD)


def _expected_attempt(node: definition.Node, past: Quantity | None) -> Quantity:
    """Return an attempt as in past runs, or with the whole reservation if there are none."""
    if past is None:
        return _reserved_quantity(node)
    return replace(past, steps=1, cost_usd=past.cost_usd + node.reserve.tool_nanousd / definition.NANO_PER_USD)


def _reserved_quantity(node: definition.Node) -> Quantity:
    cost = _attempt_cost(node)
    return Quantity(
        steps=cost.steps, tokens=cost.tokens, cost_usd=(cost.cost_nanousd + cost.tool_nanousd) / definition.NANO_PER_USD
    )


def _worst_visit(node: definition.Node) -> Quantity:
    """Return a visit with all its repairs, each as long as it may take."""
    wait_ms = 0
    if node.approval is not None and node.approval.timeout_ms is not None:
        wait_ms = node.approval.timeout_ms
    seconds = ((node.timeout_ms or 0) + wait_ms) / 1000
    attempt = replace(_reserved_quantity(node), duration_sec=seconds)
    return attempt.times(1 + node.repairs)


def _notes(workflow: definition.Workflow, *, bounded: bool) -> list[str]:
    nodes = workflow.nodes.values()
    asking = [node.key for node in nodes if node.work.calls_model]
    endless_waits = [node.key for node in nodes if node.approval is not None and node.approval.timeout_ms is None]
    notes: list[str] = []
    if asking:
        notes.append(f"of prompts only what the plan itself says is counted: {', '.join(asking[:10])}")
    if endless_waits:
        notes.append(f"waits for a person without a time limit: {', '.join(endless_waits[:10])}")
    if not bounded:
        notes.append("some loop ends only with the budget's max_steps: the worst case is all of them")
    return notes


def best_case(workflow: definition.Workflow) -> Cost:
    """Return the cost of the best case, each amount by itself.

    Steps and tool spend add up along a path. Of tokens and model cost the best case is the largest single reservation
    that no path avoids, because an attempt gives back what it does not use.
    """
    flow = control_flow.from_workflow(workflow)

    def cheapest(amount: Callable[[Cost], int], combine: Callable[[int, int], int]) -> int:
        return _cheapest_path(flow, lambda key: amount(_visit_cost(workflow, flow, key, worst=False)), combine)

    return Cost(
        steps=cheapest(lambda cost: cost.steps, operator.add),
        tokens=cheapest(lambda cost: cost.tokens, max),
        cost_nanousd=cheapest(lambda cost: cost.cost_nanousd, max),
        tool_nanousd=cheapest(lambda cost: cost.tool_nanousd, operator.add),
    )


def worst_case(workflow: definition.Workflow) -> WorstCase:
    """Return the worst case: the most expensive path, with every loop as often as its steps may be entered."""
    flow = control_flow.from_workflow(workflow)
    unbounded_keys = frozenset(key for loop in control_flow.unbounded_loops(flow) for key in loop)
    visits: dict[str, int] = {}
    worst_from: dict[str, Cost] = {}
    for group in control_flow.components(flow):  # successors come before predecessors
        limit = None if unbounded_keys.isdisjoint(group) else workflow.limits.max_steps
        rounds = _max_rounds(flow, group, limit)
        for key in group:
            max_visits = flow.steps[key].max_visits
            visits[key] = rounds if max_visits is None else min(rounds, max_visits)
        group_cost = Cost()
        after = Cost()
        for key in group:
            group_cost = group_cost.plus(_visit_cost(workflow, flow, key, worst=True).times(visits[key]))
            for target in flow.successors(key):
                after = after.highest(worst_from.get(target, Cost()))
        for key in group:
            worst_from[key] = group_cost.plus(after)
    for key in visits.copy():
        target = flow.steps[key].target
        if target is not None:
            attempts = workflow.nodes[key].retry.max_attempts
            visits[target] = visits.get(target, 0) + visits[key] * attempts
    return WorstCase(cost=worst_from[flow.entry], visits=visits, bounded=not unbounded_keys)


def _max_rounds(flow: control_flow.Flow, group: tuple[str, ...], limit: int | None) -> int:
    """Return how often a step of a component can be entered: between two visits the run passes a step with a bound."""
    if not control_flow.is_loop(flow, group):
        return 1
    if limit is not None:
        return limit
    return 1 + sum(flow.steps[key].max_visits or 0 for key in group)


def likely_path(workflow: definition.Workflow) -> tuple[str, ...]:
    """Return the path on which nothing fails and every condition holds, except conditions that lead back."""
    flow = control_flow.from_workflow(workflow)
    path: dict[str, None] = {}
    key: str | None = flow.entry
    while key is not None and key not in path:
        path[key] = None
        step = flow.steps[key]
        if step.op == "branch":
            key = step.then if step.then not in path else step.otherwise
        else:
            key = None if step.op == "emit" else step.next
    return tuple(path)


def shortest_path(workflow: definition.Workflow) -> tuple[str, ...]:
    """Return a path to an ending with the fewest steps."""
    flow = control_flow.from_workflow(workflow)
    previous: dict[str, str | None] = {flow.entry: None}
    queue = [flow.entry]
    end = flow.entry
    for key in queue:  # the queue grows during the iteration
        end = key
        if not flow.successors(key) or flow.may_end(key):
            break
        for target in flow.successors(key):
            if target not in previous:
                previous[target] = key
                queue.append(target)
    path: list[str] = []
    current: str | None = end
    while current is not None:
        path.append(current)
        current = previous[current]
    return tuple(reversed(path))


def _attempt_cost(node: definition.Node) -> Cost:
    """Return what one attempt of a step reserves."""
    reserve = node.reserve
    return Cost(steps=1, tokens=reserve.tokens, cost_nanousd=reserve.cost_nanousd, tool_nanousd=reserve.tool_nanousd)


def _visit_cost(workflow: definition.Workflow, flow: control_flow.Flow, key: str, *, worst: bool) -> Cost:
    """Return the cost of a visit, that of a retry's target included; the worst has all attempts and repairs."""
    node = workflow.nodes[key]
    step = flow.steps[key]
    own_cost = _attempt_cost(node).times(1 + node.repairs if worst else 1)
    if step.target is None:
        return own_cost
    target = workflow.nodes[step.target]
    attempts = node.retry.max_attempts + target.repairs if worst else 1
    return own_cost.plus(_attempt_cost(target).times(attempts))


def _cheapest_path(flow: control_flow.Flow, amount: Callable[[str], int], combine: Callable[[int, int], int]) -> int:
    """Return the smallest amount with which a run can end; `combine` joins the amounts along a path."""
    queue = [(amount(flow.entry), flow.entry)]
    visited_keys: set[str] = set()
    while queue:
        path_cost, key = heapq.heappop(queue)
        if key in visited_keys:
            continue
        visited_keys.add(key)
        if not flow.successors(key) or flow.may_end(key):
            return path_cost
        for target in flow.successors(key):
            if target not in visited_keys:
                heapq.heappush(queue, (combine(path_cost, amount(target)), target))
    return 0  # the plan has no ending, which is reported as NO_ENDING
