"""Which nodes a run may leave out: those with a condition or a person before them, and those that need one of them."""

from __future__ import annotations

from collections.abc import Mapping

from openskelo.kernel import definition
from openskelo.kernel.flows import dag
from openskelo.workflows import graph, routes


def skippable(nodes: Mapping[str, definition.Node]) -> frozenset[str]:
    """The keys of all nodes that may be skipped although everything goes well.

    By the scheduler's rule: a node is skipped when the source of a required input is, or when all of its sources are.
    """
    sources = {key: routes.sources_of(node) for key, node in nodes.items()}
    found: set[str] = set()
    for key in graph.order(sources):
        node = nodes[key]
        before = dag.origins(node)
        if (
            node.when is not None
            or _may_be_denied(node)
            or not _needed(node).isdisjoint(found)
            or (before and all(source in found for source in before))
        ):
            found.add(key)
    return frozenset(found)


def _may_be_denied(node: definition.Node) -> bool:
    """Whether a person may say no to the node's work, and the run goes on without it."""
    return node.mode != "approval" and node.approval is not None and node.approval.on_deny == "continue"


def _needed(node: definition.Node) -> frozenset[str]:
    required = {port.name for port in node.inputs if port.required and not port.has_default}
    return frozenset(
        binding.origin or binding.node for name, binding in node.bindings.items() if name in required and binding.node
    )
