"""Topics: what clients can follow (one run, or all runs), and the buffers from which they take messages.

A topic collects events until the hub has read the feed, and then sends them as few messages. Messages are kept once
for all followers in a `FrameBuffer`; each `Follower` takes them at its own pace. However many clients are slow, they
cost no more memory than one buffer; a client that falls out of it starts again with a snapshot.
"""

from __future__ import annotations

import asyncio
import weakref
from collections import deque
from collections.abc import Sequence

import orjson

from openskelo.server.stream import messages, partial_text, run_tracks

#: A buffer keeps at most this many bytes for its slowest follower.
MAX_BUFFER_BYTES = 4 * 1024 * 1024
#: Messages that all followers have taken are dropped once a buffer has this many bytes.
TRIM_BYTES = 64 * 1024
#: The stream of all runs keeps this many bytes for clients that come back after a moment.
KEPT_BYTES = 512 * 1024


# -- buffers ----------------------------------------------------------------------------------------------------------


class FrameBuffer:
    """The newest messages of a topic, by number. `send` never waits for a client."""

    def __init__(self) -> None:
        self.followers: set[Follower] = set()
        self.first = 0
        self.next = 0
        self.bytes = 0
        self._frames: dict[int, messages.Frame] = {}

    def send(self, frame: messages.Frame) -> None:
        """Add a message, and wake all followers."""
        self._frames[self.next] = frame
        self.next += 1
        self.bytes += len(frame.data)
        if self.bytes > TRIM_BYTES:
            self._trim()
        for follower in self.followers:
            follower.wake()

    def _trim(self) -> None:
        slowest = min((follower.at for follower in self.followers), default=self.next)
        while self.first < self.next - 1 and (self.first < slowest or self.bytes > MAX_BUFFER_BYTES):
            self.bytes -= len(self._frames.pop(self.first).data)
            self.first += 1

    def get(self, number: int) -> messages.Frame:
        """Return the message with this number, from `first` up to but not including `next`."""
        return self._frames[number]


class Follower:
    """One client: the buffer it follows, and the number of the message that it takes next."""

    def __init__(self) -> None:
        self.at = 0
        self.closed = False
        self._buffer: FrameBuffer | None = None
        self._woken = asyncio.Event()

    def follow(self, buffer: FrameBuffer) -> None:
        """Follow everything that is sent to the buffer from now on."""
        self.leave()
        self._buffer = buffer
        self.at = buffer.next
        buffer.followers.add(self)

    def leave(self) -> None:
        """Follow nothing any more."""
        if self._buffer is not None:
            self._buffer.followers.discard(self)
            self._buffer = None

    def close(self) -> None:
        """Announce that nothing more will be sent; messages sent before can still be taken."""
        self.closed = True
        self.wake()

    def wake(self) -> None:
        """Make `take` check the buffer again."""
        self._woken.set()

    @property
    def lagging(self) -> bool:
        """True if messages were dropped that the client did not take: it needs a new snapshot."""
        return self._buffer is not None and self.at < self._buffer.first

    @property
    def over(self) -> bool:
        """True if no further message will come."""
        return self.closed or self.lagging

    async def take(self, timeout: float) -> messages.Frame | None:  # noqa: ASYNC109 - None after a silence is no error
        """Return the next message; None after `timeout` seconds without one, or if none is left and it is `over`."""
        if not self._has_next() and not self.over:
            self._woken.clear()
            try:
                async with asyncio.timeout(timeout):
                    await self._woken.wait()
            except TimeoutError:
                return None
        if self._buffer is None or not self._has_next():
            return None
        self.at += 1
        return self._buffer.get(self.at - 1)

    def _has_next(self) -> bool:
        return self._buffer is not None and self._buffer.first <= self.at < self._buffer.next


# -- topics -----------------------------------------------------------------------------------------------------------


class Topic:
    """The followers of one run or of all runs; they have been sent everything up to `cursor`.

    The cursor is a `seq` for one run (`run_id`), and a position of the feed for all.
    """

    def __init__(self, run_id: str | None, cursor: int, partials: partial_text.Partials) -> None:
        self.run_id = run_id
        self.cursor = cursor
        self.buffer = FrameBuffer()
        self._partials = partials
        # How much of each partial text was sent.
        self._sent: weakref.WeakKeyDictionary[partial_text.Partial, int] = weakref.WeakKeyDictionary()
        self._pending: list[bytes] = []
        self._pending_bytes = 0

    def add_fact(self, fact: run_tracks.FactEvents, run_id: str) -> None:
        """Add the events of a fact, after the remaining text of the attempt that it ends."""
        if fact.ended_attempt is not None:
            partial = self._partials.get(run_id, fact.ended_attempt)
            if partial is not None:
                self.add_text(partial)
        if fact.data:
            self.add_event(fact.data)

    def add_text(self, partial: partial_text.Partial) -> None:
        """Add the part of a text that was not sent yet."""
        start = self._sent.get(partial, 0)
        if partial.end > start:
            self._sent[partial] = partial.end
            self.add_event(orjson.dumps(partial.delta(start)))

    def add_event(self, event: bytes) -> None:
        """Add encoded events."""
        self._pending.append(event)
        self._pending_bytes += len(event)

    def advance(self, cursor: int) -> None:
        """Record that all events up to the cursor were added, and send them if they fill a message."""
        self.cursor = cursor
        if self._pending_bytes > messages.FULL_BYTES:
            self.flush()

    def flush(self) -> None:
        """Send the added events as one message. Only between facts, after `advance`."""
        if not self._pending:
            return
        self.buffer.send(messages.events(self.run_id, self.cursor, self._pending))
        self._pending = []
        self._pending_bytes = 0


class RunTopic(Topic):
    """One run. Listens to the run's track, however that is advanced."""

    def __init__(self, track: run_tracks.RunTrack, partials: partial_text.Partials) -> None:
        super().__init__(track.run_id, track.seq, partials)
        self.track = track
        track.listener = self._on_fact

    def _on_fact(self, fact: run_tracks.FactEvents) -> None:
        self.add_fact(fact, self.track.run_id)
        self.advance(fact.seq)

    def send_partial_texts(self) -> Sequence[partial_text.Partial]:
        """Send all text that is being written to the followers so far, and return it for a new follower."""
        in_flight = self.track.in_flight
        partials = [item for item in self._partials.of_run(self.track.run_id) if item.attempt in in_flight]
        for partial in partials:
            self.add_text(partial)
        self.flush()
        return partials

    def close(self) -> None:
        """Stop listening to the track."""
        self.track.listener = None


class AllTopic(Topic):
    """All runs. Keeps its newest events by position, for clients that resume."""

    def __init__(self, cursor: int, partials: partial_text.Partials) -> None:
        super().__init__(None, cursor, partials)
        self._kept: deque[tuple[int, bytes]] = deque()
        self._kept_bytes = 0
        self._kept_from = cursor

    def add_entry(self, position: int, run_id: str, facts: Sequence[run_tracks.FactEvents]) -> None:
        """Add the events of one entry of the feed, and advance to its position."""
        for fact in facts:
            self.add_fact(fact, run_id)
        joined_events = b",".join(fact.data for fact in facts if fact.data)
        self._kept.append((position, joined_events))
        self._kept_bytes += len(joined_events)
        while self._kept_bytes > KEPT_BYTES:
            self._kept_from, dropped_event = self._kept.popleft()
            self._kept_bytes -= len(dropped_event)
        self.advance(position)

    def events_after(self, position: int) -> list[bytes] | None:
        """Return the events after a position; None if some of them are no longer kept."""
        if position < self._kept_from:
            return None
        return [data for at, data in self._kept if at > position and data]
