"""A workflow's graph as text: which nodes come after which, and which run side by side."""

from __future__ import annotations

from openskelo.cli import ink
from openskelo.kernel import definition
from openskelo.workflows import outline


def draw(workflow: definition.Workflow, painter: ink.Ink, columns: int) -> list[str]:
    """The graph, one line a node, layer under layer, with what each node waits for and where it may send work back."""
    lines: list[str] = []
    found = outline.layers(workflow)
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
    sources = [outline.source(binding) for binding in node.bindings.values()] + [f"after {key}" for key in node.after]
    if sources:
        parts.append("← " + ", ".join(dict.fromkeys(sources)))
    if node.when:
        parts.append(f"when {node.when}")
    if node.foreach:
        parts.append(f"for each {node.foreach.name} of {node.foreach.items}")
    parts.extend(f"↺ {bounce.route_to} (at most {bounce.max_bounces})" for bounce in outline.all_bounces(node))
    return " · ".join(parts)
