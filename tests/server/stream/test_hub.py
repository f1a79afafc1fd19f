"""The hub in trouble: runs that cannot be shown, stores that cannot be read, too many clients, stuck ones."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncGenerator, Sequence
from pathlib import Path
from typing import cast

import orjson
import pytest
from websockets.asyncio import client as websockets

import openskelo
from openskelo import errors
from openskelo.kernel.json import JsonObject
from openskelo.record import line_check
from openskelo.server.stream import hub as hubs
from openskelo.server.stream import messages, routes, run_tracks
from openskelo.stores import api, memory
from tests.engine.stage import play
from tests.server import streaming

MISSING = "00000000-0000-4000-8000-000000000000"


class Troubled(memory.MemoryStore):
    """A store that cannot be read for a while, or returns what no code of ours can read."""

    trouble: Exception | None = None
    has_defect = False

    async def read_feed(self, *, after: int, limit: int = 256) -> Sequence[api.FeedEntry]:
        """As the inner store, or the trouble."""
        if self.trouble is not None:
            raise self.trouble
        if self.has_defect:
            return cast("Sequence[api.FeedEntry]", [None])
        return await super().read_feed(after=after, limit=limit)


async def _next(told: AsyncGenerator[messages.Frame], kind: str) -> streaming.Message:
    async for frame in told:
        if frame.kind == kind:
            return cast("streaming.Message", orjson.loads(frame.data))
    raise AssertionError(f"ended without {kind}")


def test_a_run_that_cannot_be_shown_sends_its_own_clients_away_and_no_others() -> None:
    async def story() -> None:
        store = memory.MemoryStore()
        async with streaming.engine(Path(), store=store) as engine, streaming.hub(engine) as hub:
            good = await engine.start(streaming.chain(1), {"n": 1})
            bad = await engine.start(streaming.chain(1), {"n": 1})
            await asyncio.gather(engine.wait(good), engine.wait(bad))
            seq = await streaming.head(engine, bad)
            one, other, everything = hub.frames(bad), hub.frames(good), hub.frames(None)
            async with contextlib.aclosing(one), contextlib.aclosing(other), contextlib.aclosing(everything):
                for told in (one, other, everything):
                    await _next(told, "snapshot")
                await store.append([api.Append(run_id=bad, expected_seq=seq, lines=(b'{"type":"nonsense"}',))])
                error = await _next(one, "error")
                assert (error["code"], error["runId"]) == ("CORRUPT", bad)
                assert await anext(one, None) is None
                assert (await _next(everything, "error"))["runId"] == bad
                later = await engine.start(streaming.chain(1), {"n": 1})
                assert later in {event["runId"] for event in (await _next(everything, "events"))["events"]}
                assert hub.followers == 2

    play(story)


def test_a_run_whose_data_was_pruned_is_refused_by_that_name() -> None:
    async def story() -> None:
        store = memory.MemoryStore()
        async with streaming.engine(Path(), store=store) as engine, streaming.hub(engine) as hub:
            gone, there = [await engine.start(streaming.chain(1), {"n": 1}) for _ in range(2)]
            await asyncio.gather(engine.wait(gone), engine.wait(there))
            await store.rewrite_events(gone, line_check.prune)
            with pytest.raises(errors.NotFound) as refused:
                await anext(hub.frames(gone))
            assert refused.value.code == "RUN_PRUNED"
            everything = hub.frames(None, 0)
            async with contextlib.aclosing(everything):
                error = await _next(everything, "error")
                assert (error["code"], error["runId"]) == ("RUN_PRUNED", gone)
                told = await _next(everything, "events")
                assert {event["runId"] for event in told["events"]} == {there}

    play(story)


def test_a_store_in_trouble_is_said_once_and_nothing_is_missed() -> None:
    async def story() -> None:
        store = Troubled()
        async with streaming.engine(Path(), store=store) as engine, streaming.hub(engine) as hub:
            told = hub.frames(None)
            async with contextlib.aclosing(told):
                await _next(told, "snapshot")
                store.trouble = errors.StoreError("no lock", code="STORE_BUSY")
                run_id = await engine.start(streaming.chain(2), {"n": 1})
                await engine.wait(run_id)
                assert (await _next(told, "error"))["code"] == "STORE_BUSY"
                store.trouble = None
                got = [await _next(told, "events")]
                assert got[0]["events"][0]["seq"] == 1
                while not streaming.ended(run_id)(got[-1]):
                    got.append(await _next(told, "events"))

    play(story)


def test_a_defect_ends_the_streams_and_new_ones_work() -> None:
    async def story() -> None:
        store = Troubled()
        async with streaming.engine(Path(), store=store) as engine, streaming.hub(engine) as hub:
            told = hub.frames(None)
            await _next(told, "snapshot")
            store.has_defect = True
            assert (await _next(told, "error"))["code"] == "INTERNAL"
            assert await anext(told, None) is None
            store.has_defect = False
            run_id = await engine.start(streaming.chain(1), {"n": 1})
            again = hub.frames(run_id, 0)
            async with contextlib.aclosing(again):
                assert (await _next(again, "events"))["events"][0]["seq"] == 1

    play(story)


def test_only_so_many_may_follow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hubs, "MAX_FOLLOWERS", 2)

    async def story() -> None:
        async with streaming.engine(Path(), store=memory.MemoryStore()) as engine, streaming.hub(engine) as hub:
            one, two, three = hub.frames(None), hub.frames(None), hub.frames(None)
            await _next(one, "snapshot")
            await _next(two, "snapshot")
            with pytest.raises(errors.Busy) as refused:
                await anext(three)
            assert refused.value.code == "STREAMS_TOO_MANY"
            await one.aclose()
            fourth = hub.frames(None)
            await _next(fourth, "snapshot")
            await two.aclose()
            await fourth.aclose()
            assert hub.followers == 0

    play(story)


def test_a_silence_is_broken_by_a_ping(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hubs, "PING_SECONDS", 0.05)

    async def story() -> None:
        async with streaming.engine(Path(), store=memory.MemoryStore()) as engine, streaming.hub(engine) as hub:
            told = hub.frames(None)
            async with contextlib.aclosing(told):
                kinds = [(await anext(told)).kind for _ in range(4)]
            assert kinds == ["hello", "snapshot", "ping", "ping"]

    play(story)


def test_what_is_no_fact_is_told_once() -> None:
    async def story() -> None:
        async with streaming.engine(Path(), store=memory.MemoryStore()) as engine, streaming.hub(engine) as hub:
            run_id = await engine.start(streaming.chain(1), {"n": 1})
            await engine.wait(run_id)
            one, everything = hub.frames(run_id), hub.frames(None)
            async with contextlib.aclosing(one), contextlib.aclosing(everything):
                for told in (one, everything):
                    await _next(told, "snapshot")
                progress: JsonObject = {"type": "node.progress", "runId": run_id, "status": "running"}
                hub.send_overlay(run_id, progress)
                hub.send_overlay(MISSING, {"type": "node.progress", "runId": MISSING, "status": "running"})
                assert (await _next(one, "events"))["events"] == [progress]
                assert [event["runId"] for event in (await _next(everything, "events"))["events"]] == [run_id, MISSING]

    play(story)


def test_runs_that_nobody_watches_make_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_tracks, "MAX_NODES", 10)

    async def story() -> None:
        async with streaming.engine(Path(), store=memory.MemoryStore()) as engine, streaming.hub(engine) as hub:
            runs = [await engine.start(streaming.chain(3), {"n": 1}) for _ in range(6)]
            watched = hub.frames(runs[0], 0)
            got = [await _next(watched, "events")]
            everything = hub.frames(None, 0)
            async with contextlib.aclosing(watched), contextlib.aclosing(everything):
                told = [await _next(everything, "events")]
                while {run for run in runs for message in told if streaming.ended(run)(message)} != set(runs):
                    told.append(await _next(everything, "events"))
                while not streaming.ended(runs[0])(got[-1]):
                    got.append(await _next(watched, "events"))
            whole = [event for event in streaming.facts(told) if event["runId"] == runs[0]]
            assert whole == streaming.facts(got)

    play(story)


def test_of_runs_that_have_ended_and_were_left_by_all_few_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_tracks, "MAX_ENDED_RUNS", 2)

    async def story() -> None:
        async with streaming.engine(Path(), store=memory.MemoryStore()) as engine, streaming.hub(engine) as hub:
            runs = [await engine.start(streaming.chain(1), {"n": 1}) for _ in range(5)]
            await asyncio.gather(*map(engine.wait, runs))
            kept = hub._tracks  # pyright: ignore[reportPrivateUsage] -- what is kept is not to be seen otherwise
            async with contextlib.aclosing(hub.frames(runs[0])) as staying:
                await _next(staying, "snapshot")
                for run_id in (*runs, runs[1], runs[1]):
                    async with contextlib.aclosing(hub.frames(run_id)) as told:
                        assert (await _next(told, "snapshot"))["runId"] == run_id
                assert [run_id for run_id in runs if kept.get(run_id)] == [runs[0], runs[1]]

    play(story)


def test_a_socket_that_takes_nothing_is_let_go_of(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(routes, "SEND_SECONDS", 1)

    async def story() -> None:
        async with (
            streaming.engine(Path(), store=memory.MemoryStore()) as engine,
            streaming.hub(engine) as hub,
            streaming.served(hub, buffer=64 * 1024) as host,
        ):
            name, _, port = host.partition(":")
            stuck = socket.socket()
            stuck.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            stuck.setblocking(False)
            await asyncio.get_running_loop().sock_connect(stuck, (name, int(port)))
            held = await websockets.connect(
                f"ws://{host}/ws", sock=stuck, max_queue=1, ping_interval=None, close_timeout=0.1
            )
            try:
                await engine.start(streaming.chain(100, "string"), {"n": "x" * 20_000})
                assert hub.followers == 1
                async with asyncio.timeout(120):
                    while hub.followers:  # noqa: ASYNC110 -- only the clock brings it about
                        await asyncio.sleep(0.05)
            finally:
                held.transport.abort()
                await held.wait_closed()

    play(story)


def test_an_event_stream_that_takes_nothing_is_let_go_of(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(routes, "SEND_SECONDS", 1)

    async def story() -> None:
        loop = asyncio.get_running_loop()
        async with (
            streaming.engine(Path(), store=memory.MemoryStore()) as engine,
            streaming.hub(engine) as hub,
            streaming.served(hub, buffer=64 * 1024) as host,
        ):
            name, _, port = host.partition(":")
            with socket.socket() as stuck:
                stuck.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
                stuck.setblocking(False)
                await loop.sock_connect(stuck, (name, int(port)))
                await loop.sock_sendall(stuck, f"GET /api/stream HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
                async with asyncio.timeout(120):
                    while not hub.followers:  # noqa: ASYNC110 -- only the clock brings it about
                        await asyncio.sleep(0.05)
                    await engine.start(streaming.chain(100, "string"), {"n": "x" * 20_000})
                    while hub.followers:  # noqa: ASYNC110 -- only the clock brings it about
                        await asyncio.sleep(0.05)

    play(story)


def test_frames_are_one_line_each_for_event_streams() -> None:
    frame = messages.error(errors.InvalidInput("two\nlines", code="ODD"), openskelo.__name__)
    assert frame.sse_block.count(b"\n") == 3
    assert frame.sse_block.startswith(b"event: error\ndata: {")
