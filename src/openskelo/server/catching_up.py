"""What a client has missed and nobody keeps in memory any more: told again from the log, at the client's pace.

It goes on where it was when more has come meanwhile, and never tells twice. What does not fill a message stays in
`rest`, so that a client that has caught up can follow with the others before it is sent.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from openskelo import errors
from openskelo.server import frames, track
from openskelo.server import tracks as tracking
from openskelo.stores import log

#: So many Appends are read at a time.
CHUNK = 64


class _Rest:
    """What has been told and not yet sent."""

    def __init__(self) -> None:
        self._waiting: list[bytes] = []
        self._bytes = 0

    def add(self, data: bytes) -> None:
        if data:
            self._waiting.append(data)
            self._bytes += len(data)

    def is_full(self) -> bool:
        return self._bytes > frames.FULL_BYTES

    def take(self) -> list[bytes]:
        taken, self._waiting, self._bytes = self._waiting, [], 0
        return taken


class OfRun:
    """What a run told after fact `seq`, on a track of the client's own."""

    def __init__(self, tracks: tracking.Tracks, own: track.Track, seq: int) -> None:
        self.seq = seq
        self.rest = _Rest()
        self._tracks = tracks
        self._own = own

    async def full_frames(self) -> AsyncIterator[frames.Frame]:
        """Go on to the end of the log; `seq` and `rest` are where that came to."""
        async for chunk in self._tracks.more(self._own):
            for told in chunk:
                if told.seq <= self.seq:
                    continue
                self.seq = told.seq
                self.rest.add(told.data)
                if self.rest.is_full():
                    yield frames.events(self._own.run_id, self.seq, self.rest.take())


class OfAll:
    """What all runs told after a position, on tracks of the client's own."""

    def __init__(self, store: log.Log, project: track.Project, position: int) -> None:
        self.position = position
        self.rest = _Rest()
        self._store = store
        self._tracks = tracking.Tracks(store, project)
        self._unreadable: set[str] = set()

    async def full_frames(self, until: int) -> AsyncIterator[frames.Frame]:
        """Go on to `until`, or a little beyond; `position` and `rest` are where that came to."""
        while self.position < until:
            batch = await self._store.feed(after=self.position, limit=CHUNK)
            if not batch:
                self.position = until  # what was there is gone
            for added in batch:
                try:
                    told = await self._tracks.told(added)
                except (errors.Corrupt, errors.NotFound, errors.InvalidInput) as error:
                    told = ()  # one run that cannot be shown is no reason to stop the others
                    if added.run_id not in self._unreadable:
                        self._unreadable.add(added.run_id)
                        yield frames.error(error, added.run_id)
                for one in told:
                    self.rest.add(one.data)
                self.position = added.position
                if self.rest.is_full():
                    yield frames.events(None, self.position, self.rest.take())
            if len(batch) == CHUNK:
                await asyncio.sleep(0)  # a long log must not keep everybody else waiting
