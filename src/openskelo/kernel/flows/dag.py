"""Which node may be entered, and why not: the scheduler of workflows whose nodes wait for their sources.

A node waits until each of its sources is done. It is skipped when a required input's source was skipped, or when every
source it has was skipped; otherwise it is entered with what there is. Of a source that only hands a value through, as
the ends of a sub-workflow do, the one counts that the value comes from.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set

from openskelo.frozen import frozen
from openskelo.kernel import definition


@frozen
class Graph:
    """The shape of a workflow, computed once: who waits for whom, and whose visits begin with a resolution.

    `origins` are the sources that count when they were skipped, of the nodes where those are others.
    """

    sources: Mapping[str, tuple[str, ...]]
    targets: Mapping[str, Sequence[str]]
    resolving: frozenset[str]
    origins: Mapping[str, tuple[str, ...]]


def graph(workflow: definition.Workflow) -> Graph:
    """Read the edges off the nodes' bindings and `after` lists."""
    sources: dict[str, tuple[str, ...]] = {}
    targets: dict[str, list[str]] = {key: [] for key in workflow.nodes}
    passing = False
    for key, node in workflow.nodes.items():
        waits = [binding.node for binding in node.bindings.values() if binding.node]
        waits += node.after
        sources[key] = named = tuple(waits) if len(waits) < 2 else tuple(dict.fromkeys(waits))
        for source in named:
            targets[source].append(key)
        passing = passing or node.mode == "dag"
    resolving = frozenset([key for key, node in workflow.nodes.items() if resolves(node)])
    beyond = {key: origins(node) for key, node in workflow.nodes.items()} if passing else {}
    return Graph(sources=sources, targets=targets, resolving=resolving, origins=beyond)


def origins(node: definition.Node) -> tuple[str, ...]:
    """The nodes whose skipping leaves the node without a value, or without one that it waits for."""
    bound = [binding.origin or binding.node for binding in node.bindings.values() if binding.node]
    return tuple(dict.fromkeys((*bound, *node.after)))


def resolves(node: definition.Node) -> bool:
    """Whether each visit has expressions to evaluate, a cache to look into or a person to ask before it starts."""
    if node.when is not None or node.foreach is not None or node.cache or node.approval is not None:
        return True
    for binding in node.bindings.values():  # noqa: SIM110  in half the time of `any`, and every node is asked
        if binding.transform is not None:
            return True
    return False


def is_dead(shape: Graph, node: definition.Node, skipped: Set[str]) -> bool:
    """Whether a node whose sources are all done must itself be skipped."""
    for port in node.inputs:
        binding = node.bindings.get(port.name)
        if binding is None or not port.required or port.has_default:
            continue
        if (binding.origin or binding.node) in skipped:
            return True
    sources = shape.origins.get(node.key) or shape.sources[node.key]
    return bool(sources) and all(source in skipped for source in sources)
