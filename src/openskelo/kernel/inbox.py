"""The state of a live graph beside its nodes: what waits for each, what was said before, and who is tied to whom."""

from __future__ import annotations

from collections import deque
from typing import Literal

from openskelo.frozen import field, mutable, plain
from openskelo.kernel import fresh
from openskelo.kernel.json import Stored

#: How many turns of a node are remembered for its next one; all of them are in the log.
REMEMBERED = 20


@plain
class Letter:
    """Something that came for a node: what a person said (`source` is empty), or what another node handed over."""

    id: str
    at: int
    content: Stored
    role: Literal["user", "system"] = "user"
    by: str = ""
    source: str = ""
    edge: str = ""


@plain
class Exchange:
    """An earlier turn: what it was about and what the node said; None where it failed."""

    letters: tuple[Letter, ...]
    outputs: Stored | None


@plain
class Channel:
    """An edge of a live graph."""

    id: str
    source: str
    target: str
    bidirectional: bool
    type: Literal["handoff", "report"]
    label: str


def _session() -> deque[Exchange]:
    return deque(maxlen=REMEMBERED)


@mutable
class Inbox:
    """What waits for one node, in the order it came. The first `taken` letters are those of the turn under way.

    `repeated` is what the last turns that no person had asked for came to, and how often in a row. `held` are the edges
    along which a turn was to be handed on that a person is asked about first.
    """

    letters: deque[Letter] = field(default_factory=fresh.a_deque)
    taken: int = 0
    session: deque[Exchange] = field(default_factory=_session)
    said: Stored | None = None
    repeated: tuple[str, int] = ("", 0)
    held: tuple[str, ...] | None = None

    def turn(self) -> tuple[Letter, ...]:
        """The letters of the turn under way."""
        return tuple(self.letters[index] for index in range(self.taken))

    def is_asked(self) -> bool:
        """Whether the turn under way answers a person."""
        return any(not letter.source for letter in self.turn())


@mutable
class Live:
    """Inboxes by node, edges by id, and the edges that touch each node. Keys of `gone` nodes are not used again."""

    inboxes: dict[str, Inbox] = field(default_factory=fresh.a_dict)
    channels: dict[str, Channel] = field(default_factory=fresh.a_dict)
    touching: dict[str, dict[str, None]] = field(default_factory=fresh.a_dict)
    gone: set[str] = field(default_factory=fresh.a_set)
