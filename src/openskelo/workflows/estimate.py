"""What a run of a workflow will take: at least, as expected, and at worst, by mode and in all.

At least: whatever may be skipped is skipped. Expected: every block once, as its author (or its past) says. At worst:
every retry, every repair and every way back is used up, and every attempt takes all the time it may.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import assert_never

from openskelo.kernel import definition
from openskelo.workflows import graph, routes, skipping

MODES: tuple[definition.Mode, ...] = ("ai", "deterministic", "approval", "dag")
#: Answers of a model that break their contract are repaired so often, unless the block says otherwise.
DEFAULT_REPAIRS = 1


@dataclass(frozen=True, slots=True, kw_only=True)
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


@dataclass(frozen=True, slots=True, kw_only=True)
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """`by_mode` has the modes that occur; `total` counts time along the longest path, but at worst it adds it up.

    `notes` say in words what the numbers cannot: blocks without an estimate, lists of unknown length, endless waits.
    """

    by_node: Mapping[str, Range]
    by_mode: Mapping[str, Range]
    total: Range
    items: int
    notes: tuple[str, ...] = ()


History = Mapping[str, Quantity]


def estimate(workflow: definition.Workflow, history: History | None = None, *, items: int = 10) -> Report:
    """The report. `history` (what one attempt of a node took in past runs) goes before the author's estimate.

    A foreach is counted with `items` elements, since its list is only known in a run.
    """
    sources = {key: routes.sources_of(node) for key, node in workflow.nodes.items()}
    known = history or {}
    visits = _visits(workflow)
    skippable = skipping.skippable(workflow.nodes)
    by_node = {
        key: _node(node, known.get(key), visits=visits[key], items=items, skippable=key in skippable)
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
        notes=tuple(_notes(workflow, known, items)),
    )


def _sum(ranges: list[Range]) -> Range:
    total = Range()
    for one in ranges:
        total = total.plus(one)
    return total


def _visits(workflow: definition.Workflow) -> dict[str, int]:
    """How often each node can be entered: once, and once for each way back over it (counted for the whole run)."""
    visits = dict.fromkeys(workflow.nodes, 1)
    for node in workflow.nodes.values():
        denial = node.approval.bounce if node.approval is not None else None
        for way in (*node.bounces, *(() if denial is None else (denial,))):
            for key in way.reset:
                visits[key] += way.max_bounces
    return visits


def _node(node: definition.Node, past: Quantity | None, *, visits: int, items: int, skippable: bool) -> Range:
    one = _attempt(node, past)
    times = items if node.foreach is not None else 1
    waves = math.ceil(items / node.foreach.concurrency) if node.foreach is not None else 1
    expected = _spread(one, times, waves)
    may_be_nothing = skippable or node.foreach is not None or node.cache
    worst = _spread(_worst_visit(node, one), times, waves).times(visits)
    return Range(minimum=Quantity() if may_be_nothing else expected, expected=expected, worst=worst)


def _attempt(node: definition.Node, past: Quantity | None) -> Quantity:
    if past is not None:
        return Quantity(steps=1, tokens=past.tokens, cost_usd=past.cost_usd, duration_sec=past.duration_sec)
    told = node.estimate or definition.Estimate()
    return Quantity(steps=1, tokens=told.tokens, cost_usd=told.cost_usd, duration_sec=told.duration_sec)


def _spread(one: Quantity, times: int, waves: int) -> Quantity:
    """Several items: all of their amounts, but only the time of the waves in which they run."""
    every = one.times(times)
    return Quantity(
        steps=every.steps, tokens=every.tokens, cost_usd=every.cost_usd, duration_sec=one.duration_sec * waves
    )


def _worst_visit(node: definition.Node, one: Quantity) -> Quantity:
    """All tries of one visit, with all repairs, all the time they may take and the waits in between."""
    answers = 1 + _repairs(node)
    tries = node.retry.max_attempts
    longest = max(one.duration_sec, (node.timeout_ms or 0) / 1000)
    if node.approval is not None and node.approval.timeout_ms is not None:
        longest += node.approval.timeout_ms / 1000
    tokens = max(one.tokens, node.reserve.tokens)
    cost = max(one.cost_usd, node.reserve.cost_nanousd / 1_000_000_000)
    return Quantity(
        steps=tries,
        tokens=tokens * answers * tries,
        cost_usd=cost * answers * tries,
        duration_sec=longest * tries + _waits(node.retry),
    )


def _repairs(node: definition.Node) -> int:
    if node.mode != "ai":
        return 0
    given = node.config.get("contract_repair_attempts", DEFAULT_REPAIRS)
    return given if isinstance(given, int) else DEFAULT_REPAIRS


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


def _notes(workflow: definition.Workflow, known: History, items: int) -> list[str]:
    nodes = workflow.nodes.values()
    blind = [node.key for node in nodes if node.mode == "ai" and node.estimate is None and node.key not in known]
    lists = [node.key for node in nodes if node.foreach is not None]
    patient = [node.key for node in nodes if node.approval is not None and node.approval.timeout_ms is None]
    judged = [node.key for node in nodes if any(g.type == "llm_review" for g in (*node.pre_gates, *node.post_gates))]
    notes: list[str] = []
    if blind:
        notes.append(f"no estimate, counted as nothing: {_listed(blind)}")
    if lists:
        notes.append(f"lists of unknown length, counted with {items} items: {_listed(lists)}")
    if patient:
        notes.append(f"waits for a person without end: {_listed(patient)}")
    if judged:
        notes.append(f"gates that ask a model are not counted: {_listed(judged)}")
    return notes


def _listed(keys: list[str]) -> str:
    return ", ".join(keys[:10]) + (f" and {len(keys) - 10} more" if len(keys) > 10 else "")
