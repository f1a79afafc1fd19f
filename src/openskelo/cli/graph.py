"""A workflow's graph as text: which nodes come after which, and which run side by side."""

from __future__ import annotations

from collections.abc import Sequence

from openskelo.cli import ink
from openskelo.kernel import definition
from openskelo.kernel.flows import dag


def layers(workflow: definition.Workflow) -> list[list[str]]:
    """The node keys in layers: every source of a node is in an earlier layer, as early as can be."""
    shape = dag.graph(workflow)
    waiting = {key: len(sources) for key, sources in shape.sources.items()}
    current = [key for key, count in waiting.items() if not count]
    found: list[list[str]] = []
    while current:
        found.append(current)
        following: list[str] = []
        for key in current:
            for target in shape.targets[key]:
                waiting[target] -= 1
                if not waiting[target]:
                    following.append(target)
        order = {key: index for index, key in enumerate(workflow.nodes)}
        current = sorted(following, key=order.__getitem__)
    return found


def draw(workflow: definition.Workflow, painter: ink.Ink, columns: int) -> list[str]:
    """The graph, one line a node, layer under layer, with what each node waits for and where it may send work back."""
    lines: list[str] = []
    found = layers(workflow)
    size = min(28, max((len(key) for key in workflow.nodes), default=0))
    for index, keys in enumerate(found):
        if index:
            lines.append(painter.paint("  │", "dim"))
        for place, key in enumerate(keys):
            mark = _mark(place, len(keys))
            head = f"  {painter.paint(mark, 'dim')} {painter.badge(workflow.nodes[key].mode)} "
            tail = _tail(workflow.nodes[key])
            room = max(20, columns - 11 - size - 2)
            name = ink.pad(key, size)
            lines.append(
                f"{head}{painter.paint(name, 'bold')}  {painter.paint(ink.one_line(tail, room), 'dim')}".rstrip()
            )
    return lines


def _mark(place: int, count: int) -> str:
    """One node stands alone on the line; several that may run side by side are held together by a brace."""
    if count == 1:
        return "●"
    return "┌" if place == 0 else "└" if place == count - 1 else "├"


def _tail(node: definition.Node) -> str:
    parts: list[str] = []
    sources = [source(binding) for binding in node.bindings.values()] + [f"after {key}" for key in node.after]
    if sources:
        parts.append("← " + ", ".join(dict.fromkeys(sources)))
    if node.when:
        parts.append(f"when {node.when}")
    if node.foreach:
        parts.append(f"for each {node.foreach.name} of {node.foreach.items}")
    parts.extend(f"↺ {bounce.route_to} (at most {bounce.max_bounces})" for bounce in all_bounces(node))
    return " · ".join(parts)


def source(binding: definition.Binding) -> str:
    """Where a value comes from, as an author writes it."""
    return f"{binding.node or 'inputs'}.{binding.port}"


def all_bounces(node: definition.Node) -> Sequence[definition.Bounce]:
    """Every way this node may send work back: by its gates, and by a person's denial."""
    denial = node.approval.bounce if node.approval else None
    return (*node.bounces, denial) if denial else node.bounces
