"""The ids of everything on the wire.

Each id is a UUID derived from what it names (a run and a node key, a fact and an index). So ids need no storage, and
are the same whenever the wire is computed again from the log.
"""

from __future__ import annotations

from openskelo.kernel import ids


def node(run_id: str, key: str) -> str:
    """Return the node's id, the one that the envelopes of its facts carry."""
    return ids.derive(run_id, key)


def edge(run_id: str, source: str, target: str, label: str) -> str:
    """Return the id of the edge with this label between two nodes, given by their keys."""
    return ids.derive(run_id, f"edge>{source}>{target}>{label}")


def event(run_id: str, seq: int, index: int) -> str:
    """Return the id of the wire event with this index within the fact `seq`."""
    return ids.derive(run_id, f"event>{seq}>{index}")


def handoff(edge_id: str, seq: int) -> str:
    """Return the id of the handoff that the fact `seq` causes along an edge."""
    return ids.derive(edge_id, str(seq))


def message(run_id: str, key: str, visit: int, attempt: int, item: int | None) -> str:
    """Return the id of a model's answer in one attempt; its streamed parts and its final text share it."""
    return ids.derive(run_id, f"message>{key}>{visit}>{item or 0}>{attempt}")


def tool(run_id: str, key: str, visit: int, attempt: int, item: int | None) -> str:
    """Return the id of the call that a handler's attempt is; its start and completion share it.

    A call that a person was asked about has the id of the approval's tool instead, from its proposal on.
    """
    return ids.derive(run_id, f"tool>{key}>{visit}>{item or 0}>{attempt}")
