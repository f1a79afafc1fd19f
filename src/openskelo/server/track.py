"""One run on the wire: its projection, moved on fact by fact, and the newest of what those facts tell, encoded."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from itertools import takewhile
from typing import Protocol, TypeAlias

import orjson

from openskelo import errors
from openskelo.contract import envelope
from openskelo.engine import loading
from openskelo.kernel import definition, events
from openskelo.kernel.json import JsonObject
from openskelo.server import partials

#: So many bytes of what a run has told are kept for those who come back after a moment.
KEPT_BYTES = 256 * 1024

_OVER = (events.AttemptSucceeded, events.AttemptFailed, events.AttemptInterrupted, events.AttemptCancelled)


class Projection(Protocol):
    """A run as the contract shows it. `apply` gives the wire events of one fact."""

    def apply(self, seq: int, event: events.Event, /) -> Sequence[JsonObject]: ...

    def snapshot(self) -> JsonObject: ...


#: Makes the projection of a run that nothing has happened to yet.
Project: TypeAlias = Callable[[str, definition.Workflow], Projection]


class Told:
    """What one fact tells: its wire events, encoded, with commas between; and the attempt that it ends, if any."""

    __slots__ = ("data", "ended", "seq")

    def __init__(self, seq: int, data: bytes, ended: partials.Attempt | None) -> None:
        self.seq = seq
        self.data = data
        self.ended = ended


class Track:
    """A run's projection at fact `seq`. Whoever moves it holds `lock`; `listener` hears every fact, in order, once.

    `bytes` is how long the facts were that it took in: what it holds grows with them.
    """

    def __init__(self, run_id: str, projection: Projection, nodes: int) -> None:
        self.run_id = run_id
        self.nodes = nodes
        self.seq = 0
        self.bytes = 0
        self.lock = asyncio.Lock()
        self.listener: Callable[[Told], None] | None = None
        self.flying: set[partials.Attempt] = set()
        self.ended = False
        self._projection = projection
        self._kept: deque[Told] = deque()
        self._kept_bytes = 0
        self._snapshot: bytes | None = None
        self._ahead: tuple[events.Event, bytes] | None = None

    def expect(self, first: bytes) -> None:
        """Do the work of the run's first fact before it is added, in whatever thread: it tells of every node."""
        self._ahead = self._tell(first)

    def add(self, line: bytes) -> Told:
        """Take in the run's next fact (NotFound when its data was pruned, Corrupt when it cannot be the next one)."""
        event, told = self._ahead or self._tell(line)
        self._ahead = None
        self.seq += 1
        self.bytes += len(line)
        self._snapshot = None
        return self._keep(Told(self.seq, told, self._follow(event)))

    def _tell(self, line: bytes) -> tuple[events.Event, bytes]:
        try:
            event = envelope.open_line(line)[1]
        except (LookupError, ValueError, TypeError) as error:
            raise loading.unreadable(self.run_id, self.seq + 1, line, error) from error
        try:
            return event, b",".join(map(orjson.dumps, self._projection.apply(self.seq + 1, event)))
        except (LookupError, ValueError, TypeError, AttributeError, AssertionError) as error:
            raise errors.Corrupt(
                f"event {self.seq + 1} of run {self.run_id} cannot be shown: {error!r}",
                hint=f"`skelo verify {self.run_id}` says more",
            ) from error

    def _follow(self, event: events.Event) -> partials.Attempt | None:
        if isinstance(event, events.AttemptStarted):
            self.flying.add((event.node, event.visit, event.attempt, event.item))
        elif isinstance(event, _OVER):
            ended = (event.node, event.visit, event.attempt, event.item)
            self.flying.discard(ended)
            return ended
        elif isinstance(event, events.RunEnded):
            self.ended = True
        return None

    def _keep(self, told: Told) -> Told:
        self._kept.append(told)
        self._kept_bytes += len(told.data)
        while self._kept_bytes > KEPT_BYTES:
            self._kept_bytes -= len(self._kept.popleft().data)
        if self.listener is not None:
            self.listener(told)
        return told

    def after(self, seq: int) -> list[Told] | None:
        """What the facts after `seq` have told; None when some of it is not kept any more."""
        if seq < self.seq - len(self._kept):
            return None
        found = list(takewhile(lambda told: told.seq > seq, reversed(self._kept)))
        found.reverse()
        return found

    def document(self) -> JsonObject:
        """The run as it is now; it stays so."""
        return self._projection.snapshot()

    def snapshot(self) -> bytes:
        """The same, encoded."""
        if self._snapshot is None:
            self._snapshot = orjson.dumps(self._projection.snapshot())
        return self._snapshot
