"""The runs that a server has in memory to show: as many as fit, by their nodes and by what was told of them."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest

import openskelo
from openskelo.history import loading
from openskelo.kernel import events
from openskelo.kernel.json import Json, JsonObject
from openskelo.server import views
from openskelo.server.stream import run_tracks
from openskelo.stores import api, memory
from openskelo.wire import projection
from tests.engine.stage import play
from tests.server import house, streaming


@pytest.mark.parametrize(("bound", "most"), [("MAX_NODES", 9), ("MAX_BYTES", 7_000)])
def test_runs_make_room_by_their_nodes_and_by_the_bytes_of_their_facts(
    monkeypatch: pytest.MonkeyPatch, bound: str, most: int
) -> None:
    monkeypatch.setattr(run_tracks, bound, most)

    async def story() -> None:
        async with streaming.engine(Path(), store=memory.MemoryStore()) as engine:
            found = run_tracks.RunTracks(engine.store, projection.Projection)
            runs = [await engine.start(streaming.chain(3), {"n": 1}) for _ in range(6)]
            await asyncio.gather(*map(engine.wait, runs))
            shown = [(await found.at_head(run_id)).snapshot() for run_id in runs]
            kept = [known for run_id in runs if (known := found.get(run_id)) is not None]
            assert [one.run_id for one in kept] == runs[-2:]
            again = [(await found.at_head(run_id)).snapshot() for run_id in runs]
            assert again == shown
            for run_id in runs:
                found.forget(run_id)
            await found.at_head(runs[0])
            await found.at_head(runs[1])
            assert [found.get(run_id) is not None for run_id in runs[:2]] == [True, True]

    play(story)


def test_one_run_that_is_larger_than_all_may_be_is_shown_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_tracks, "MAX_BYTES", 10)

    async def story() -> None:
        async with streaming.engine(Path(), store=memory.MemoryStore()) as engine:
            found = run_tracks.RunTracks(engine.store, projection.Projection)
            run_id = await engine.start(streaming.chain(1), {"n": 1})
            await engine.wait(run_id)
            track = await found.at_head(run_id)
            assert track.bytes > 10
            assert await found.at_head(run_id) is track

    play(story)


def test_those_who_ask_once_keep_few_runs_however_small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_tracks, "MAX_ENDED_RUNS", 3)

    async def story() -> None:
        async with streaming.engine(Path(), store=memory.MemoryStore()) as engine:
            found = run_tracks.RunTracks(engine.store)
            shown = views.Views(found)
            runs = [await engine.start(streaming.chain(1), {"n": 1}) for _ in range(6)]
            await asyncio.gather(*map(engine.wait, runs))
            for run_id in runs:
                await shown.snapshot(run_id)
            assert [run_id for run_id in runs if found.get(run_id)] == runs[-3:]

    play(story)


def test_a_run_that_ends_and_that_nobody_follows_is_not_kept_by_whoever_is_told_of_all() -> None:
    async def story() -> None:
        async with streaming.engine(Path(), store=memory.MemoryStore()) as engine:
            found = run_tracks.RunTracks(engine.store, projection.Projection)
            watched, other = [await engine.start(streaming.chain(1), {"n": 1}) for _ in range(2)]
            await asyncio.gather(engine.wait(watched), engine.wait(other))
            heard: list[run_tracks.FactEvents] = []
            told = 0
            for added in await engine.store.read_feed(after=0):
                if added.run_id == watched and found.get(watched) is None:
                    await found.facts_of(added)
                    known = found.get(watched)
                    assert known is not None
                    known.listener = heard.append
                    continue
                told += len(await found.facts_of(added))
            assert (told > 0, len(heard) > 0) == (True, True)
            assert [found.get(run_id) is not None for run_id in (watched, other)] == [True, False]

    play(story)


class RecordingReads(memory.MemoryStore):
    """Records which runs are read from their first fact on."""

    def __init__(self) -> None:
        super().__init__()
        self.runs_read: list[str] = []

    async def read_events(self, run_id: str, *, after: int = 0) -> AsyncIterator[Sequence[bytes]]:
        if after == 0:
            self.runs_read.append(run_id)
        async for lines in super().read_events(run_id, after=after):
            yield lines


def test_a_run_that_a_request_has_read_is_not_read_again_for_a_stream(tmp_path: Path) -> None:
    store = RecordingReads()
    with house.open_house(tmp_path, open_store=lambda _: store) as home, home.client() as client:
        run_id = house.start(client)["id"]
        house.asked(client, run_id)
        assert run_id in store.runs_read
        store.runs_read.clear()
        with client.stream("GET", "/api/stream", params={"runId": run_id}) as stream:
            assert any(line == "event: snapshot" for line in stream.iter_lines())
        assert store.runs_read == []


class SlowReads(memory.MemoryStore):
    """Lets a test hold up whoever reads the events or the row of one run."""

    def __init__(self) -> None:
        super().__init__()
        self.slow_run = ""
        self.may_read = asyncio.Event()
        self.has_asked = asyncio.Event()

    async def find_run(self, run_id: str) -> api.RunRow | None:
        await self._wait(run_id)
        return await super().find_run(run_id)

    async def read_events(self, run_id: str, *, after: int = 0) -> AsyncIterator[Sequence[bytes]]:
        await self._wait(run_id)
        async for lines in super().read_events(run_id, after=after):
            yield lines

    async def _wait(self, run_id: str) -> None:
        if run_id == self.slow_run:
            self.has_asked.set()
            await self.may_read.wait()


def test_a_run_that_is_being_read_makes_no_room_for_another(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_tracks, "MAX_BYTES", 10)

    async def story() -> None:
        store = SlowReads()
        async with streaming.engine(Path(), store=store) as engine:
            tracks = run_tracks.RunTracks(engine.store)
            slow, other = [await engine.start(streaming.chain(1), {"n": 1}) for _ in range(2)]
            await asyncio.gather(engine.wait(slow), engine.wait(other))
            await tracks.at_head(slow)
            store.slow_run = slow
            reading = asyncio.create_task(tracks.at_head(slow))
            await store.has_asked.wait()
            await tracks.at_head(other)
            store.may_read.set()
            track = await reading
            assert tracks.get(slow) is track

    play(story)


def test_ended_runs_beyond_their_number_make_no_run_leave_that_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_tracks, "MAX_ENDED_RUNS", 1)

    async def story() -> None:
        may_end = asyncio.Event()

        async def wait(ctx: openskelo.Context) -> JsonObject:
            await may_end.wait()
            return ctx.inputs

        async with streaming.engine(Path(), store=memory.MemoryStore(), wait=wait) as engine:
            found = run_tracks.RunTracks(engine.store)
            waiting = [await engine.start(_WAITING, {"n": 1}) for _ in range(3)]
            ended = [await engine.start(streaming.chain(1), {"n": 1}) for _ in range(3)]
            await asyncio.gather(*map(engine.wait, ended))
            for run_id in (*waiting, *ended):
                (await found.at_head(run_id)).listener = None if run_id in waiting else _ignore
            await found.at_head(waiting[0])
            assert [run_id for run_id in (*waiting, *ended) if found.get(run_id)] == [*waiting, *ended]
            may_end.set()

    play(story)


_WAITING = openskelo.from_document(
    {
        "name": "waiting",
        "inputs": {"n": "integer"},
        "blocks": [
            {
                "id": "wait",
                "mode": "deterministic",
                "inputs": {"n": {"type": "integer", "from": "inputs.n"}},
                "outputs": {"n": "integer"},
                "deterministic": {"handler": "local:wait"},
            }
        ],
    }
)


def _ignore(fact: run_tracks.FactEvents) -> None:
    del fact


def test_a_run_of_many_nodes_is_made_ready_once_while_others_have_their_turn() -> None:
    async def story() -> None:
        async with streaming.engine(Path(), store=memory.MemoryStore()) as engine:
            run_id = await engine.start(streaming.chain(2 * run_tracks.MANY_NODES), {"n": 1})
            await engine.wait(run_id)
            started: list[str] = []
            has_started, may_go_on = threading.Event(), threading.Event()

            class WaitingProjection(projection.Projection):
                """Projects the first fact only when the event loop has had its turns."""

                def apply(self, seq: int, event: events.Event) -> list[dict[str, Json]]:
                    if seq == 1:
                        started.append(run_id)
                        has_started.set()
                        assert may_go_on.wait(60)
                    return super().apply(seq, event)

            found = run_tracks.RunTracks(engine.store, WaitingProjection)
            asking = asyncio.gather(found.at_head(run_id), found.at_head(run_id))
            assert await asyncio.to_thread(has_started.wait, 60)
            for _ in range(50):
                await asyncio.sleep(0)
            assert found.get(run_id) is None
            may_go_on.set()
            first, second = await asking
            assert (first is second, started) == (True, [run_id])
            alone = [told async for chunk in found.read_on(await found.create_own(run_id)) for told in chunk]
            assert [one.seq for one in alone] == list(range(1, first.seq + 1))
            plain = run_tracks.RunTrack(run_id, projection.Projection(run_id, (await _workflow(engine, run_id))), 1)
            async for lines in engine.store.read_events(run_id):
                assert [one.data for one in map(plain.add, lines)] == [one.data for one in alone[: len(lines)]]
                del alone[: len(lines)]
            assert (plain.snapshot(), plain.document()) == (first.snapshot(), first.document())

    play(story)


async def _workflow(engine: openskelo.Engine, run_id: str) -> openskelo.Workflow:
    return (await loading.load(engine.store, run_id)).run.workflow
