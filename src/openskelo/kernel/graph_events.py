"""The facts that only a live graph has: nodes and edges come and go, people say something, turns are handed on."""

from __future__ import annotations

from typing import Literal, TypeAlias

from openskelo.frozen import plain
from openskelo.kernel.json import JsonObject, Stored


@plain
class NodeAdded:
    """A live graph has a node more; `definition` is all of it."""

    at: int
    node: str
    definition: JsonObject
    by: str


@plain
class NodeChanged:
    """A node of a live graph is defined anew: its next turn is done by that."""

    at: int
    node: str
    definition: JsonObject
    by: str


@plain
class NodeRemoved:
    """A node of a live graph is gone; what it was doing has been stopped, and its edges are gone."""

    at: int
    node: str
    by: str


@plain
class EdgeAdded:
    """Two nodes of a live graph are tied: what `source` says goes to `target`, and back if both ways are open."""

    at: int
    edge: str
    source: str
    target: str
    bidirectional: bool
    type: Literal["handoff", "report"]
    label: str
    by: str


@plain
class EdgeRemoved:
    """An edge of a live graph is gone. What went along it before is still read."""

    at: int
    edge: str
    by: str


@plain
class MessageReceived:
    """A person has said something to a node, which reads it in its next turn."""

    at: int
    node: str
    message_id: str
    role: Literal["user", "system"]
    content: Stored
    interrupt: bool
    by: str


@plain
class HandoffSent:
    """What `node` said in its turn number `turn` went along an edge and waits in the inbox of `to`."""

    at: int
    node: str
    turn: int
    handoff_id: str
    edge: str
    to: str


GraphEvent: TypeAlias = NodeAdded | NodeChanged | NodeRemoved | EdgeAdded | EdgeRemoved | MessageReceived | HandoffSent
