"""The tracks of the runs that somebody looks at, brought up to date from the log, as many as fit."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from weakref import WeakValueDictionary

from openskelo import errors
from openskelo.contract import envelope
from openskelo.engine import garbage, loading
from openskelo.kernel import definition, events
from openskelo.server import track
from openskelo.stores import log

#: So many nodes are kept in memory over all runs; beyond that, runs that nobody watches go.
MAX_NODES = 10_000
#: And so many bytes of facts: few nodes may have many items, or loops, or much to say.
MAX_BYTES = 32 * 1024 * 1024
#: And so many runs, for those who ask once: what is kept of the smallest is ten times as large as its facts.
MAX_RUNS = 256
#: After so many lines at a time others get their turn.
LONG = 256
#: From so many nodes on a run is made ready in a thread: it takes longer than others may wait.
MANY = 256
#: So many workflows are kept beside: runs of the same one share it.
MAX_WORKFLOWS = 64


class Tracks:
    """Finds or makes the track of a run. Tracks with a listener stay; the others are kept while there is room.

    `most` runs at once, without it as many as fit: whoever is told of all that happens needs those that go on.
    """

    def __init__(self, store: log.Log, project: track.Project, most: int | None = None) -> None:
        self._store = store
        self._most = most
        self._project = project
        self._tracks: dict[str, track.Track] = {}
        self._workflows: dict[str, definition.Workflow] = {}
        self._making: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._nodes = 0
        self._bytes = 0

    def known(self, run_id: str) -> track.Track | None:
        """The track of a run, however far it is, if it is in memory."""
        return self._tracks.get(run_id)

    async def at_head(self, run_id: str) -> track.Track:
        """The run's track with everything that was in its log when this was called (NotFound, Corrupt)."""
        found = await self._find(run_id)
        async with found.lock:
            await self._read(found)
        await self._check_kept(run_id)
        return found

    async def _check_kept(self, run_id: str) -> None:
        """Show only what the log still has: any process may have deleted or pruned a run that is in memory here."""
        row = await self._store.row(run_id)
        if row is not None and row.ending is None:
            return  # only runs that have ended are taken out
        try:
            _created(run_id, await self._first(run_id))
        except errors.OpenSkeloError:
            self.forget(run_id)
            raise

    async def told(self, added: log.Added) -> Sequence[track.Told]:
        """What the facts of one Append tell, whether or not the track is beyond them already."""
        before = added.seq - len(added.lines)
        found = await self._find(added.run_id, added.lines[0] if before == 0 else None)
        async with found.lock:
            if found.seq < before:
                await self._read(found, before)
            if found.seq == before:
                told = [self._add(found, line) for line in added.lines]
                if found.ended and found.listener is None:
                    self.forget(found.run_id)  # nothing more is told of it
                return told
            kept = found.after(before)
            if kept is not None and found.seq >= added.seq:
                return kept[: len(added.lines)]
        return await self._again(added, before)

    async def more(self, own: track.Track) -> AsyncIterator[Sequence[track.Told]]:
        """What the rest of the log tells on a track of the reader's own, in chunks (NotFound, Corrupt)."""
        async for lines in self._store.read(own.run_id, after=own.seq):
            yield [own.add(line) for line in lines]
            if len(lines) >= LONG:
                await asyncio.sleep(0)  # a long log must not keep everybody else waiting

    async def fresh(self, run_id: str) -> track.Track:
        """A track of the reader's own, before the run's first fact (NotFound, Corrupt)."""
        return await self._make(run_id, await self._first(run_id))

    async def _again(self, added: log.Added, before: int) -> Sequence[track.Told]:
        """The same told once more: the track has gone on, and does not have it any more."""
        found: list[track.Told] = []
        async for chunk in self.more(await self.fresh(added.run_id)):
            found += [told for told in chunk if before < told.seq <= added.seq]
            if found and found[-1].seq == added.seq:
                break
        return found

    def forget(self, run_id: str) -> None:
        """Let go of a track that is of no use: the next who asks folds the log again."""
        found = self._tracks.pop(run_id, None)
        if found is not None:
            self._nodes -= found.nodes
            self._bytes -= found.bytes

    async def _find(self, run_id: str, first: bytes | None = None) -> track.Track:
        if run_id not in self._tracks:
            async with self._making.setdefault(run_id, asyncio.Lock()):
                if run_id not in self._tracks:  # else somebody else was quicker
                    made = self._tracks[run_id] = await self._make(run_id, first or await self._first(run_id))
                    self._nodes += made.nodes
                    self._bytes += made.bytes
        found = self._tracks[run_id] = self._tracks.pop(run_id)  # at the end: the one that was used last
        self._make_room(found)
        return found

    async def _first(self, run_id: str) -> bytes:
        async for lines in self._store.read(run_id):
            return lines[0]
        raise _not_found(run_id)

    async def _make(self, run_id: str, first: bytes) -> track.Track:
        workflow = await self._workflow(_created(run_id, first).definition)
        if len(workflow.nodes) < MANY:
            return self._made(run_id, workflow)
        with garbage.seldom():
            return await asyncio.to_thread(self._made, run_id, workflow, first)

    def _made(self, run_id: str, workflow: definition.Workflow, first: bytes | None = None) -> track.Track:
        made = track.Track(run_id, self._project(run_id, workflow), len(workflow.nodes) + 1)
        if first is not None:
            made.expect(first)
        return made

    async def _workflow(self, name: str) -> definition.Workflow:
        found = self._workflows.pop(name, None)
        if found is None:
            found = await loading.restored(await self._store.blob(name))
        self._workflows[name] = found
        while len(self._workflows) > MAX_WORKFLOWS:
            del self._workflows[next(iter(self._workflows))]
        return found

    async def _read(self, found: track.Track, to: int | None = None) -> None:
        """Bring the track, whose lock is held, up to that event, or up to date."""
        async for lines in self._store.read(found.run_id, after=found.seq):
            for line in lines:
                if found.seq == to:
                    return
                self._add(found, line)
            if len(lines) >= LONG:
                await asyncio.sleep(0)

    def _add(self, found: track.Track, line: bytes) -> track.Told:
        try:
            told = found.add(line)
        except (errors.Corrupt, errors.NotFound):
            self.forget(found.run_id)
            raise
        if self._tracks.get(found.run_id) is found:  # else it had to make room meanwhile
            self._bytes += len(line)
        return told

    def _make_room(self, keep: track.Track) -> None:
        """Runs that have ended and are watched by nobody first, then those used longest ago."""
        if self._fits():
            return
        idle = [one for one in self._tracks.values() if one.listener is None and one is not keep]
        for one in sorted(idle, key=lambda one: not one.ended):
            if self._fits():
                return
            self.forget(one.run_id)

    def _fits(self) -> bool:
        few = self._most is None or len(self._tracks) <= self._most
        return few and self._nodes <= MAX_NODES and self._bytes <= MAX_BYTES


def _created(run_id: str, first: bytes) -> events.RunCreated:
    """What the first line of a run says (NotFound when it was pruned, Corrupt when it cannot be the first)."""
    try:
        event = envelope.open_line(first)[1]
    except (ValueError, LookupError, TypeError) as error:
        raise loading.unreadable(run_id, 1, first, error) from error
    if not isinstance(event, events.RunCreated):
        raise errors.Corrupt(f"the log of run {run_id} does not begin with run.created")
    return event


def _not_found(run_id: str) -> errors.NotFound:
    return errors.NotFound(f"there is no run {run_id}", code="RUN_NOT_FOUND", hint="`skelo runs` lists them")
