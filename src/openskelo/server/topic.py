"""What clients can follow: one run, or all of them. Gathers what is told between two looks into few messages."""

from __future__ import annotations

import weakref
from collections import deque
from collections.abc import Sequence

import orjson

from openskelo.server import channel, frames, partials
from openskelo.server import track as tracking

#: So many bytes of the stream of all runs are kept for those who come back after a moment.
KEPT_BYTES = 512 * 1024


class Topic:
    """Followers of one thing, all of whom have been sent everything up to `cursor`, or are told that they have not.

    The cursor is a seq for one run (`run_id`), and a position of the feed for all.
    """

    def __init__(self, run_id: str | None, cursor: int, heard: partials.Partials) -> None:
        self.run_id = run_id
        self.cursor = cursor
        self.channel = channel.Channel()
        self._heard = heard
        self._said: weakref.WeakKeyDictionary[partials.Partial, int] = weakref.WeakKeyDictionary()
        self._waiting: list[bytes] = []
        self._waiting_bytes = 0

    def tell(self, told: tracking.Told, run_id: str) -> bytes:
        """Take in what a fact tells, after all that was said in the attempt it ends. Gives what followers get of it."""
        if told.ended is not None:
            said = self._heard.get(run_id, told.ended)
            if said is not None:
                self.say(said)
        if told.data:
            self._wait(told.data)
        return told.data

    def say(self, partial: partials.Partial) -> None:
        """Take in what was said since the last time."""
        start = self._said.get(partial, 0)
        if partial.end > start:
            self._said[partial] = partial.end
            self._wait(orjson.dumps(partial.delta(start)))

    def overlay(self, event: bytes) -> None:
        """Take in an event that is no fact."""
        self._wait(event)

    def move(self, cursor: int) -> None:
        """Everything up to here has been told; a message that is full goes out."""
        self.cursor = cursor
        if self._waiting_bytes > frames.FULL_BYTES:
            self.flush()

    def _wait(self, data: bytes) -> None:
        self._waiting.append(data)
        self._waiting_bytes += len(data)

    def flush(self) -> None:
        """Send what waits. Only where nothing is half told: after `move`."""
        if not self._waiting:
            return
        self.channel.send(frames.events(self.run_id, self.cursor, self._waiting))
        self._waiting = []
        self._waiting_bytes = 0


class RunTopic(Topic):
    """One run. Hears its track, whoever moves that."""

    def __init__(self, track: tracking.Track, heard: partials.Partials) -> None:
        super().__init__(track.run_id, track.seq, heard)
        self.track = track
        track.listener = self._hear

    def _hear(self, told: tracking.Told) -> None:
        self.tell(told, self.track.run_id)
        self.move(told.seq)

    def streaming(self) -> Sequence[partials.Partial]:
        """What is being said right now, all of which followers have been sent when this returns."""
        found = [partial for partial in self._heard.of_run(self.track.run_id) if partial.attempt in self.track.flying]
        for partial in found:
            self.say(partial)
        self.flush()
        return found

    def close(self) -> None:
        """Nobody follows any more."""
        self.track.listener = None


class AllTopic(Topic):
    """All runs. Keeps the newest of what it told, by position."""

    def __init__(self, cursor: int, heard: partials.Partials) -> None:
        super().__init__(None, cursor, heard)
        self._kept: deque[tuple[int, bytes]] = deque()
        self._kept_bytes = 0
        self._kept_from = cursor

    def keep(self, position: int, data: Sequence[bytes]) -> None:
        """Remember what an Append has told, and move on beyond it."""
        joined = b",".join(part for part in data if part)
        self._kept.append((position, joined))
        self._kept_bytes += len(joined)
        while self._kept_bytes > KEPT_BYTES:
            self._kept_from, gone = self._kept.popleft()
            self._kept_bytes -= len(gone)
        self.move(position)

    def after(self, position: int) -> list[bytes] | None:
        """What was told after a position; None when some of it is not kept any more."""
        if position < self._kept_from:
            return None
        return [data for at, data in self._kept if at > position and data]
