"""Estimates a run of a workflow: of a blocks file here, of a plan in `plan_estimate`.

The estimate of a block is that of one attempt, times its attempts and repairs, times its visits, times the items of its
list. A block is visited once, and once more for every bounce that resets it. The total adds up the amounts; time is
that of the longest path through the graph, because blocks that do not depend on each other run in parallel.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import assert_never

from openskelo import gates
from openskelo.kernel import definition
from openskelo.structs import frozen, replace
from openskelo.workflows.blocks import topology
from openskelo.workflows.estimate.quantities import Quantities, Quantity, Range, Report, sum_by_mode, sum_ranges


def estimate(
    workflow: definition.Workflow,
    history: Quantities | None = None,
    *,
    items: int = 10,
    bounds: Quantities | None = None,
) -> Report:
    """Return the estimate of a run.

    `history` is what one attempt of a node took in past runs; it takes precedence over the author's estimate. `bounds`
    is the most that an attempt which asks a model may take; it is the expected amount of a node with neither. A foreach
    counts with `items` elements, since its list is only known in a run.
    """
    history = history or {}
    bounds = bounds or {}
    if workflow.plan is not None:
        from openskelo.workflows.estimate import plan_estimate  # noqa: PLC0415 - only plans need it

        return plan_estimate.estimate_plan(workflow, history, bounds)
    sources = {key: topology.sources_of(node) for key, node in workflow.nodes.items()}
    visits = _max_visits(workflow, sources)
    skippable = topology.find_skippable(workflow.nodes)
    by_node: dict[str, Range] = {}
    for key, node in workflow.nodes.items():
        attempt = _estimate_attempt(node, history.get(key), bounds.get(key))
        by_node[key] = _estimate_node(node, attempt, visits[key], items=items, skippable=key in skippable)
    certain = [node for key, node in workflow.nodes.items() if not _may_take_nothing(node, skippable=key in skippable)]
    return Report(
        by_node=by_node,
        by_mode={
            mode: _with_largest_reservation(cases, (node for node in certain if node.mode == mode))
            for mode, cases in sum_by_mode(workflow, by_node).items()
        },
        total=_with_largest_reservation(_total(by_node, sources), certain),
        items=items,
        notes=tuple(_notes(workflow, history, bounds, items)),
    )


def _max_visits(workflow: definition.Workflow, sources: topology.Sources) -> dict[str, int]:
    """Return how often a run can enter each node: once, and once more for every bounce that resets it.

    The successors of the node that bounces have not started by then, so a bounce does not add a visit to them.
    """
    visits = dict.fromkeys(workflow.nodes, 1)
    successors = topology.successors(sources)
    for node in workflow.nodes.values():
        bounces = list(node.bounces)
        if node.approval is not None and node.approval.bounce is not None:
            bounces.append(node.approval.bounce)
        if not bounces:
            continue
        later = topology.reach(successors[node.key], successors)
        for bounce in bounces:
            for key in bounce.reset:
                if key not in later:
                    visits[key] += bounce.max_bounces
    return visits


@frozen
class _Attempt:
    """The use of one attempt: minimum, expected and worst case."""

    least: Quantity
    expected: Quantity
    most: Quantity


def _estimate_attempt(node: definition.Node, past: Quantity | None, bound: Quantity | None) -> _Attempt:
    author_estimate = node.estimate or definition.Estimate()
    author = Quantity(
        tokens=author_estimate.tokens, cost_usd=author_estimate.cost_usd, duration_sec=author_estimate.duration_sec
    )
    if past is not None:
        expected = past
    elif node.estimate is None and bound is not None:
        expected = bound
    else:
        expected = author
    reserve = Quantity(tokens=node.reserve.tokens, cost_usd=node.reserve.cost_nanousd / definition.NANO_PER_USD)
    cases = (expected, reserve, bound or reserve)
    return _Attempt(
        least=Quantity(
            steps=1,
            tokens=min(author.tokens, expected.tokens),
            cost_usd=min(author.cost_usd, expected.cost_usd),
            duration_sec=min(author.duration_sec, expected.duration_sec),
        ),
        expected=replace(expected, steps=1),
        most=Quantity(
            steps=1,
            tokens=max(case.tokens for case in cases),
            cost_usd=max(case.cost_usd for case in cases),
            duration_sec=max(expected.duration_sec, (node.timeout_ms or 0) / 1000),
        ),
    )


def _estimate_node(node: definition.Node, attempt: _Attempt, visits: int, *, items: int, skippable: bool) -> Range:
    times = 1
    waves = 1
    if node.foreach is not None:
        times = items
        waves = math.ceil(items / node.foreach.concurrency)
    return Range(
        minimum=Quantity() if _may_take_nothing(node, skippable=skippable) else attempt.least,
        expected=_for_items(attempt.expected, times, waves),
        worst=_for_items(_worst_visit(node, attempt.most), times, waves).times(visits),
    )


def _may_take_nothing(node: definition.Node, *, skippable: bool) -> bool:
    """True if a run may end without an attempt of the node."""
    return skippable or node.foreach is not None or node.cache


def _for_items(quantity: Quantity, times: int, waves: int) -> Quantity:
    """Return the amounts of all items; their time is that of the waves in which they run."""
    return replace(quantity.times(times), duration_sec=quantity.duration_sec * waves)


def _worst_visit(node: definition.Node, most: Quantity) -> Quantity:
    """Return all attempts and repairs of one visit, with the longest time they may take and the delays in between."""
    attempts = most.times(node.retry.max_attempts + node.repairs)
    delays = _retry_delays(node.retry)
    if node.approval is not None and node.approval.timeout_ms is not None:
        delays += node.approval.timeout_ms / 1000
    return replace(attempts, duration_sec=attempts.duration_sec + delays)


def _retry_delays(retry: definition.Retry) -> float:
    """Return the seconds between the attempts of one visit."""
    gaps = range(1, retry.max_attempts)
    return sum(min(retry.delay_ms * _growth(retry.backoff, gap), retry.max_delay_ms) for gap in gaps) / 1000


def _growth(backoff: definition.Backoff, gap: int) -> int:
    match backoff:
        case "none":
            return 1
        case "linear":
            return gap
        case "exponential":
            return 2 ** (gap - 1)
        case _:
            assert_never(backoff)


def _total(by_node: Mapping[str, Range], sources: topology.Sources) -> Range:
    total = sum_ranges(by_node.values())
    order = topology.order(sources)
    minimum = _longest_path(order, sources, {key: cases.minimum.duration_sec for key, cases in by_node.items()})
    expected = _longest_path(order, sources, {key: cases.expected.duration_sec for key, cases in by_node.items()})
    return Range(
        minimum=replace(total.minimum, duration_sec=minimum),
        expected=replace(total.expected, duration_sec=expected),
        worst=total.worst,
    )


def _with_largest_reservation(cases: Range, certain: Iterable[definition.Node]) -> Range:
    """Return the range with a minimum that lets each node start that a run cannot skip: its reservation must fit."""
    reserves = [node.reserve for node in certain]
    least = cases.minimum
    largest = replace(
        least,
        tokens=max([least.tokens, *(reserve.tokens for reserve in reserves)]),
        cost_usd=max([least.cost_usd, *(reserve.cost_nanousd / definition.NANO_PER_USD for reserve in reserves)]),
    )
    return replace(cases, minimum=largest)


def _longest_path(order: tuple[str, ...], sources: topology.Sources, seconds: Mapping[str, float]) -> float:
    """Return the time of the longest path through the graph."""
    end_times: dict[str, float] = {}
    for key in order:
        start_time = max((end_times[source] for source in sources[key]), default=0.0)
        end_times[key] = start_time + seconds[key]
    return max(end_times.values(), default=0.0)


def _notes(workflow: definition.Workflow, history: Quantities, bounds: Quantities, items: int) -> list[str]:
    nodes = workflow.nodes.values()
    unknown_nodes = [
        node.key for node in nodes if node.work.calls_model and node.estimate is None and node.key not in history
    ]
    not_counted = [key for key in unknown_nodes if key not in bounds]
    counted_by_bound = [key for key in unknown_nodes if key in bounds]
    lists = [node.key for node in nodes if node.foreach is not None]
    endless_waits = [node.key for node in nodes if node.approval is not None and node.approval.timeout_ms is None]
    reviewed_nodes = [
        node.key
        for node in nodes
        if node.key not in bounds and any(gates.asks_model(gate.type) for gate in (*node.pre_gates, *node.post_gates))
    ]
    without_timeout = [
        node.key for node in nodes if node.key in history and node.timeout_ms is None and node.estimate is None
    ]
    notes: list[str] = []
    if not_counted:
        notes.append(f"no estimate, counted as nothing: {_join(not_counted)}")
    if counted_by_bound:
        notes.append(f"no estimate, counted as a full prompt and the longest answer: {_join(counted_by_bound)}")
    if without_timeout:
        notes.append(f"no time limit, at worst counted with the time of past runs: {_join(without_timeout)}")
    if lists:
        notes.append(f"lists of unknown length, counted with {items} items: {_join(lists)}")
    if endless_waits:
        notes.append(f"waits for a person without a time limit: {_join(endless_waits)}")
    if reviewed_nodes:
        notes.append(f"gates that ask a model are not counted: {_join(reviewed_nodes)}")
    return notes


def _join(keys: list[str]) -> str:
    more = f" and {len(keys) - 10} more" if len(keys) > 10 else ""
    return ", ".join(keys[:10]) + more
