"""The same stream as server-sent events: for curl and for browsers that come back by themselves."""

from __future__ import annotations

import asyncio
import contextlib
from pathlib import Path

import httpx

import openskelo
from openskelo.kernel.json import JsonObject
from tests.engine.stage import play
from tests.server import streaming


def test_events_are_the_same_as_the_sockets_and_ids_are_where_to_go_on(tmp_path: Path) -> None:
    async def story() -> None:
        async with (
            streaming.engine(tmp_path) as engine,
            streaming.hub(engine) as hub,
            streaming.served(hub) as host,
        ):
            run_id = await engine.start(streaming.chain(6), {"n": 1})
            await engine.wait(run_id)
            seq = await streaming.head(engine, run_id)
            async with streaming.opened(host, f"?runId={run_id}&since=0") as socket:
                whole = streaming.facts(await streaming.until(streaming.messages(socket), streaming.at(seq)))
            for cut in range(seq):
                for query, headers in (
                    (f"?runId={run_id}&since={cut}", {}),
                    (f"?runId={run_id}&since=1", {"last-event-id": str(cut)}),
                ):
                    got = await _until(streaming.sse(host, query, **headers), seq)
                    assert streaming.facts(message for _, message in got) == [
                        event for event in whole if event["seq"] > cut
                    ]
                    assert [name for name, message in got if message["type"] == "events"][-1] == str(seq)
                    assert got[0][0] is None

    play(story)


async def _until(told: streaming.Told, seq: int) -> list[tuple[str | None, streaming.Message]]:
    found: list[tuple[str | None, streaming.Message]] = []
    async with contextlib.aclosing(told):
        async for name, message in told:
            found.append((name, message))
            if message.get("seq", -1) >= seq:
                return found
    raise AssertionError("ended early")


def test_what_happens_is_told_live_and_the_hub_s_end_ends_it(tmp_path: Path) -> None:
    async def story() -> None:
        go = asyncio.Event()

        async def wait(ctx: openskelo.Context) -> JsonObject:
            await go.wait()
            return ctx.inputs

        async with (
            streaming.engine(tmp_path, give_back=wait) as engine,
            streaming.hub(engine) as hub,
            streaming.served(hub) as host,
        ):
            run_id = await engine.start(streaming.chain(3), {"n": 1})
            told = streaming.sse(host, f"?runId={run_id}")
            got = [(await anext(told))[1] for _ in range(2)]
            assert [message["type"] for message in got] == ["hello", "snapshot"]
            go.set()
            while not streaming.ended(run_id)(got[-1]):
                got.append((await anext(told))[1])
            assert streaming.folded(got) == await streaming.snapshot(hub, run_id)
            await hub.close()
            assert [message async for message in told] == []

    play(story)


def test_what_cannot_be_streamed_is_a_problem_document(tmp_path: Path) -> None:
    async def story() -> None:
        missing = "00000000-0000-4000-8000-000000000000"
        async with (
            streaming.engine(tmp_path) as engine,
            streaming.hub(engine) as hub,
            streaming.served(hub) as host,
            httpx.AsyncClient(trust_env=False) as client,
        ):
            for query, headers, status, code in (
                (f"?runId={missing}", {}, 404, "RUN_NOT_FOUND"),
                ("?runId=../../etc", {}, 422, "RUN_ID"),
                ("?since=one", {}, 422, "SINCE_INVALID"),
                ("", {"last-event-id": "-1"}, 422, "SINCE_INVALID"),
            ):
                found = await client.get(f"http://{host}/api/stream{query}", headers=headers)
                assert (found.status_code, found.json()["code"]) == (status, code)
                assert found.headers["content-type"] == "application/problem+json"

    play(story)
