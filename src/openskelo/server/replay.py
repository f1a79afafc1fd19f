"""What a client has missed and nobody keeps in memory any more: told again from the log, at the client's pace."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from openskelo import errors
from openskelo.server import frames, track
from openskelo.server import tracks as tracking
from openskelo.stores import log

#: So many Appends are read at a time.
CHUNK = 64


async def of_run(tracks: tracking.Tracks, run_id: str, since: int) -> AsyncIterator[frames.Frame]:
    """Everything a run told after fact `since`, up to the end of its log."""
    waiting: list[bytes] = []
    size = 0
    seq = since
    async for chunk in tracks.from_start(run_id):
        for told in chunk:
            if told.seq <= since:
                continue
            seq = told.seq
            if told.data:
                waiting.append(told.data)
                size += len(told.data)
            if size > frames.FULL_BYTES:
                yield frames.events(run_id, seq, waiting)
                waiting, size = [], 0
    if seq > since:
        yield frames.events(run_id, seq, waiting)


async def of_all(store: log.Log, project: track.Project, since: int, until: int) -> AsyncIterator[frames.Frame]:
    """Everything all runs told after position `since`, up to `until`."""
    tracks = tracking.Tracks(store, project)
    waiting: list[bytes] = []
    size = 0
    position = since
    unreadable: set[str] = set()
    while position < until:
        batch = await store.feed(after=position, limit=CHUNK)
        if not batch:
            break
        for added in batch:
            try:
                found = [told.data for told in await tracks.told(added) if told.data]
            except errors.OpenSkeloError as error:  # one run that cannot be shown is no reason to stop the others
                found = []
                if added.run_id not in unreadable:
                    unreadable.add(added.run_id)
                    yield frames.error(error, added.run_id)
            waiting += found
            size += sum(map(len, found))
            position = added.position
            if size > frames.FULL_BYTES:
                yield frames.events(None, position, waiting)
                waiting, size = [], 0
        await asyncio.sleep(0)  # a long log must not keep everybody else waiting
    if position > since:
        yield frames.events(None, position, waiting)
