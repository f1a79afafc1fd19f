"""What a run of a plan will take: at least, as expected, and at worst, by mode and in all.

At least: the path with the fewest steps, and experts who need hardly a token. Expected: the path on which nothing fails
and every condition holds, each step as it was in past runs, or with all that it may ask. At worst: the dearest path,
with all tries and repairs, and every loop as often as it may be gone round.
"""

from __future__ import annotations

from collections.abc import Mapping

from openskelo.frozen import replace
from openskelo.kernel import definition
from openskelo.workflows import estimate
from openskelo.workflows.plan import cases

_NANO = 1_000_000_000


def report(workflow: definition.Workflow, history: estimate.History, bounds: estimate.History) -> estimate.Report:
    """The report: `history` is what one attempt took in past runs, `bounds` what one may ask of a model at most."""
    held = replace(workflow, nodes={key: _held(node, bounds.get(key)) for key, node in workflow.nodes.items()})
    worst = cases.most(held)
    least, likely = _counted(held, cases.shortest(held)), _counted(held, cases.likely(held))
    by_node = {
        key: estimate.Range(
            minimum=_least(node).times(least.get(key, 0)),
            expected=_expected(node, history.get(key)).times(likely.get(key, 0)),
            worst=_longest(node).times(worst.visits.get(key, 0)),
        )
        for key, node in held.nodes.items()
    }
    by_mode: dict[str, estimate.Range] = {}
    for mode in estimate.MODES:
        found = [by_node[key] for key, node in held.nodes.items() if node.mode == mode]
        if found:
            by_mode[mode] = _sum(found)
    added = _sum(list(by_node.values()))
    most = estimate.Quantity(
        steps=worst.cost.steps,
        tokens=worst.cost.tokens,
        cost_usd=(worst.cost.cost_nanousd + worst.cost.tool_nanousd) / _NANO,
        duration_sec=added.worst.duration_sec,
    )
    total = replace(added, worst=most)
    return estimate.Report(
        by_node=by_node, by_mode=by_mode, total=total, items=0, notes=tuple(_notes(held, bounded=worst.bounded))
    )


def _held(node: definition.Node, bound: estimate.Quantity | None) -> definition.Node:
    """The node with what it may take at most set aside, whether a budget asks for that or not."""
    if bound is None:
        return node
    reserve = replace(
        node.reserve,
        tokens=max(node.reserve.tokens, bound.tokens),
        cost_nanousd=max(node.reserve.cost_nanousd, round(bound.cost_usd * _NANO)),
    )
    return replace(node, reserve=reserve)


def _counted(workflow: definition.Workflow, path: tuple[str, ...]) -> Mapping[str, int]:
    """How often each step is tried on a path: a retry tries its target once."""
    counts = dict.fromkeys(path, 1)
    for key in path:
        step = workflow.nodes[key].step
        if step is not None and step.target is not None:
            counts[step.target] = counts.get(step.target, 0) + 1
    return counts


def _least(node: definition.Node) -> estimate.Quantity:
    """One attempt that uses nothing of what is set aside for models; tools cost what they cost."""
    return estimate.Quantity(steps=1, cost_usd=node.reserve.tool_nanousd / _NANO)


def _expected(node: definition.Node, past: estimate.Quantity | None) -> estimate.Quantity:
    """One attempt as in the past, else with all that is set aside."""
    if past is None:
        return _once(node)
    return replace(past, steps=1, cost_usd=past.cost_usd + node.reserve.tool_nanousd / _NANO)


def _once(node: definition.Node) -> estimate.Quantity:
    cost = cases.once(node)
    return estimate.Quantity(
        steps=cost.steps, tokens=cost.tokens, cost_usd=(cost.cost_nanousd + cost.tool_nanousd) / _NANO
    )


def _longest(node: definition.Node) -> estimate.Quantity:
    """A visit at worst: its repairs, and all the time it may take."""
    asked = 0 if node.approval is None or node.approval.timeout_ms is None else node.approval.timeout_ms
    seconds = ((node.timeout_ms or 0) + asked) / 1000
    each = replace(_once(node), duration_sec=seconds)
    return each.times(1 + node.repairs)


def _sum(ranges: list[estimate.Range]) -> estimate.Range:
    total = estimate.Range()
    for one in ranges:
        total = total.plus(one)
    return total


def _notes(workflow: definition.Workflow, *, bounded: bool) -> list[str]:
    nodes = workflow.nodes.values()
    asking = [node.key for node in nodes if node.mode == "ai"]
    patient = [node.key for node in nodes if node.approval is not None and node.approval.timeout_ms is None]
    notes: list[str] = []
    if asking:
        notes.append(f"of prompts only what the plan itself says is counted: {', '.join(asking[:10])}")
    if patient:
        notes.append(f"waits for a person without end: {', '.join(patient[:10])}")
    if not bounded:
        notes.append("some loop ends only with the budget's max_steps: the worst case is all of them")
    return notes
