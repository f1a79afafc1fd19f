"""What a run of a workflow will take: at least, as expected, and at worst, by mode and in all.

At least: whatever may be skipped is skipped, and an attempt takes what its author says, or nothing. Expected: every
block once, as its author (or its past) says. At worst: every retry, every repair and every way back is used up, and
every attempt takes all the time it may. Time that nobody has told is 0.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import assert_never

from openskelo.frozen import field, frozen, replace
from openskelo.kernel import definition
from openskelo.workflows import graph, routes, skipping

MODES: tuple[definition.Mode, ...] = ("ai", "deterministic", "approval", "dag")


@frozen
class Quantity:
    """Amounts of one case. Time of a mode is the sum of its blocks' time, though blocks may run at once."""

    steps: int = 0
    tokens: int = 0
    cost_usd: float = 0.0
    duration_sec: float = 0.0

    def plus(self, other: Quantity) -> Quantity:
        return Quantity(
            steps=self.steps + other.steps,
            tokens=self.tokens + other.tokens,
            cost_usd=self.cost_usd + other.cost_usd,
            duration_sec=self.duration_sec + other.duration_sec,
        )

    def times(self, factor: int) -> Quantity:
        return Quantity(
            steps=self.steps * factor,
            tokens=self.tokens * factor,
            cost_usd=self.cost_usd * factor,
            duration_sec=self.duration_sec * factor,
        )


@frozen
class Range:
    """The three cases."""

    minimum: Quantity = field(default_factory=Quantity)
    expected: Quantity = field(default_factory=Quantity)
    worst: Quantity = field(default_factory=Quantity)

    def plus(self, other: Range) -> Range:
        return Range(
            minimum=self.minimum.plus(other.minimum),
            expected=self.expected.plus(other.expected),
            worst=self.worst.plus(other.worst),
        )


@frozen
class Report:
    """`by_mode` has the modes that occur; `total` counts time along the longest path, but at worst it adds it up.

    `notes` say in words what the numbers cannot: blocks without an estimate, lists of unknown length, endless waits.
    """

    by_node: Mapping[str, Range]
    by_mode: Mapping[str, Range]
    total: Range
    items: int
    notes: tuple[str, ...] = ()


#: What one attempt of a node takes.
History = Mapping[str, Quantity]


def estimate(
    workflow: definition.Workflow,
    history: History | None = None,
    *,
    items: int = 10,
    bounds: History | None = None,
) -> Report:
    """The report. `history` (what one attempt of a node took in past runs) goes before the author's estimate.

    `bounds` are what an attempt that asks a model takes at most, by its prompt and its prices: they are expected where
    nobody has estimated anything, and never the least. A foreach is counted with `items` elements, since its list is
    only known in a run.
    """
    if workflow.plan is not None:
        from openskelo.workflows.plan import totals  # noqa: PLC0415 - only plans need it

        return totals.report(workflow, history or {}, bounds or {})
    sources = {key: routes.sources_of(node) for key, node in workflow.nodes.items()}
    known = history or {}
    most = bounds or {}
    visits = _visits(workflow, sources)
    skippable = skipping.skippable(workflow.nodes)
    by_node = {
        key: _node(
            node, _Attempt.of(node, known.get(key), most.get(key)), visits[key], items=items, skippable=key in skippable
        )
        for key, node in workflow.nodes.items()
    }
    by_mode: dict[str, Range] = {}
    for mode in MODES:
        found = [by_node[key] for key, node in workflow.nodes.items() if node.mode == mode]
        if found:
            by_mode[mode] = _sum(found)
    return Report(
        by_node=by_node,
        by_mode=by_mode,
        total=_total(by_node, sources),
        items=items,
        notes=tuple(_notes(workflow, known, most, items)),
    )


def _sum(ranges: list[Range]) -> Range:
    total = Range()
    for one in ranges:
        total = total.plus(one)
    return total


def _visits(workflow: definition.Workflow, sources: graph.Sources) -> dict[str, int]:
    """How often each node can be entered: once, and once for each way back over it (counted for the whole run).

    What comes after the node that goes back has not begun by then.
    """
    visits = dict.fromkeys(workflow.nodes, 1)
    followers = graph.successors(sources)
    for node in workflow.nodes.values():
        denial = node.approval.bounce if node.approval is not None else None
        ways = (*node.bounces, *(() if denial is None else (denial,)))
        later = graph.reach(followers[node.key], followers) if ways else set[str]()
        for way in ways:
            for key in way.reset:
                if key not in later:
                    visits[key] += way.max_bounces
    return visits


@frozen
class _Attempt:
    """What one attempt takes: at least, as expected, and at most."""

    least: Quantity
    expected: Quantity
    most: Quantity

    @classmethod
    def of(cls, node: definition.Node, past: Quantity | None, bound: Quantity | None) -> _Attempt:
        told = node.estimate or definition.Estimate()
        author = Quantity(tokens=told.tokens, cost_usd=told.cost_usd, duration_sec=told.duration_sec)
        known = past or (author if node.estimate is not None else bound) or author
        held = Quantity(tokens=node.reserve.tokens, cost_usd=node.reserve.cost_nanousd / 1_000_000_000)
        cases = (known, held, bound or held)
        return cls(
            least=Quantity(
                steps=1,
                tokens=min(author.tokens, known.tokens),
                cost_usd=min(author.cost_usd, known.cost_usd),
                duration_sec=min(author.duration_sec, known.duration_sec),
            ),
            expected=replace(known, steps=1),
            most=Quantity(
                steps=1,
                tokens=max(case.tokens for case in cases),
                cost_usd=max(case.cost_usd for case in cases),
                duration_sec=max(known.duration_sec, (node.timeout_ms or 0) / 1000),
            ),
        )


def _node(node: definition.Node, one: _Attempt, visits: int, *, items: int, skippable: bool) -> Range:
    times = items if node.foreach is not None else 1
    waves = math.ceil(items / node.foreach.concurrency) if node.foreach is not None else 1
    expected = _spread(one.expected, times, waves)
    may_be_nothing = skippable or node.foreach is not None or node.cache
    worst = _spread(_worst_visit(node, one.most), times, waves).times(visits)
    return Range(minimum=Quantity() if may_be_nothing else one.least, expected=expected, worst=worst)


def _spread(one: Quantity, times: int, waves: int) -> Quantity:
    """Several items: all of their amounts, but only the time of the waves in which they run."""
    every = one.times(times)
    return Quantity(
        steps=every.steps, tokens=every.tokens, cost_usd=every.cost_usd, duration_sec=one.duration_sec * waves
    )


def _worst_visit(node: definition.Node, most: Quantity) -> Quantity:
    """All tries and all repairs of one visit, all the time they may take and the waits in between."""
    tries = most.times(node.retry.max_attempts + node.repairs)
    waits = _waits(node.retry)
    if node.approval is not None and node.approval.timeout_ms is not None:
        waits += node.approval.timeout_ms / 1000
    return replace(tries, duration_sec=tries.duration_sec + waits)


def _waits(retry: definition.Retry) -> float:
    """The seconds between the tries of one visit."""
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


def _total(by_node: Mapping[str, Range], sources: graph.Sources) -> Range:
    added = _sum(list(by_node.values()))
    order = graph.order(sources)
    least = _longest(order, sources, {key: one.minimum.duration_sec for key, one in by_node.items()})
    likely = _longest(order, sources, {key: one.expected.duration_sec for key, one in by_node.items()})
    return Range(minimum=_lasting(added.minimum, least), expected=_lasting(added.expected, likely), worst=added.worst)


def _lasting(quantity: Quantity, seconds: float) -> Quantity:
    return Quantity(steps=quantity.steps, tokens=quantity.tokens, cost_usd=quantity.cost_usd, duration_sec=seconds)


def _longest(order: tuple[str, ...], sources: graph.Sources, seconds: Mapping[str, float]) -> float:
    """The time of the longest path."""
    done: dict[str, float] = {}
    for key in order:
        done[key] = max((done[source] for source in sources[key]), default=0.0) + seconds[key]
    return max(done.values(), default=0.0)


def _notes(workflow: definition.Workflow, known: History, bounds: History, items: int) -> list[str]:
    nodes = workflow.nodes.values()
    untold = [node.key for node in nodes if node.mode == "ai" and node.estimate is None and node.key not in known]
    blind = [key for key in untold if key not in bounds]
    bounded = [key for key in untold if key in bounds]
    lists = [node.key for node in nodes if node.foreach is not None]
    patient = [node.key for node in nodes if node.approval is not None and node.approval.timeout_ms is None]
    judged = [
        node.key
        for node in nodes
        if node.key not in bounds and any(g.type == "llm_review" for g in (*node.pre_gates, *node.post_gates))
    ]
    endless = [node.key for node in nodes if node.key in known and node.timeout_ms is None and node.estimate is None]
    notes: list[str] = []
    if blind:
        notes.append(f"no estimate, counted as nothing: {_listed(blind)}")
    if bounded:
        notes.append(f"no estimate, counted as a full prompt and the longest answer: {_listed(bounded)}")
    if endless:
        notes.append(f"no time limit, at worst counted with the time of past runs: {_listed(endless)}")
    if lists:
        notes.append(f"lists of unknown length, counted with {items} items: {_listed(lists)}")
    if patient:
        notes.append(f"waits for a person without end: {_listed(patient)}")
    if judged:
        notes.append(f"gates that ask a model are not counted: {_listed(judged)}")
    return notes


def _listed(keys: list[str]) -> str:
    return ", ".join(keys[:10]) + (f" and {len(keys) - 10} more" if len(keys) > 10 else "")
