"""What a model is saying: told piece by piece, before the fact that ends it, to late viewers from the beginning."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

import hypothesis
import orjson
from hypothesis import strategies

import openskelo
from openskelo.executors.attempt import running_attempt
from openskelo.providers import protocol, scripted
from openskelo.server.stream import hub as hubs
from openskelo.server.stream import partial_text
from openskelo.wire import wire_ids
from openskelo.wire.models import events as wire
from tests.engine.stage import play
from tests.server import streaming

ASK = openskelo.from_document(
    {"name": "ask", "blocks": [{"id": "ask", "prompt": "Say something.", "outputs": {"text": "string"}}]}
)
ANSWER = '{"text": "Bees buzz 🐝 all day."}'


class Slow:
    """Says one character each time that it is let."""

    def __init__(self) -> None:
        self.turns: asyncio.Queue[int] = asyncio.Queue()
        self.said = asyncio.Queue[str]()

    async def complete(self, request: protocol.Request, on_text: protocol.OnText) -> protocol.Answer:
        """The answer, at the pace of the test."""
        rest = ANSWER
        while rest:
            count = await self.turns.get()
            piece, rest = rest[:count], rest[count:]
            on_text(piece)
            await self.said.put(piece)
        return protocol.Answer(text=ANSWER, served_by="slow")


def _text(told: list[streaming.Message]) -> str:
    """The text that a client has after these messages."""
    text = ""
    for message in told:
        for one in message.get("streaming", ()):
            text = one["text"]
        for event in message.get("events", ()):
            if event["type"] == "message.assistant.delta":
                wire.AssistantDelta.model_validate(event)
                assert len(text.encode("utf-16-le")) // 2 == event["offset"] or event["offset"] == 0
                text = event["delta"] if event["offset"] == 0 else text + event["delta"]
    return text


def test_text_is_told_as_it_is_said_and_late_viewers_get_what_came_before(tmp_path: Path) -> None:
    async def story() -> None:
        slow = Slow()
        async with (
            streaming.engine(tmp_path, provider=slow) as engine,
            streaming.hub(engine) as hub,
            streaming.served(hub) as host,
        ):
            run_id = await engine.start(ASK)
            message_id = wire_ids.message(run_id, "ask", 1, 1, None)
            got: dict[str, list[streaming.Message]] = {}
            told: dict[str, AsyncIterator[streaming.Message]] = {}
            async with contextlib.AsyncExitStack() as stack:
                for name, query in (
                    ("early", f"?runId={run_id}"),
                    ("late", f"?runId={run_id}"),
                    ("returned", f"?runId={run_id}&since=2"),
                    ("all", "?since=0"),
                ):
                    if name != "early":
                        slow.turns.put_nowait(6)
                        await slow.said.get()
                    socket = await stack.enter_async_context(streaming.opened(host, query))
                    told[name] = streaming.messages(socket)
                    got[name] = await streaming.until(told[name], lambda one: one["type"] in ("snapshot", "events"))
                (partial,) = got["late"][-1]["streaming"]
                assert (partial["messageId"], partial["offset"], partial["text"]) == (message_id, 0, ANSWER[:6])
                assert _text(got["returned"]) == ANSWER[:12]
                slow.turns.put_nowait(1000)
                for name, messages in told.items():
                    got[name] += await streaming.until(messages, streaming.ended(run_id))
        for found in got.values():
            assert _text(found) == ANSWER
            types = [event["type"] for event in streaming.events(found)]
            final = types.index("message.assistant.final")
            assert "message.assistant.delta" in types[:final]
            assert "message.assistant.delta" not in types[final:]
            (said,) = [event for event in streaming.events(found) if event["type"] == "message.assistant.final"]
            assert said["messageId"] == message_id
        progress = [event for event in streaming.events(got["early"]) if event["type"] == "node.progress"]
        assert {(event["status"], event["summary"]) for event in progress} == {("running", "answering")}
        for name in ("early", "late", "returned"):
            told_events = list(streaming.events(got[name]))
            connections = [event for event in told_events if event["type"] == "node.connection"]
            for event in connections:
                wire.NodeConnection.model_validate(event)
            assert {(event["connection"]["status"], event["connection"]["streaming"]) for event in connections} == {
                ("connected", True)
            }
            patches = [event["patch"] for event in told_events if event["type"] == "node.patch"]
            (last, *_) = [patch["connection"] for patch in reversed(patches) if "connection" in patch]
            assert (last["status"], last["streaming"]) == ("idle", False)

    play(story)


def test_a_late_viewer_is_told_what_is_being_done(tmp_path: Path) -> None:
    async def story() -> None:
        slow = Slow()
        requests: list[running_attempt.AttemptRequest] = []
        async with (
            streaming.engine(tmp_path, provider=slow) as engine,
            streaming.hub(engine) as hub,
            streaming.served(hub) as host,
        ):
            engine.listen(lambda request, _text: requests.append(request))
            run_id = await engine.start(ASK)
            slow.turns.put_nowait(6)
            await slow.said.get()
            hub.hear_status(requests[0], "runs: npm test")
            async with streaming.opened(host, f"?runId={run_id}") as socket:
                told = streaming.messages(socket)
                got = await streaming.until(told, lambda one: one["type"] == "events")
                slow.turns.put_nowait(1000)
                got += await streaming.until(told, streaming.ended(run_id))
        progress = [event for event in streaming.events(got) if event["type"] == "node.progress"]
        assert [wire.NodeProgress.model_validate(event).summary for event in progress] == ["runs: npm test"]

    play(story)


def test_an_answer_given_at_once_is_still_told_between_its_start_and_its_end(tmp_path: Path) -> None:
    async def story() -> None:
        provider = scripted.Scripted({"ask": [{"text": "Bees buzz."}]})
        async with (
            streaming.engine(tmp_path, provider=provider) as engine,
            streaming.hub(engine) as hub,
            streaming.served(hub) as host,
            streaming.opened(host) as socket,
        ):
            told = streaming.messages(socket)
            await streaming.until(told, lambda message: message["type"] == "snapshot")
            run_id = await engine.start(ASK)
            got = await streaming.until(told, streaming.ended(run_id))
            types = [
                event["type"]
                for event in streaming.events(got)
                if event["type"].startswith("message.") or event.get("patch", {}).get("status") == "running"
            ]
            assert orjson.loads(_text(got)) == {"text": "Bees buzz."}
            assert types.index("message.assistant.delta") < types.index("message.assistant.final")
            assert (await streaming.snapshot(hub, run_id))["status"] == "completed"
            async with streaming.opened(host, f"?runId={run_id}") as late:
                after = await streaming.until(streaming.messages(late), lambda message: message["type"] == "snapshot")
                assert after[-1]["streaming"] == []

    play(story)


@hypothesis.given(
    pieces=strategies.lists(strategies.text(), max_size=8),
    secret=strategies.text(strategies.characters(exclude_categories=["Cs"]), min_size=4, max_size=8),
    at=strategies.integers(min_value=0, max_value=8),
)
def test_a_secret_is_never_told_however_it_is_cut(pieces: list[str], secret: str, at: int) -> None:
    hypothesis.assume(secret not in "[secret]" and not any(secret in piece for piece in pieces))
    middle = max(1, at % len(secret))
    said = [*pieces[:at], secret[:middle], secret[middle:], *pieces[at:]]
    partial = partial_text.Partial("00000000-0000-4000-8000-000000000000", ("ask", 1, 1, None))
    told = ""
    for piece in said:
        before = partial.end
        partial.add(piece, [secret])
        told += str(partial.delta(before)["delta"])
        assert secret not in told
    assert partial.text == told
    assert partial.end == len(told.encode("utf-16-le")) // 2


def test_only_so_much_text_is_kept(tmp_path: Path) -> None:
    node = ASK.nodes["ask"]
    heard = partial_text.Partials()
    runs = [f"{number:08d}-0000-4000-8000-000000000000" for number in range(100)]
    for run_id in runs:
        of = running_attempt.AttemptRequest(
            run_id=run_id,
            workflow_name="ask",
            node=node,
            visit=1,
            attempt=1,
            inputs={},
            now=0,
        )
        for _ in range(5):
            heard.add(of, "x" * 100_000)
    (last,) = heard.of_run(runs[-1])
    assert (len(last.text), last.offset, last.end) == (partial_text.MAX_TEXT, 500_000 - partial_text.MAX_TEXT, 500_000)
    assert heard.of_run(runs[0]) == ()
    assert sum(len(one.text) for run_id in runs for one in heard.of_run(run_id)) <= partial_text.MAX_TOTAL
    heard.remove(runs[-1], [("ask", 1, 1, None), ("gone", 1, 1, None)])
    assert heard.of_run(runs[-1]) == ()
    assert all(partial.run_id != runs[-1] for partial in heard.unsent)


def test_what_was_said_while_nobody_followed_is_neither_kept_nor_told_later(tmp_path: Path) -> None:
    async def story() -> tuple[int, list[str]]:
        provider = scripted.Scripted({"ask": [{"text": f"Answer {number}."} for number in range(101)]})
        async with streaming.engine(tmp_path, provider=provider) as engine, streaming.hub(engine) as hub:
            for _ in range(100):
                await engine.wait(await engine.start(ASK))
            kept = hub.texts
            async with streaming.served(hub) as host, streaming.opened(host) as socket:
                told = streaming.messages(socket)
                await streaming.until(told, lambda one: one["type"] == "snapshot")
                last = await engine.start(ASK)
                found = await streaming.until(told, streaming.ended(last))
            said = [one["delta"] for one in streaming.events(found) if one["type"] == "message.assistant.delta"]
            return kept, said

    kept, said = play(story)
    assert kept <= hubs.SWEEP_TEXTS + 1
    assert "".join(said) == '{"text":"Answer 100."}'
