"""Which node may be entered, and why not: the scheduler of workflows whose nodes wait for their sources.

A node waits until each of its sources is done. It is skipped when a required input's source was skipped, or when every
source it has was skipped; otherwise it is entered with what there is.
"""

from __future__ import annotations

from collections.abc import Mapping

from openskelo.kernel import definition
from openskelo.value import value


@value
class Graph:
    """The shape of a workflow, computed once: who waits for whom."""

    sources: Mapping[str, tuple[str, ...]]
    targets: Mapping[str, tuple[str, ...]]
    required: Mapping[str, frozenset[str]]


def graph(workflow: definition.Workflow) -> Graph:
    """Read the edges off the nodes' bindings and `after` lists."""
    sources: dict[str, tuple[str, ...]] = {}
    targets: dict[str, list[str]] = {key: [] for key in workflow.nodes}
    required: dict[str, frozenset[str]] = {}
    for key, node in workflow.nodes.items():
        bound = {name: binding.node for name, binding in node.bindings.items() if binding.node}
        sources[key] = tuple(dict.fromkeys((*bound.values(), *node.after)))
        needed = {port.name for port in node.inputs if port.required and not port.has_default}
        required[key] = frozenset(source for name, source in bound.items() if name in needed)
        for source in sources[key]:
            targets[source].append(key)
    return Graph(sources=sources, targets={key: tuple(found) for key, found in targets.items()}, required=required)


def is_dead(shape: Graph, key: str, skipped: frozenset[str] | set[str]) -> bool:
    """Whether a node whose sources are all done must itself be skipped."""
    sources = shape.sources[key]
    if not shape.required[key].isdisjoint(skipped):
        return True
    return bool(sources) and all(source in skipped for source in sources)
