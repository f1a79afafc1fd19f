"""The stream over a WebSocket: hello, snapshot, everything after it; going on; one run or all; other processes."""

from __future__ import annotations

import asyncio
import contextlib
import json
import queue
import threading
import urllib.parse
from collections.abc import Generator
from pathlib import Path

import hypothesis
import orjson
import pytest
from hypothesis import strategies

import openskelo
from openskelo.kernel.json import JsonObject
from openskelo.server.stream import hub as hubs
from openskelo.server.stream import routes, run_tracks, topic
from openskelo.stores import memory
from openskelo.stores.sqlite import data_dir
from tests.engine.stage import play
from tests.server import streaming
from tests.wire import patching


def test_a_client_sees_hello_then_a_snapshot_then_everything_after_it(tmp_path: Path) -> None:
    async def story() -> None:
        go = asyncio.Event()

        async def wait(ctx: openskelo.Context) -> JsonObject:
            await go.wait()
            return ctx.inputs

        async with streaming.engine(tmp_path, give_back=wait) as engine, streaming.hub(engine) as hub:
            run_id = await engine.start(streaming.chain(5), {"n": 1})
            async with streaming.served(hub) as host, streaming.opened(host, f"?runId={run_id}") as socket:
                told = streaming.messages(socket)
                hello, snapshot = await streaming.until(told, lambda message: message["type"] == "snapshot")
                go.set()
                live = await streaming.until(told, streaming.ended(run_id))
                last = await streaming.snapshot(hub, run_id)
        assert {**hello, "serverTime": "now"} == {
            "type": "hello",
            "contractVersion": "1",
            "protocol": 1,
            "serverTime": "now",
            "runId": run_id,
        }
        assert (snapshot["seq"], snapshot["run"]["seq"], snapshot["streaming"]) == (2, 2, [])
        assert snapshot["run"]["status"] == "running"
        assert next((event["seq"], event["index"]) for event in streaming.facts(live)) == (3, 0)
        assert streaming.folded([snapshot, *live]) == last
        assert (last["status"], last["ending"]) == ("completed", "ok")

    play(story)


def test_since_goes_on_at_any_fact_without_gap_or_repeat(tmp_path: Path) -> None:
    async def story() -> None:
        async with streaming.engine(tmp_path) as engine, streaming.hub(engine) as hub:
            run_id = await engine.start(streaming.chain(12), {"n": 1})
            await engine.wait(run_id)
            seq = await streaming.head(engine, run_id)
            async with streaming.served(hub) as host:
                every = await _since(host, run_id, 0, seq)
                assert streaming.folded(every) == await streaming.snapshot(hub, run_id)
                whole = streaming.facts(every)
                assert {event["seq"] for event in whole} == set(range(1, seq + 1))
                for cut in range(seq + 1):
                    rest = streaming.facts(await _since(host, run_id, cut, seq))
                    assert rest == [event for event in whole if event["seq"] > cut]

    play(story)


async def _since(host: str, run_id: str, since: int, seq: int) -> list[streaming.Message]:
    async with streaming.opened(host, f"?runId={run_id}&since={since}") as socket:
        hello, *rest = await streaming.until(streaming.messages(socket), streaming.at(seq))
        assert (hello["type"], {message["type"] for message in rest}) == ("hello", {"events"})
        return rest


def test_a_client_that_leaves_and_comes_back_at_any_time_misses_nothing(tmp_path: Path) -> None:
    """Several clients, each cut off after so many messages of a run under way, again and again."""

    async def story() -> None:
        async def slow(ctx: openskelo.Context) -> JsonObject:
            await asyncio.sleep(0.01)
            return ctx.inputs

        async with (
            streaming.engine(tmp_path, give_back=slow) as engine,
            streaming.hub(engine) as hub,
            streaming.served(hub) as host,
        ):
            run_id = await engine.start(streaming.chain(40), {"n": 1})
            everything = await asyncio.gather(*(_restless(host, run_id, patience) for patience in (1, 2, 3, 5, 1000)))
            assert len(everything[0]) > 3
            for got in everything:
                events = streaming.facts(got)
                assert [event["id"] for event in events] == list(dict.fromkeys(event["id"] for event in events))
                assert events == streaming.facts(everything[-1])
            assert patching.fold(patching.empty(run_id), streaming.facts(everything[0])) == await streaming.snapshot(
                hub, run_id
            )

    play(story)


async def _restless(host: str, run_id: str, patience: int) -> list[streaming.Message]:
    """A client that leaves after so many messages of events, and comes back with `since`."""
    got: list[streaming.Message] = []
    since = 0
    while not any(map(streaming.ended(run_id), got)):
        async with streaming.opened(host, f"?runId={run_id}&since={since}") as socket:
            left = patience
            async for message in streaming.messages(socket):
                if message["type"] != "events":
                    continue
                got.append(message)
                since = message["seq"]
                left -= 1
                if left == 0 or streaming.ended(run_id)(message):
                    break
    return got


def test_all_runs_are_followed_and_gone_on_with_by_position(tmp_path: Path) -> None:
    async def story() -> None:
        async with (
            streaming.engine(tmp_path) as engine,
            streaming.hub(engine) as hub,
            streaming.served(hub) as host,
            streaming.opened(host) as socket,
        ):
            told = streaming.messages(socket)
            first = await streaming.until(told, lambda message: message["type"] == "snapshot")
            assert [message["type"] for message in first] == ["hello", "snapshot"]
            assert (first[0]["runId"], first[1]["runs"], first[1]["position"]) == (None, [], 0)
            runs = [await engine.start(streaming.chain(3), {"n": n}) for n in range(3)]
            for run_id in runs:
                await engine.wait(run_id)
            got = [await anext(told)]
            while {run for run in runs for message in got if streaming.ended(run)(message)} != set(runs):
                got.append(await anext(told))
            for run_id in runs:
                own = [event for event in streaming.facts(got) if event["runId"] == run_id]
                assert patching.fold(patching.empty(run_id), own) == await streaming.snapshot(hub, run_id)
            whole = streaming.facts(got)
            positions = [message["position"] for message in got]
            assert positions == sorted(positions)
            for cut in range(positions[-1] + 1):
                rest = await _all_since(host, cut, positions[-1])
                assert streaming.facts(rest) == whole[len(whole) - len(streaming.facts(rest)) :]
                if cut == 0:
                    assert streaming.facts(rest) == whole
            listed = await _all_since(host, None, positions[-1])
            assert [run["id"] for run in listed[0]["runs"]] == list(reversed(runs))
            assert {run["status"] for run in listed[0]["runs"]} == {"completed"}

    play(story)


async def _all_since(host: str, since: int | None, position: int) -> list[streaming.Message]:
    query = "" if since is None else f"?since={since}"
    async with streaming.opened(host, query) as socket:
        _, *rest = await streaming.until(
            streaming.messages(socket), lambda message: message.get("position", -1) >= position
        )
        return rest


def test_a_position_or_seq_beyond_the_log_begins_anew(tmp_path: Path) -> None:
    async def story() -> None:
        async with (
            streaming.engine(tmp_path) as engine,
            streaming.hub(engine) as hub,
            streaming.served(hub) as host,
        ):
            run_id = await engine.start(streaming.chain(1), {"n": 1})
            await engine.wait(run_id)
            for query in (f"?runId={run_id}&since=1000", "?since=100000"):
                async with streaming.opened(host, query) as socket:
                    got = await streaming.until(
                        streaming.messages(socket), lambda message: message["type"] == "snapshot"
                    )
                    assert [message["type"] for message in got] == ["hello", "resync", "snapshot"]
                    assert got[1]["reason"] == "ahead"

    play(story)


def test_what_another_process_does_is_told_without_being_asked(tmp_path: Path) -> None:
    """The engine has a store of its own; the hub only sees the data dir."""

    async def story() -> None:
        async with streaming.engine(tmp_path) as engine:
            other = data_dir.open_store(tmp_path / ".skelo")
            hub = hubs.Hub(run_tracks.RunTracks(other))
            try:
                async with streaming.served(hub) as host, streaming.opened(host) as socket:
                    told = streaming.messages(socket)
                    await streaming.until(told, lambda message: message["type"] == "snapshot")
                    run_id = await engine.start(streaming.chain(2), {"n": 1})
                    async with asyncio.timeout(60):
                        got = [await anext(told)]
                    while not streaming.ended(run_id)(got[-1]):
                        got.append(await anext(told))
                    assert patching.fold(patching.empty(run_id), streaming.facts(got)) == await streaming.snapshot(
                        hub, run_id
                    )
            finally:
                await other.close()

    play(story)


def test_a_client_that_does_not_read_is_told_to_begin_anew_and_costs_no_more_than_is_kept() -> None:
    async def story() -> None:
        go = asyncio.Event()

        async def wait(ctx: openskelo.Context) -> JsonObject:
            await go.wait()
            return ctx.inputs

        async with (
            streaming.engine(Path(), store=memory.MemoryStore(), give_back=wait) as engine,
            streaming.hub(engine) as hub,
        ):
            run_id = await engine.start(streaming.chain(400, "string"), {"n": "x" * 10_000})
            stuck, quick = hub.frames(run_id), hub.frames(run_id, 0)
            async with contextlib.aclosing(stuck), contextlib.aclosing(quick):
                got = [orjson.loads((await anext(stuck)).data) for _ in range(2)]
                go.set()
                seen: list[streaming.Message] = []
                most = 0
                async for frame in quick:
                    seen.append(orjson.loads(frame.data))
                    most = max(most, hub.waiting_bytes)
                    if streaming.ended(run_id)(seen[-1]):
                        break
                assert 0 < most <= topic.MAX_BUFFER_BYTES
                assert sum(len(orjson.dumps(message)) for message in seen) > topic.MAX_BUFFER_BYTES
                assert "resync" not in {message["type"] for message in seen}
                got += [orjson.loads((await anext(stuck)).data) for _ in range(2)]
            assert [message["type"] for message in got] == ["hello", "snapshot", "resync", "snapshot"]
            assert got[2] == {"type": "resync", "runId": run_id, "reason": "slow"}
            assert got[3]["run"] == streaming.folded(seen) == await streaming.snapshot(hub, run_id)

    play(story)


def test_a_run_that_is_not_there_closes_the_socket_with_a_reason(tmp_path: Path) -> None:
    async def story() -> None:
        missing = "00000000-0000-4000-8000-000000000000"
        async with (
            streaming.engine(tmp_path) as engine,
            streaming.hub(engine) as hub,
            streaming.served(hub) as host,
        ):
            for query, code, close in (
                (f"?runId={missing}", "RUN_NOT_FOUND", 4404),
                ("?runId=nonsense", "RUN_ID", 4400),
                ("?since=-1", "SINCE_INVALID", 4400),
                ("?since=9" + "9" * 30, "SINCE_INVALID", 4400),
                ("?sinc=3", "PARAMETER_UNKNOWN", 4400),
            ):
                async with streaming.opened(host, query) as socket:
                    got = [message async for message in streaming.messages(socket)]
                    assert [(message["type"], message["code"]) for message in got] == [("error", code)]
                    assert socket.close_code == close

    play(story)


def test_a_client_may_change_to_another_run_and_ask_whether_it_is_heard(tmp_path: Path) -> None:
    async def story() -> None:
        async with (
            streaming.engine(tmp_path) as engine,
            streaming.hub(engine) as hub,
            streaming.served(hub) as host,
        ):
            runs = [await engine.start(streaming.chain(1), {"n": n}) for n in range(2)]
            for run_id in runs:
                await engine.wait(run_id)
            async with streaming.opened(host, f"?runId={runs[0]}") as socket:
                told = streaming.messages(socket)
                await streaming.until(told, lambda message: message.get("runId") == runs[0] and "run" in message)
                await socket.send(orjson.dumps({"type": "ping", "id": "é"}).decode())
                pong = await anext(told)
                assert (pong["type"], pong["id"]) == ("pong", "é")
                await socket.send(orjson.dumps({"type": "pong"}).decode())
                await socket.send(orjson.dumps({"type": "subscribe", "runId": runs[1]}).decode())
                got = await streaming.until(told, lambda message: message["type"] == "snapshot")
                assert [(message["type"], message["runId"]) for message in got] == [
                    ("hello", runs[1]),
                    ("snapshot", runs[1]),
                ]
                await socket.send(orjson.dumps({"type": "subscribe", "runId": runs[1], "since": 1}).decode())
                got = await streaming.until(told, streaming.at(2))
                assert {event["seq"] for event in streaming.facts(got)} == {2, 3, 4}
                await socket.send(orjson.dumps({"type": "subscribe"}).decode())
                got = await streaming.until(told, lambda message: message["type"] == "snapshot")
                assert [run["id"] for run in got[-1]["runs"]] == list(reversed(runs))

    play(story)


SCALARS = strategies.none() | strategies.booleans() | strategies.integers() | strategies.floats() | strategies.text()
ANYTHING = strategies.recursive(
    SCALARS, lambda inner: strategies.lists(inner) | strategies.dictionaries(strategies.text(), inner), max_leaves=10
)
KINDS = strategies.sampled_from(["ping", "pong", "subscribe", "hello", "", "snapshot"])
ODD = strategies.fixed_dictionaries(
    {"type": KINDS | ANYTHING}, optional={"id": ANYTHING, "runId": ANYTHING, "since": ANYTHING, "more": ANYTHING}
)
SAID = strategies.text() | strategies.binary() | (ODD | ANYTHING).map(json.dumps)


@pytest.fixture(scope="module")
def host() -> Generator[str]:
    """A server that goes on while examples come and go: in a thread of its own."""
    found: queue.Queue[str] = queue.Queue()
    done = threading.Event()

    async def serve() -> None:
        async with (
            streaming.engine(Path(), store=memory.MemoryStore()) as engine,
            streaming.hub(engine) as hub,
            streaming.served(hub) as at,
        ):
            await engine.start(streaming.chain(1), {"n": 1})
            found.put(at)
            await asyncio.to_thread(done.wait)

    serving = threading.Thread(target=asyncio.run, args=(serve(),), daemon=True)
    serving.start()
    try:
        yield found.get(timeout=60)
    finally:
        done.set()
        serving.join(60)


@hypothesis.given(said=strategies.lists(SAID, min_size=1, max_size=20))
@hypothesis.settings(max_examples=40, deadline=None)
def test_whatever_a_client_says_is_answered_or_refused_with_a_code(host: str, said: list[str | bytes]) -> None:
    async def story() -> None:
        async with streaming.opened(host) as socket:
            for one in said:
                await socket.send(one)
            await socket.send(orjson.dumps({"type": "subscribe"}).decode())
            await socket.send(orjson.dumps({"type": "ping", "id": "still there?"}).decode())
            got = await streaming.until(streaming.messages(socket), lambda one: one.get("id") == "still there?")
            assert {message["type"] for message in got} <= {"hello", "snapshot", "events", "error", "pong", "resync"}
            assert all(message["code"] and message["message"] for message in got if message["type"] == "error")

    play(story)


@hypothesis.given(text=strategies.text(strategies.characters(exclude_categories=["Cs"]), max_size=20))
@hypothesis.settings(max_examples=30, deadline=None)
def test_whatever_a_query_says_is_answered_or_refused_with_a_code(host: str, text: str) -> None:
    async def story() -> None:
        for name in ("runId", "since"):
            async with streaming.opened(host, f"?{urllib.parse.urlencode({name: text})}") as socket:
                first = await anext(streaming.messages(socket))
                assert first["type"] == "hello" or first["code"] in ("RUN_ID", "SINCE_INVALID")

    play(story)


def test_a_client_that_only_talks_nonsense_is_sent_away(tmp_path: Path) -> None:
    async def story() -> None:
        async with (
            streaming.engine(tmp_path) as engine,
            streaming.hub(engine) as hub,
            streaming.served(hub) as host,
            streaming.opened(host) as socket,
        ):
            for _ in range(routes.MAX_INVALID_MESSAGES):
                await socket.send("nonsense")
            codes = [message["code"] async for message in streaming.messages(socket) if message["type"] == "error"]
            assert codes == ["MESSAGE_INVALID"] * routes.MAX_INVALID_MESSAGES
            assert socket.close_code == 1008

    play(story)


def test_the_end_of_the_hub_is_the_end_of_its_streams(tmp_path: Path) -> None:
    async def story() -> None:
        async with streaming.engine(tmp_path) as engine, streaming.hub(engine) as hub:
            async with streaming.served(hub) as host, streaming.opened(host) as socket:
                told = streaming.messages(socket)
                await streaming.until(told, lambda message: message["type"] == "snapshot")
                assert hub.followers == 1
                await hub.close()
                assert [message async for message in told] == []
                assert socket.close_code == 1001
                async with streaming.opened(host) as late:
                    assert [message["code"] async for message in streaming.messages(late)] == ["SERVER_STOPPING"]
            assert hub.followers == 0

    play(story)
