"""The graph of a workflow's nodes: order, cycles, what can be reached, and what a run may skip.

The functions work on `Sources`, the keys that each node depends on. None of them recurses, as a file may have a chain
of 100,000 blocks.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence

from openskelo.kernel import definition

Sources = Mapping[str, Sequence[str]]


def sources_of(node: definition.Node) -> tuple[str, ...]:
    """Return the keys of the nodes that come directly before a node."""
    bound_nodes = [binding.node for binding in node.bindings.values() if binding.node]
    return tuple(dict.fromkeys((*bound_nodes, *node.after)))


def successors(sources: Sources) -> dict[str, list[str]]:
    """Return for each node the nodes that depend on it directly, in workflow order."""
    following: dict[str, list[str]] = {key: [] for key in sources}
    for key, before in sources.items():
        for source in dict.fromkeys(before):
            following[source].append(key)
    return following


def order(sources: Sources) -> tuple[str, ...]:
    """Return the nodes so that each comes after its sources, else in the order written, without nodes on a cycle."""
    open_sources = {key: len(set(before)) for key, before in sources.items()}
    following = successors(sources)
    ready = deque(key for key, count in open_sources.items() if count == 0)
    ordered_keys: list[str] = []
    while ready:
        key = ready.popleft()
        ordered_keys.append(key)
        for follower in following[key]:
            open_sources[follower] -= 1
            if open_sources[follower] == 0:
                ready.append(follower)
    return tuple(ordered_keys)


def find_cycle(sources: Sources) -> tuple[str, ...]:
    """Return one cycle in the direction of the data, from its first node as written; empty without a cycle."""
    acyclic_keys = set(order(sources))
    remaining = {key: None for key in sources if key not in acyclic_keys}
    if not remaining:
        return ()
    # Every remaining node has a remaining source, so walking backwards must come round.
    steps: dict[str, int] = {}
    trail: list[str] = []
    key = next(iter(remaining))
    while key not in steps:
        steps[key] = len(trail)
        trail.append(key)
        key = next(source for source in sources[key] if source in remaining)
    cycle = trail[steps[key] :][::-1]
    position = {key: index for index, key in enumerate(sources)}
    first = min(range(len(cycle)), key=lambda index: position[cycle[index]])
    return (*cycle[first:], *cycle[:first])


def reach(starts: Iterable[str], neighbours: Mapping[str, Sequence[str]]) -> set[str]:
    """Return the starts and everything that can be reached from them."""
    reachable_keys = set(starts)
    to_visit = list(reachable_keys)
    while to_visit:
        for neighbour in neighbours[to_visit.pop()]:
            if neighbour not in reachable_keys:
                reachable_keys.add(neighbour)
                to_visit.append(neighbour)
    return reachable_keys


def find_skippable(nodes: Mapping[str, definition.Node]) -> frozenset[str]:
    """Return the keys of all nodes that a run may skip although nothing fails.

    By the scheduler's rule: a node is skipped when its `when` is false, when a person denies it and the run goes on,
    when the source of a required input is skipped, or when all of its sources are.
    """
    sources = {key: sources_of(node) for key, node in nodes.items()}
    skippable: set[str] = set()
    for key in order(sources):
        node = nodes[key]
        before = definition.origins(node)
        if (
            node.when is not None
            or _may_be_denied(node)
            or not _required_sources(node).isdisjoint(skippable)
            or (before and all(source in skippable for source in before))
        ):
            skippable.add(key)
    return frozenset(skippable)


def _may_be_denied(node: definition.Node) -> bool:
    """True if a person may deny the node's work and the run goes on without it."""
    return not node.work.asks_person and node.approval is not None and node.approval.on_deny == "continue"


def _required_sources(node: definition.Node) -> frozenset[str]:
    required = {port.name for port in node.inputs if port.required and not port.has_default}
    return frozenset(
        binding.origin or binding.node for name, binding in node.bindings.items() if name in required and binding.node
    )
