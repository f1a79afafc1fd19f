"""The hub: reads the feed of the log once for all clients, and sends each what it follows.

    hub = Hub(run_tracks.RunTracks(store), secrets=engine.project.secrets, is_running=engine.is_under_way)
    stop = engine.listen(hub.hear)
    async for frame in hub.frames(run_id, since): ...

While any client is connected, one task reads the store's feed every 25 ms, which also has the runs of other processes.
Each entry is projected once, and the encoded events go to the topic of its run and to the topic of all runs; every
follower takes them from there. Nothing in the hub waits for a client.

A client starts with a snapshot, or resumes after `since` without a gap: from the events that a topic keeps if they
reach back far enough, else from the log, at the client's own pace (`_RunCatchUp`, `_AllCatchUp`), until it can join the
others. A client that falls behind its buffer gets `resync` and a new snapshot. Text that models are writing is not in
the log; it is sent for runs that this process drives only.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Generator, Mapping

import orjson

from openskelo import clock, errors
from openskelo.executors.attempt import running_attempt
from openskelo.kernel.json import JsonObject
from openskelo.server import views
from openskelo.server.stream import messages, partial_text, run_tracks, topic
from openskelo.stores import api

#: How often the feed is read while there are clients: an event is sent within twice that.
POLL_SECONDS = 0.025
#: The pause after an error of the store.
RETRY_SECONDS = 0.5
#: This many entries of the feed are read at a time.
FEED_CHUNK = 128
#: The same for a client that catches up.
CATCH_UP_CHUNK = 64
#: After a silence this long a client gets a ping.
PING_SECONDS = 15.0
#: The maximum number of clients.
MAX_FOLLOWERS = 1000
#: The number of runs in the snapshot of a stream of all runs.
LISTED_RUNS = 100
#: Partial texts are checked for ended attempts once there are more than this.
SWEEP_TEXTS = 64

_LOG = logging.getLogger("openskelo.server.stream.hub")


class Hub:
    """Sends clients what happens. Belongs to the event loop that created it; `close` ends all streams."""

    def __init__(
        self,
        tracks: run_tracks.RunTracks,
        *,
        secrets: Mapping[str, str] | None = None,
        is_running: Callable[[str, partial_text.AttemptId], bool] | None = None,
    ) -> None:
        """Create a hub over the store of the tracks, which it shares with readers of single runs.

        `is_running` tells whether an attempt is in flight: the text of a run without followers is dropped by it.
        """
        self._store = tracks.store
        self._tracks = tracks
        self._partials = partial_text.Partials(secrets)
        self._is_running = is_running
        self._sweep_above = SWEEP_TEXTS
        self._runs: dict[str, topic.RunTopic] = {}
        self._all: topic.AllTopic | None = None
        self._followers: set[topic.Follower] = set()
        self._position = 0
        self._feed_task: asyncio.Task[None] | None = None
        self._closed = False

    # -- public -------------------------------------------------------------------------------------------------------

    def hear(self, request: running_attempt.AttemptRequest, piece: str) -> None:
        """Take a piece of a model's text in a run that this process drives (a listener for `Engine.listen`)."""
        partial = self._partials.add(request, piece)
        if partial is not None:
            if self._partials.count > self._sweep_above:
                self._sweep_texts()
            self.send_overlay(request.run_id, partial.progress())
            self.send_overlay(request.run_id, partial.connection())

    def hear_status(self, request: running_attempt.AttemptRequest, text: str) -> None:
        """Take what work in a run that this process drives says it is doing (for `Engine.listen_status`)."""
        partial = self._partials.note(request, text)
        self.send_overlay(request.run_id, partial.progress())
        if clock.wall_ms() - partial.told_at >= partial_text.HEARTBEAT_MS:
            self.send_overlay(request.run_id, partial.connection())

    def send_overlay(self, run_id: str, event: JsonObject) -> None:
        """Send an event that is not a fact, such as `node.progress`, to the followers of a run, once."""
        data = orjson.dumps(event)
        for run_topic in self._topics_of(run_id):
            run_topic.add_event(data)

    @property
    def followers(self) -> int:
        """The number of open streams."""
        return len(self._followers)

    @property
    def texts(self) -> int:
        """The number of attempts whose partial text is kept."""
        return self._partials.count

    @property
    def waiting_bytes(self) -> int:
        """The number of bytes that wait for clients to take them."""
        return sum(run_topic.buffer.bytes for run_topic in self._topics())

    async def close(self) -> None:
        """End every stream, and accept no more."""
        self._closed = True
        for follower in self._followers:
            follower.close()
        if self._feed_task is not None:
            self._feed_task.cancel()
            await asyncio.gather(self._feed_task, return_exceptions=True)

    def forget(self, run_id: str) -> None:
        """Drop what is in memory of a deleted run; its followers get an error and their streams end."""
        self._tracks.forget(run_id)
        if run_id in self._runs:
            error = errors.NotFound(f"run {run_id} was deleted", code="RUN_NOT_FOUND")
            self._runs[run_id].buffer.send(messages.error(error, run_id))
            self._close_followers(run_id)

    async def check(self, run_id: str | None) -> None:
        """Raise NotFound if there is no such run, and Busy if there are too many streams or the server stops."""
        if self._closed:
            raise errors.Busy("the server is stopping", code="SERVER_STOPPING", hint="try again in a moment")
        if len(self._followers) >= MAX_FOLLOWERS:
            raise errors.Busy(
                f"{MAX_FOLLOWERS} streams are open already", code="STREAMS_TOO_MANY", hint="close some, then try again"
            )
        if run_id is not None:
            await self._tracks.at_head(run_id)

    async def frames(self, run_id: str | None, since: int | None = None) -> AsyncGenerator[messages.Frame]:
        """Yield the messages of a run, or of all: hello, then a snapshot or what came after `since`, then events.

        Ends when the hub is closed. A client that is too slow gets `resync` and a new snapshot.
        """
        await self.check(run_id)
        yield messages.hello(run_id)
        with self._register_follower() as follower:
            while not follower.closed:
                await self._start_feed_task()
                start = self._join_all(since, follower) if run_id is None else self._join_run(run_id, since, follower)
                async for frame in start:
                    yield frame
                while (frame := await follower.take(PING_SECONDS)) is not None or not follower.over:
                    yield frame or messages.ping()
                if follower.lagging:
                    self._leave(follower)
                    since = None
                    yield messages.resync(run_id, "slow")

    # -- joining ------------------------------------------------------------------------------------------------------

    async def _join_run(
        self, run_id: str, since: int | None, follower: topic.Follower
    ) -> AsyncGenerator[messages.Frame]:
        """Yield what the client has missed of a run, until it can follow the run's topic with the others."""
        catch_up: _RunCatchUp | None = None
        while True:
            track = await self._tracks.at_head(run_id)
            last_seq = since if catch_up is None else catch_up.seq
            if last_seq is not None and last_seq > track.seq:
                yield messages.resync(run_id, "ahead")
                since, catch_up = None, None
            elif last_seq is not None and track.facts_after(last_seq) is None:
                if catch_up is None:
                    own_track = await self._tracks.create_own(run_id)
                    catch_up = _RunCatchUp(self._tracks, own_track, last_seq)
                async for frame in catch_up.full_frames():
                    yield frame
            else:
                remaining = [] if catch_up is None else catch_up.remaining.take()
                yield self._follow_run(track, last_seq, follower, remaining)
                return

    def _follow_run(
        self, track: run_tracks.RunTrack, since: int | None, follower: topic.Follower, encoded: list[bytes]
    ) -> messages.Frame:
        """Let the client follow the run's topic, and return the message that it needs before the topic's next one.

        There is no await in here, so no event can come in between.
        """
        run_topic = self._runs.get(track.run_id)
        if run_topic is None or run_topic.track is not track:
            run_topic = topic.RunTopic(track, self._partials)
            self._runs[track.run_id] = run_topic
        partials = run_topic.send_partial_texts()
        follower.follow(run_topic.buffer)
        for partial in partials:  # the snapshot, which follows from the facts, does not know what is going on
            run_topic.add_event(orjson.dumps(partial.progress()))
            run_topic.add_event(orjson.dumps(partial.connection()))
        missed_facts = None if since is None else track.facts_after(since)
        if missed_facts is None:
            texts = [partial.document() for partial in partials if partial.end]
            return messages.snapshot(track.run_id, track.seq, track.snapshot(), texts)
        encoded += [fact.data for fact in missed_facts if fact.data]
        encoded += [orjson.dumps(partial.delta(0)) for partial in partials if partial.end]
        return messages.events(track.run_id, track.seq, encoded)

    async def _join_all(self, since: int | None, follower: topic.Follower) -> AsyncGenerator[messages.Frame]:
        """Yield what the client has missed of all runs, until it can follow their topic with the others."""
        catch_up: _AllCatchUp | None = None
        while True:
            last_position = await self._store.last_position()
            rows = await self._store.list_runs(limit=LISTED_RUNS) if since is None else ()
            if self._all is None:
                self._all = topic.AllTopic(self._position, self._partials)
            all_runs = self._all
            position = since if catch_up is None else catch_up.position
            if position is None:
                all_runs.flush()
                follower.follow(all_runs.buffer)
                yield messages.listing(all_runs.cursor, [views.run_summary(row) for row in rows])
                return
            kept_events = all_runs.events_after(position)
            if position > last_position:
                yield messages.resync(None, "ahead")
                since, catch_up = None, None
            elif position > all_runs.cursor:
                await asyncio.sleep(POLL_SECONDS)  # the feed task will reach the client's position in a moment
            elif kept_events is not None:
                remaining = [] if catch_up is None else catch_up.remaining.take()
                all_runs.flush()
                follower.follow(all_runs.buffer)
                yield messages.events(None, all_runs.cursor, [*remaining, *kept_events])
                return
            else:
                catch_up = catch_up or _AllCatchUp(self._store, position)
                async for frame in catch_up.full_frames(all_runs.cursor):
                    yield frame

    @contextlib.contextmanager
    def _register_follower(self) -> Generator[topic.Follower]:
        follower = topic.Follower()
        self._followers.add(follower)
        try:
            yield follower
        finally:
            self._followers.discard(follower)
            self._leave(follower)

    def _leave(self, follower: topic.Follower) -> None:
        """Let the client follow nothing, and drop topics without followers."""
        follower.leave()
        for run_id, run_topic in tuple(self._runs.items()):
            if not run_topic.buffer.followers:
                run_topic.close()
                del self._runs[run_id]
        if self._all is not None and not self._all.buffer.followers:
            self._all = None

    # -- reading the feed ---------------------------------------------------------------------------------------------

    async def _start_feed_task(self) -> None:
        """Start reading the feed, from a position before everything that the client reads from now on."""
        if self._feed_task is None:
            position = await self._store.last_position()
            if self._feed_task is None and not self._closed:
                self._position = position
                self._sweep_texts()
                self._feed_task = asyncio.create_task(self._read_feed(), name="skelo-hub")

    async def _read_feed(self) -> None:
        """Read the feed while there are followers."""
        failing = False
        while self._followers:
            try:
                is_drained = await self._read_feed_chunk()
            except errors.StoreError as error:  # a full disk or a lock may be gone next time
                if not failing:
                    _LOG.warning("the feed cannot be read: %s", error.message)
                    self._send_to_all(messages.error(error))
                failing = True
                await asyncio.sleep(RETRY_SECONDS)
                continue
            except Exception as error:  # a defect: end the streams, so that no client waits for ever
                _LOG.exception("the hub failed")
                self._send_to_all(messages.error(errors.OpenSkeloError(f"the hub failed: {error!r}", code="INTERNAL")))
                for follower in self._followers:
                    follower.close()
                self._tracks.forget_all()
                self._runs, self._all = {}, None
                break
            failing = False
            await asyncio.sleep(POLL_SECONDS if is_drained else 0)
        self._feed_task = None

    async def _read_feed_chunk(self) -> bool:
        """Send the next entries of the feed, in few messages; return whether the feed is drained."""
        entries = await self._store.read_feed(after=self._position, limit=FEED_CHUNK)
        for entry in entries:
            await self._add_entry(entry)
            self._position = entry.position
        is_drained = len(entries) < FEED_CHUNK
        if is_drained:  # only then have all topics the start of the attempt that a text belongs to
            for partial in self._partials.unsent:
                for run_topic in self._topics_of(partial.run_id):
                    run_topic.add_text(partial)
            self._partials.unsent.clear()
        for run_topic in self._topics():
            run_topic.flush()
        return is_drained

    async def _add_entry(self, entry: api.FeedEntry) -> None:
        if self._all is None and entry.run_id not in self._runs:
            return
        try:
            facts = await self._tracks.facts_of(entry)
        except (errors.Corrupt, errors.NotFound, errors.InvalidInput) as error:
            self._drop_unreadable_run(entry.run_id, error)
            facts = ()
        if self._all is not None and entry.position > self._all.cursor:
            self._all.add_entry(entry.position, entry.run_id, facts)
        ended_attempts = [fact.ended_attempt for fact in facts if fact.ended_attempt is not None]
        self._partials.remove(entry.run_id, ended_attempts)

    def _drop_unreadable_run(self, run_id: str, error: errors.OpenSkeloError) -> None:
        """Send the error to the followers of a run that cannot be shown, and end the streams of that run."""
        frame = messages.error(error, run_id)
        for run_topic in self._topics_of(run_id):
            run_topic.flush()
            run_topic.buffer.send(frame)
        self._close_followers(run_id)

    def _close_followers(self, run_id: str) -> None:
        run_topic = self._runs.pop(run_id, None)
        if run_topic is not None:
            for follower in run_topic.buffer.followers:
                follower.close()

    def _sweep_texts(self) -> None:
        """Drop the texts of ended attempts of runs without followers: the feed task does not read those runs."""
        is_running = self._is_running
        if is_running is None:
            return
        self._partials.sweep(lambda run_id, attempt: bool(self._topics_of(run_id)) or is_running(run_id, attempt))
        self._sweep_above = max(SWEEP_TEXTS, 2 * self._partials.count)

    def _topics_of(self, run_id: str) -> tuple[topic.Topic, ...]:
        candidates = (self._runs.get(run_id), self._all)
        return tuple(candidate for candidate in candidates if candidate is not None)

    def _topics(self) -> tuple[topic.Topic, ...]:
        run_topics: tuple[topic.Topic, ...] = tuple(self._runs.values())
        return run_topics if self._all is None else (*run_topics, self._all)

    def _send_to_all(self, frame: messages.Frame) -> None:
        for run_topic in self._topics():
            run_topic.buffer.send(frame)


# -- catching up ------------------------------------------------------------------------------------------------------


class _Remaining:
    """Events that were read and do not fill a message yet."""

    def __init__(self) -> None:
        self._events: list[bytes] = []
        self._bytes = 0

    def add(self, data: bytes) -> None:
        if data:
            self._events.append(data)
            self._bytes += len(data)

    def is_full(self) -> bool:
        return self._bytes > messages.FULL_BYTES

    def take(self) -> list[bytes]:
        taken_events, self._events, self._bytes = self._events, [], 0
        return taken_events


class _RunCatchUp:
    """The events of a run after fact `seq`, read from the log on a track of the client's own.

    It can be continued when the log has grown meanwhile. Events that do not fill a message stay in `remaining`, for the
    message with which the client joins the others.
    """

    def __init__(self, tracks: run_tracks.RunTracks, own_track: run_tracks.RunTrack, seq: int) -> None:
        self.seq = seq
        self.remaining = _Remaining()
        self._tracks = tracks
        self._own_track = own_track

    async def full_frames(self) -> AsyncIterator[messages.Frame]:
        """Read on to the end of the log, and yield full messages."""
        async for chunk in self._tracks.read_on(self._own_track):
            for fact in chunk:
                if fact.seq <= self.seq:
                    continue
                self.seq = fact.seq
                self.remaining.add(fact.data)
                if self.remaining.is_full():
                    yield messages.events(self._own_track.run_id, self.seq, self.remaining.take())


class _AllCatchUp:
    """The events of all runs after a position of the feed, read on tracks of the client's own.

    The shared tracks are beyond the client, and would be computed from the start for each entry.
    """

    def __init__(self, store: run_tracks.Store, position: int) -> None:
        self.position = position
        self.remaining = _Remaining()
        self._store = store
        self._tracks = run_tracks.RunTracks(store)
        self._unreadable: set[str] = set()

    async def full_frames(self, until: int) -> AsyncIterator[messages.Frame]:
        """Read on to the position `until`, or a little beyond, and yield full messages."""
        while self.position < until:
            entries = await self._store.read_feed(after=self.position, limit=CATCH_UP_CHUNK)
            if not entries:
                self.position = until  # the entries were deleted
            for entry in entries:
                try:
                    facts = await self._tracks.facts_of(entry)
                except (errors.Corrupt, errors.NotFound, errors.InvalidInput) as error:
                    facts = ()  # a run that cannot be shown must not stop the others
                    if entry.run_id not in self._unreadable:
                        self._unreadable.add(entry.run_id)
                        yield messages.error(error, entry.run_id)
                for fact in facts:
                    self.remaining.add(fact.data)
                self.position = entry.position
                if self.remaining.is_full():
                    yield messages.events(None, self.position, self.remaining.take())
            if len(entries) == CATCH_UP_CHUNK:
                await asyncio.sleep(0)  # let other tasks run while a long log is read
