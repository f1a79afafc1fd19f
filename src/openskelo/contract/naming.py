"""The ids of everything on the wire: they follow from what they name, so that nobody has to keep them."""

from __future__ import annotations

from openskelo.kernel import ids


def node(run_id: str, key: str) -> str:
    """The node's UUID: the one that the envelopes of its events carry."""
    return ids.derive(run_id, key)


def edge(run_id: str, source: str, target: str, label: str) -> str:
    """The UUID of the edge between two nodes, given by their keys, that has this label."""
    return ids.derive(run_id, f"edge>{source}>{target}>{label}")


def event(run_id: str, seq: int, index: int) -> str:
    """The UUID of the wire event with this index within the fact `seq`."""
    return ids.derive(run_id, f"event>{seq}>{index}")


def handoff(edge_id: str, seq: int) -> str:
    """The UUID of what went along an edge when the fact `seq` became true."""
    return ids.derive(edge_id, str(seq))


def message(run_id: str, key: str, visit: int, attempt: int, item: int | None) -> str:
    """The UUID of what a model says in one attempt: of its parts while they are streamed, and of the whole."""
    return ids.derive(run_id, f"message>{key}>{visit}>{item or 0}>{attempt}")


def tool(run_id: str, key: str, visit: int, attempt: int, item: int | None) -> str:
    """The UUID of the call that an attempt of a handler is: when it is proposed, started and completed."""
    return ids.derive(run_id, f"tool>{key}>{visit}>{item or 0}>{attempt}")
