"""Which nodes a run may leave out: those with a condition or a person before them, and those that need one of them."""

from __future__ import annotations

from collections.abc import Mapping, Set

from openskelo.kernel import definition
from openskelo.kernel.flows import dag
from openskelo.workflows import block, graph, routes


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


def warn_of_defaults(drafts: Mapping[str, block.Draft], nodes: Mapping[str, definition.Node], maybe: Set[str]) -> None:
    """Warn of defaults that never count: all that the block waits for is one node, and is skipped together with it.

    Where it waits for several, one of which may run, a default is the way to join them. The defaults of a file that is
    used are for whoever uses it.
    """
    for key, draft in drafts.items():
        before = () if draft.node.mode == "dag" else dag.origins(nodes[key])
        if len(before) != 1 or before[0] not in maybe:
            continue
        for port in draft.node.inputs:
            source = draft.node.bindings.get(port.name)
            if port.has_default and source is not None and source.node and _is_given(drafts[source.node], source.port):
                message = f"when {source.node} is skipped, so is {key}: the default of {port.name!r} is not used"
                hint = f"let {key} wait for a block that is not skipped, too (`after`), or leave the default out"
                place = draft.place.at("inputs", None).at(port.name, None)
                place.warn("DEFAULT_UNUSED", message, hint=hint)


def _is_given(source: block.Draft, port: str) -> bool:
    """Whether the block gives this output whenever it was not skipped."""
    return port in source.skipping or any(one.name == port and one.required for one in source.node.outputs)


def _may_be_denied(node: definition.Node) -> bool:
    """Whether a person may say no to the node's work, and the run goes on without it."""
    return node.mode != "approval" and node.approval is not None and node.approval.on_deny == "continue"


def _needed(node: definition.Node) -> frozenset[str]:
    required = {port.name for port in node.inputs if port.required and not port.has_default}
    return frozenset(
        binding.origin or binding.node for name, binding in node.bindings.items() if name in required and binding.node
    )
