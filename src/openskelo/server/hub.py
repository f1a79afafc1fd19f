"""The hub: one look at the feed for everybody, then the same messages to all who follow a run, or all runs.

    hub = Hub(engine.store, secrets=engine.project.secrets, under_way=engine.is_under_way)
    stop = engine.overhear(hub.hear)
    async for frame in hub.frames(run_id, since): ...

Nothing here waits for a client. What is not a fact (text being said) is only there for runs that this engine drives.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import deque
from collections.abc import AsyncGenerator, Callable, Generator, Mapping

import orjson

from openskelo import errors
from openskelo.executors import task
from openskelo.kernel.json import JsonObject
from openskelo.server import catching_up, channel, frames, partials, topic, views
from openskelo.server import track as tracking
from openskelo.server import tracks as shelf
from openskelo.stores import log

#: How often the feed is looked at while somebody follows: what is told goes out within twice that.
LOOK_SECONDS = 0.025
#: How soon the feed is looked at again when the store could not be read.
TROUBLE_SECONDS = 0.5
#: So many Appends are read at a time.
CHUNK = 128
#: After so long a silence a client gets a sign of life.
PING_SECONDS = 15.0
#: So many clients may follow at once.
MAX_FOLLOWERS = 1000
#: So many runs are in the snapshot of a stream of all runs.
LISTED = 100
#: So many texts are kept before it is seen which of them nobody needs any more.
TEXTS = 64

_LOG = logging.getLogger("openskelo.server.hub")


class Hub:
    """Tells followers what happens. Belongs to the event loop that made it; `close` ends all streams."""

    def __init__(
        self,
        store: log.Log,
        *,
        project: tracking.Project | None = None,
        secrets: Mapping[str, str] | None = None,
        under_way: Callable[[str, partials.Attempt], bool] | None = None,
    ) -> None:
        """`under_way` says whether an attempt is: the text of one that nobody follows is not kept beyond its end."""
        if project is None:
            from openskelo.contract import projection  # noqa: PLC0415  a caller may bring its own

            project = projection.Projection
        self._store = store
        self._project = project
        self._tracks = shelf.Tracks(store, project)
        self._heard = partials.Partials(secrets)
        self._under_way = under_way
        self._sweep_at = TEXTS
        self._runs: dict[str, topic.RunTopic] = {}
        self._all: topic.AllTopic | None = None
        self._left: deque[str] = deque()  # runs that have ended and were followed, those left longest ago first
        self._followers: set[channel.Follower] = set()
        self._position = 0
        self._tail: asyncio.Task[None] | None = None
        self._closed = False

    # -- what others call ---------------------------------------------------------------------------------------------

    def hear(self, of: task.Task, piece: str) -> None:
        """A model says something in a run that this process drives (`Engine.overhear` takes this)."""
        begun = self._heard.hear(of, piece)
        if begun is not None:
            if self._heard.count > self._sweep_at:
                self._sweep()
            self.overlay(of.run_id, begun.progress())

    def overlay(self, run_id: str, event: JsonObject) -> None:
        """Tell followers something that is no fact, `node.progress` and the like: soon, once, and never again."""
        data = orjson.dumps(event)
        for one in self._topics_of(run_id):
            one.overlay(data)

    @property
    def followers(self) -> int:
        """How many streams there are."""
        return len(self._followers)

    @property
    def texts(self) -> int:
        """Of how many attempts what was said is kept."""
        return self._heard.count

    @property
    def waiting_bytes(self) -> int:
        """How much waits for clients to take it."""
        return sum(one.channel.bytes for one in self._topics())

    async def close(self) -> None:
        """End every stream, and take no more."""
        self._closed = True
        for follower in self._followers:
            follower.close()
        if self._tail is not None:
            self._tail.cancel()
            await asyncio.gather(self._tail, return_exceptions=True)

    def forget(self, run_id: str) -> None:
        """Keep nothing of a run that was deleted; those who follow it are told that it is gone."""
        self._tracks.forget(run_id)
        if run_id in self._runs:
            gone = errors.NotFound(f"run {run_id} was deleted", code="RUN_NOT_FOUND")
            self._runs[run_id].channel.send(frames.error(gone, run_id))
            self._send_away(run_id)

    async def check(self, run_id: str | None) -> None:
        """Refuse a stream before it begins: NotFound for a run that is not there, Busy when there are too many."""
        if self._closed:
            raise errors.Busy("the server is about to stop", code="SERVER_STOPPING", hint="try again in a moment")
        if len(self._followers) >= MAX_FOLLOWERS:
            raise errors.Busy(
                f"{MAX_FOLLOWERS} streams are open already", code="STREAMS_TOO_MANY", hint="close some, then try again"
            )
        if run_id is not None:
            await self._tracks.at_head(run_id)

    async def frames(self, run_id: str | None, since: int | None = None) -> AsyncGenerator[frames.Frame]:
        """Everything about a run (or all): hello, then a snapshot or what came after `since`, then what happens.

        Ends when the hub is closed. A client that does not keep up is sent `resync` and a snapshot.
        """
        await self.check(run_id)
        yield frames.hello(run_id)
        with self._following() as follower:
            while not follower.closed:
                await self._watch()
                begin = self._begin_all(since, follower) if run_id is None else self._begin_run(run_id, since, follower)
                async for frame in begin:
                    yield frame
                while (frame := await follower.take(PING_SECONDS)) is not None or not follower.over:
                    yield frame or frames.ping()
                if follower.lagging:
                    self._leave(follower)
                    since = None
                    yield frames.resync(run_id, "slow")

    # -- beginning to follow ------------------------------------------------------------------------------------------

    async def _begin_run(
        self, run_id: str, since: int | None, follower: channel.Follower
    ) -> AsyncGenerator[frames.Frame]:
        """Tell a client what it has missed, until it can follow its run with the others."""
        missed: catching_up.OfRun | None = None
        while True:
            track = await self._tracks.at_head(run_id)
            reached = since if missed is None else missed.seq
            if reached is not None and reached > track.seq:
                yield frames.resync(run_id, "ahead")
                since, missed = None, None
            elif reached is not None and track.after(reached) is None:
                missed = missed or catching_up.OfRun(self._tracks, await self._tracks.fresh(run_id), reached)
                async for frame in missed.full_frames():
                    yield frame
            else:
                yield self._join_run(track, reached, follower, [] if missed is None else missed.rest.take())
                return

    def _join_run(
        self, track: tracking.Track, since: int | None, follower: channel.Follower, told: list[bytes]
    ) -> frames.Frame:
        """Let the client follow with the others from here; gives what it needs before. Nothing can come in between."""
        found = self._runs.get(track.run_id)
        if found is None or found.track is not track:
            found = self._runs[track.run_id] = topic.RunTopic(track, self._heard)
        said = found.streaming()
        follower.follow(found.channel)
        missed = None if since is None else track.after(since)
        if missed is None:
            return frames.snapshot(track.run_id, track.seq, track.snapshot(), [one.document() for one in said])
        told += [one.data for one in missed if one.data]
        told += [orjson.dumps(one.delta(0)) for one in said if one.end]
        return frames.events(track.run_id, track.seq, told)

    async def _begin_all(self, since: int | None, follower: channel.Follower) -> AsyncGenerator[frames.Frame]:
        """The same for the stream of all runs."""
        missed: catching_up.OfAll | None = None
        while True:
            newest = await self._store.position()
            rows = await self._store.rows(limit=LISTED) if since is None else ()
            if self._all is None:
                self._all = topic.AllTopic(self._position, self._heard)
            everyone = self._all
            reached = since if missed is None else missed.position
            if reached is None:
                everyone.flush()
                follower.follow(everyone.channel)
                yield frames.listing(everyone.cursor, [views.summary(row) for row in rows])
                return
            kept = everyone.after(reached)
            if reached > newest:
                yield frames.resync(None, "ahead")
                since, missed = None, None
            elif reached > everyone.cursor:
                await asyncio.sleep(LOOK_SECONDS)  # the log is there already, and will be told in a moment
            elif kept is not None:
                everyone.flush()
                follower.follow(everyone.channel)
                yield frames.events(None, everyone.cursor, [*([] if missed is None else missed.rest.take()), *kept])
                return
            else:
                missed = missed or catching_up.OfAll(self._store, self._project, reached)
                async for frame in missed.full_frames(everyone.cursor):
                    yield frame

    @contextlib.contextmanager
    def _following(self) -> Generator[channel.Follower]:
        follower = channel.Follower()
        self._followers.add(follower)
        try:
            yield follower
        finally:
            self._followers.discard(follower)
            self._leave(follower)

    def _leave(self, follower: channel.Follower) -> None:
        """The client follows nothing any more; what nobody follows is not kept up to date."""
        follower.leave()
        for run_id, one in tuple(self._runs.items()):
            if not one.channel.followers:
                one.close()
                del self._runs[run_id]
                if one.track.ended:
                    self._put_away(run_id)
        if self._all is not None and not self._all.channel.followers:
            self._all = None

    def _put_away(self, run_id: str) -> None:
        """Keep a run that has ended for those who come back after a moment, until some others were left like it."""
        self._left.append(run_id)
        while len(self._left) > shelf.MAX_RUNS:
            gone = self._left.popleft()
            if gone not in self._runs and gone not in self._left:
                self._tracks.forget(gone)

    # -- following the feed -------------------------------------------------------------------------------------------

    def _sweep(self) -> None:
        """Those who follow a run are told of the end of its attempts; nobody hears of it where there are none."""
        if (under_way := self._under_way) is None:
            return
        self._heard.sweep(lambda run_id, attempt: bool(self._topics_of(run_id)) or under_way(run_id, attempt))
        self._sweep_at = max(TEXTS, 2 * self._heard.count)

    async def _watch(self) -> None:
        """Have the feed looked at, from a position that is in the past of whatever is read from now on."""
        if self._tail is None:
            position = await self._store.position()
            if self._tail is None and not self._closed:
                self._position = position
                self._sweep()
                self._tail = asyncio.create_task(self._follow_feed(), name="skelo-hub")

    async def _follow_feed(self) -> None:
        """Look at the feed as long as there is anybody to tell."""
        trouble = False
        while self._followers:
            try:
                drained = await self._look()
            except errors.StoreError as error:  # no room, no lock: it may be gone next time
                if not trouble:
                    _LOG.warning("the feed cannot be read: %s", error.message)
                    self._to_all(frames.error(error))
                trouble = True
                await asyncio.sleep(TROUBLE_SECONDS)
                continue
            except Exception as error:  # a defect of ours: nobody must wait for what will not come
                _LOG.exception("the hub failed")
                self._to_all(frames.error(errors.OpenSkeloError(f"the hub failed: {error!r}", code="INTERNAL")))
                for follower in self._followers:
                    follower.close()
                self._tracks = shelf.Tracks(self._store, self._project)
                self._runs, self._all = {}, None
                break
            trouble = False
            await asyncio.sleep(LOOK_SECONDS if drained else 0)
        self._tail = None

    async def _look(self) -> bool:
        """Tell what is new, in few messages; gives whether that was all there is."""
        batch = await self._store.feed(after=self._position, limit=CHUNK)
        for added in batch:
            await self._take(added)
            self._position = added.position
        drained = len(batch) < CHUNK
        if drained:  # the attempt that something was said in has begun for everybody
            for partial in self._heard.fresh:
                for one in self._topics_of(partial.run_id):
                    one.say(partial)
            self._heard.fresh.clear()
        for one in self._topics():
            one.flush()
        return drained

    async def _take(self, added: log.Added) -> None:
        if self._all is None and added.run_id not in self._runs:
            return
        try:
            told = await self._tracks.told(added)
        except (errors.Corrupt, errors.NotFound, errors.InvalidInput) as error:
            self._give_up(added.run_id, error)
            told = ()
        if self._all is not None and added.position > self._all.cursor:
            self._all.keep(added.position, [self._all.tell(one, added.run_id) for one in told])
        self._heard.end(added.run_id, [one.ended for one in told if one.ended is not None])

    def _give_up(self, run_id: str, error: errors.OpenSkeloError) -> None:
        """A run that cannot be shown: those who follow it are told so and sent away, the others go on."""
        frame = frames.error(error, run_id)
        for one in self._topics_of(run_id):
            one.flush()
            one.channel.send(frame)
        self._send_away(run_id)

    def _send_away(self, run_id: str) -> None:
        found = self._runs.pop(run_id, None)
        for follower in () if found is None else found.channel.followers:
            follower.close()

    def _topics_of(self, run_id: str) -> tuple[topic.Topic, ...]:
        found = (self._runs.get(run_id), self._all)
        return tuple(one for one in found if one is not None)

    def _topics(self) -> tuple[topic.Topic, ...]:
        every: tuple[topic.Topic, ...] = tuple(self._runs.values())
        return every if self._all is None else (*every, self._all)

    def _to_all(self, frame: frames.Frame) -> None:
        for one in self._topics():
            one.channel.send(frame)
