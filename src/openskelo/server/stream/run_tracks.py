"""Run tracks: the projections of runs that clients look at, kept in memory and advanced from the log.

Here a fact is one event of the log, and a wire event is what clients get; one fact makes any number of wire events. A
`RunTrack` is one run's projection after the facts read so far, with its newest wire events, already encoded.
`RunTracks` finds or creates the track of a run, brings it up to date, and drops tracks without a listener when memory
is needed; a dropped track is computed again from the log when it is next asked for. A server has one `RunTracks`, for
single requests and for streams.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from itertools import takewhile
from typing import Protocol, TypeAlias
from weakref import WeakValueDictionary

import orjson

from openskelo import errors, gates
from openskelo.history import loading
from openskelo.kernel import definition, events, ids
from openskelo.kernel.json import JsonObject
from openskelo.record import envelope
from openskelo.server.stream import partial_text
from openskelo.stores import api
from openskelo.structs import frozen
from openskelo.wire import projection

#: A track keeps this many bytes of its newest events, for clients that come back after a moment.
KEPT_BYTES = 256 * 1024
#: Tracks in memory have at most this many nodes together; beyond that, tracks without a listener are dropped.
MAX_NODES = 10_000
#: And at most this many bytes of facts: few nodes may have many items, loops, or long outputs.
MAX_BYTES = 32 * 1024 * 1024
#: And at most this many runs that have ended: a small run's track is ten times as large as its facts. Runs that go on
#: are not limited by their number, because a stream of all runs needs each of them again and again.
MAX_ENDED_RUNS = 256
#: After this many lines at a time, other tasks get their turn.
YIELD_LINES = 256
#: A run with this many nodes is projected in a thread: its first fact takes longer than other tasks may wait.
MANY_NODES = 256
#: This many workflows are kept; runs of the same workflow share it.
MAX_WORKFLOWS = 64

_ATTEMPT_ENDED = (events.AttemptSucceeded, events.AttemptFailed, events.AttemptInterrupted, events.AttemptCancelled)


class Store(api.RunLog, api.Listings, api.EventFiles, Protocol):
    """The part of a store that projections need: the log, the rows of runs, and the paths of files."""


class Projection(Protocol):
    """A run as the contract shows it; `apply` returns the wire events of one fact."""

    def apply(self, seq: int, event: events.Event, /) -> Sequence[JsonObject]: ...

    def snapshot(self) -> JsonObject: ...


#: Creates the projection of a run before its first fact.
ProjectionFactory: TypeAlias = Callable[[str, definition.Workflow], Projection]


def _projections_of(store: api.EventFiles) -> ProjectionFactory:
    """Return what creates the projections of a store's runs; they show the paths of the store's files."""
    return lambda run_id, workflow: projection.Projection(run_id, workflow, store.locate_blob, gates.runs_program)


@frozen
class FactEvents:
    """The wire events of one fact, encoded and joined by commas; and the attempt that the fact ends, if any."""

    seq: int
    data: bytes
    ended_attempt: partial_text.AttemptId | None


class RunTrack:
    """A run's projection at fact `seq`. A caller holds `lock` to advance it; `listener` gets each fact once, in order.

    `bytes` is the size of the facts so far: the memory that the track needs grows with it.
    """

    def __init__(self, run_id: str, shown: Projection, nodes: int) -> None:
        self.run_id = run_id
        self.nodes = nodes
        self.seq = 0
        self.bytes = 0
        self.lock = asyncio.Lock()
        self.listener: Callable[[FactEvents], None] | None = None
        self.in_flight: set[partial_text.AttemptId] = set()
        self.ended = False
        self._projection = shown
        self._kept: deque[FactEvents] = deque()
        self._kept_bytes = 0
        self._snapshot: bytes | None = None
        self._prepared: tuple[events.Event, bytes] | None = None

    def prepare(self, first: bytes) -> None:
        """Project the run's first fact before it is added, in any thread: it has an event for every node."""
        self._prepared = self._project(first)

    def add(self, line: bytes) -> FactEvents:
        """Advance by the run's next fact and return its events.

        Raise NotFound if its data was pruned, and Corrupt if it cannot be the next fact.
        """
        event, data = self._prepared or self._project(line)
        self._prepared = None
        self.seq += 1
        self.bytes += len(line)
        self._snapshot = None
        fact = FactEvents(seq=self.seq, data=data, ended_attempt=self._track_attempts(event))
        self._keep(fact)
        if self.listener is not None:
            self.listener(fact)
        return fact

    def _project(self, line: bytes) -> tuple[events.Event, bytes]:
        try:
            event = envelope.open_line(line)[1]
        except (LookupError, ValueError, TypeError) as error:
            raise loading.unreadable(self.run_id, self.seq + 1, line, error) from error
        try:
            return event, b",".join(map(orjson.dumps, self._projection.apply(self.seq + 1, event)))
        except (LookupError, ValueError, TypeError, AttributeError, AssertionError) as error:
            raise errors.Corrupt(
                f"event {self.seq + 1} of run {self.run_id} cannot be shown: {error!r}",
                hint=f"`skelo verify {ids.short(self.run_id)}` says more",
            ) from error

    def _track_attempts(self, event: events.Event) -> partial_text.AttemptId | None:
        """Update `in_flight` and `ended`, and return the attempt that the event ends."""
        if isinstance(event, events.AttemptStarted):
            self.in_flight.add((event.node, event.visit, event.attempt, event.item))
        elif isinstance(event, _ATTEMPT_ENDED):
            attempt = (event.node, event.visit, event.attempt, event.item)
            self.in_flight.discard(attempt)
            return attempt
        elif isinstance(event, events.RunEnded):
            self.ended = True
        return None

    def _keep(self, fact: FactEvents) -> None:
        self._kept.append(fact)
        self._kept_bytes += len(fact.data)
        while self._kept_bytes > KEPT_BYTES:
            self._kept_bytes -= len(self._kept.popleft().data)

    def facts_after(self, seq: int) -> list[FactEvents] | None:
        """Return the events of the facts after `seq`; None if some of them are no longer kept."""
        if seq < self.seq - len(self._kept):
            return None
        newest_first = takewhile(lambda fact: fact.seq > seq, reversed(self._kept))
        return list(newest_first)[::-1]

    def document(self) -> JsonObject:
        """Return the run's document at `seq`; it does not change when the track advances."""
        return self._projection.snapshot()

    def snapshot(self) -> bytes:
        """Return the run's document at `seq`, encoded."""
        if self._snapshot is None:
            self._snapshot = orjson.dumps(self._projection.snapshot())
        return self._snapshot


class RunTracks:
    """The tracks in memory. A track that is read or has a listener stays; others are dropped when memory is needed."""

    def __init__(self, store: Store, make_projection: ProjectionFactory | None = None) -> None:
        self.store = store
        self._make_projection = make_projection or _projections_of(store)
        self._tracks: dict[str, RunTrack] = {}  # the most recently used is the last one
        self._ended: dict[str, RunTrack] = {}  # those of ended runs, in the same order
        self._workflows: dict[str, definition.Workflow] = {}
        self._creating: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._nodes = 0
        self._bytes = 0

    def get(self, run_id: str) -> RunTrack | None:
        """Return the track of a run, however far it is, if it is in memory."""
        return self._tracks.get(run_id)

    async def at_head(self, run_id: str) -> RunTrack:
        """Return the run's track with everything that was in its log at the call. Raise NotFound or Corrupt."""
        await self._check_exists(run_id)
        track = await self._find(run_id)
        async with track.lock:
            await self._read_log(track)
        return track

    async def _check_exists(self, run_id: str) -> None:
        """Raise if the log no longer has the run: any process may have deleted or pruned a run that is in memory."""
        row = await self.store.find_run(run_id)
        if row is not None and row.ending is None:
            return  # only runs that have ended are deleted
        try:
            _open_first_line(run_id, await self._read_first_line(run_id))
        except errors.OpenSkeloError:
            self.forget(run_id)
            raise

    async def facts_of(self, entry: api.FeedEntry) -> Sequence[FactEvents]:
        """Return the events of an entry of the feed, also if the run's track is already beyond it."""
        before = entry.seq - len(entry.lines)
        track = await self._find(entry.run_id, entry.lines[0] if before == 0 else None)
        async with track.lock:
            if track.seq < before:
                await self._read_log(track, before)
            if track.seq == before:
                facts = [self._add(track, line) for line in entry.lines]
                if track.ended and track.listener is None:
                    self.forget(track.run_id)  # no further events will come
                return facts
            kept_facts = track.facts_after(before)
            if kept_facts is not None and track.seq >= entry.seq:
                return kept_facts[: len(entry.lines)]
        return await self._project_again(entry, before)

    async def _project_again(self, entry: api.FeedEntry, before: int) -> Sequence[FactEvents]:
        """Compute the events of an entry from the log: the track is beyond it and no longer has them."""
        facts: list[FactEvents] = []
        async for chunk in self.read_on(await self.create_own(entry.run_id)):
            facts += [fact for fact in chunk if before < fact.seq <= entry.seq]
            if facts and facts[-1].seq == entry.seq:
                break
        return facts

    async def create_own(self, run_id: str) -> RunTrack:
        """Return a track for the caller alone, before the run's first fact. Raise NotFound or Corrupt."""
        return await self._create(run_id, await self._read_first_line(run_id))

    async def read_on(self, own_track: RunTrack) -> AsyncIterator[Sequence[FactEvents]]:
        """Advance a track of the caller's own to the end of the log, and yield the events in chunks."""
        async for lines in self.store.read_events(own_track.run_id, after=own_track.seq):
            yield [own_track.add(line) for line in lines]
            if len(lines) >= YIELD_LINES:
                await asyncio.sleep(0)  # let other tasks run while a long log is read

    def forget(self, run_id: str) -> None:
        """Drop the track of a run; it is computed again from the log when it is next asked for."""
        track = self._tracks.pop(run_id, None)
        self._ended.pop(run_id, None)
        if track is not None:
            self._nodes -= track.nodes
            self._bytes -= track.bytes

    def forget_all(self) -> None:
        """Drop every track, also those with a listener."""
        for run_id in tuple(self._tracks):
            self.forget(run_id)

    async def _find(self, run_id: str, first_line: bytes | None = None) -> RunTrack:
        if run_id not in self._tracks:
            async with self._creating.setdefault(run_id, asyncio.Lock()):
                if run_id not in self._tracks:  # another task may have created it meanwhile
                    track = await self._create(run_id, first_line or await self._read_first_line(run_id))
                    self._tracks[run_id] = track
                    self._nodes += track.nodes
                    self._bytes += track.bytes
        track = self._tracks.pop(run_id)
        self._tracks[run_id] = track
        if self._ended.pop(run_id, None) is not None:
            self._ended[run_id] = track
        self._make_room(track)
        return track

    async def _read_first_line(self, run_id: str) -> bytes:
        async with contextlib.aclosing(api.read_run(self.store, run_id)) as chunks:
            return (await anext(chunks))[0]

    async def _create(self, run_id: str, first_line: bytes) -> RunTrack:
        workflow = await self._load_workflow(_open_first_line(run_id, first_line).definition)

        def create() -> RunTrack:
            return RunTrack(run_id, self._make_projection(run_id, workflow), len(workflow.nodes) + 1)

        def create_prepared() -> RunTrack:
            track = create()
            track.prepare(first_line)
            return track

        if len(workflow.nodes) < MANY_NODES:
            return create()
        return await asyncio.to_thread(create_prepared)

    async def _load_workflow(self, name: str) -> definition.Workflow:
        workflow = self._workflows.pop(name, None)
        if workflow is None:
            workflow = await loading.restore_patiently(await self.store.read_blob(name))
        self._workflows[name] = workflow
        while len(self._workflows) > MAX_WORKFLOWS:
            del self._workflows[next(iter(self._workflows))]
        return workflow

    async def _read_log(self, track: RunTrack, until: int | None = None) -> None:
        """Advance a track, whose lock the caller holds, to the fact `until`, or to the end of the log."""
        async for lines in self.store.read_events(track.run_id, after=track.seq):
            for line in lines:
                if track.seq == until:
                    return
                self._add(track, line)
            if len(lines) >= YIELD_LINES:
                await asyncio.sleep(0)

    def _add(self, track: RunTrack, line: bytes) -> FactEvents:
        try:
            fact = track.add(line)
        except (errors.Corrupt, errors.NotFound):
            self.forget(track.run_id)
            raise
        if self._tracks.get(track.run_id) is track:  # it may have been dropped meanwhile
            self._bytes += len(line)
            if track.ended:
                self._ended[track.run_id] = track
        return fact

    def _make_room(self, keep: RunTrack) -> None:
        """Drop tracks that nothing uses, the least recently used first; runs that go on only after all ended ones."""
        self._drop(self._ended, keep, lambda: self._has_few_ended(keep) and self._has_memory())
        self._drop(self._tracks, keep, self._has_memory)

    def _drop(self, tracks: Mapping[str, RunTrack], keep: RunTrack, is_enough: Callable[[], bool]) -> None:
        if is_enough():
            return
        for track in tuple(tracks.values()):
            if track.listener is None and track is not keep and not track.lock.locked():
                self.forget(track.run_id)
                if is_enough():
                    return

    def _has_few_ended(self, keep: RunTrack) -> bool:
        """True if there are few ended runs, even if that of `keep` turns out to have ended."""
        return len(self._ended) + (keep.run_id not in self._ended) <= MAX_ENDED_RUNS

    def _has_memory(self) -> bool:
        return self._nodes <= MAX_NODES and self._bytes <= MAX_BYTES


def _open_first_line(run_id: str, line: bytes) -> events.RunCreated:
    """Return the run's first event. Raise NotFound if it was pruned, and Corrupt if it cannot be the first."""
    try:
        event = envelope.open_line(line)[1]
    except (ValueError, LookupError, TypeError) as error:
        raise loading.unreadable(run_id, 1, line, error) from error
    if not isinstance(event, events.RunCreated):
        raise errors.Corrupt(f"the log of run {run_id} does not begin with run.created")
    return event
