"""The amounts of an estimate, its three cases, and the report that collects them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from openskelo.kernel import definition
from openskelo.structs import field, frozen

MODES: tuple[definition.Mode, ...] = tuple(definition.WORK_KINDS)


@frozen
class Quantity:
    """The amounts of one case. The time of a mode is the sum over its blocks, even if blocks run in parallel."""

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


#: What one attempt takes, by node key.
Quantities = Mapping[str, Quantity]


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
    """An estimate by node, by mode (only modes that occur), and in total."""

    by_node: Mapping[str, Range]
    by_mode: Mapping[str, Range]
    #: Its time is that of the longest path; in the worst case it is the sum.
    total: Range
    #: The assumed length of lists.
    items: int
    #: For people: blocks without an estimate, lists of unknown length, waits without a timeout.
    notes: tuple[str, ...] = ()


def sum_ranges(ranges: Iterable[Range]) -> Range:
    """Return the sum of ranges, case by case."""
    total = Range()
    for item in ranges:
        total = total.plus(item)
    return total


def sum_by_mode(workflow: definition.Workflow, by_node: Mapping[str, Range]) -> dict[str, Range]:
    """Return the sum over the nodes of each mode that occurs in the workflow."""
    by_mode: dict[str, Range] = {}
    for mode in MODES:
        ranges = [by_node[key] for key, node in workflow.nodes.items() if node.mode == mode]
        if ranges:
            by_mode[mode] = sum_ranges(ranges)
    return by_mode
