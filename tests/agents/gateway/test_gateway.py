"""The gateway: bytes pass as they are, the key stays outside, usage is exact, refusals have the right shape."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Callable
from typing import Any

import httpx
import orjson
import pytest

from openskelo import agent_settings, errors
from openskelo.agents.gateway import gateway
from openskelo.agents.server import session_server
from openskelo.providers import protocol
from openskelo.testing import scripted_model_server
from tests.agents import repository, upstream

KEY = "sk-real-key-of-the-project"
PRICES = agent_settings.AgentPrices(
    input_usd_per_mtok=3.0, output_usd_per_mtok=15.0, cached_input_usd_per_mtok=0.3, cache_write_usd_per_mtok=3.75
)
ANTHROPIC = upstream.events(
    '{"type":"message_start","message":{"id":"m","type":"message","role":"assistant","model":"claude-x-20260101",'
    '"content":[],"usage":{"input_tokens":12,"cache_creation_input_tokens":300,"cache_read_input_tokens":2000,'
    '"output_tokens":1}}}',
    '{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":""}}',
    '{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"Hm ü."}}',
    '{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hello"}}',
    '{"type":"ping"}',
    '{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":77}}',
    '{"type":"message_stop"}',
    names=True,
)
RESPONSES = upstream.events(
    '{"type":"response.created","response":{"id":"r","object":"response","model":"gpt-x","usage":null}}',
    '{"type":"response.output_text.delta","delta":"Hello"}',
    '{"type":"response.completed","response":{"id":"r","object":"response","model":"gpt-x","usage":{"input_tokens":500,'
    '"input_tokens_details":{"cached_tokens":400},"output_tokens":60,"output_tokens_details":{"reasoning_tokens":50},'
    '"total_tokens":560}}}',
    names=True,
)
CHAT = [
    *upstream.events(
        '{"id":"c","model":"qwen","choices":[{"index":0,"delta":{"content":"Hel"}}]}',
        '{"id":"c","model":"qwen","choices":[{"index":0,"delta":{"content":"lo"},"finish_reason":"stop"}],"usage":null}',
        '{"id":"c","model":"qwen","choices":[],"usage":{"prompt_tokens":90,"completion_tokens":11,'
        '"prompt_tokens_details":{"cached_tokens":64},"completion_tokens_details":{"reasoning_tokens":4}}}',
    ),
    b"data: [DONE]\n\n",
]
GEMINI = upstream.events(
    '{"candidates":[{"content":{"parts":[{"text":"Hel"}]}}],"usageMetadata":{"promptTokenCount":40},"modelVersion":"g"}',
    '{"candidates":[{"content":{"parts":[{"text":"lo"}]}}],"usageMetadata":{"promptTokenCount":40,'
    '"cachedContentTokenCount":30,"candidatesTokenCount":5,"thoughtsTokenCount":20},"modelVersion":"g"}',
)
PATHS = {
    "anthropic": "/v1/messages",
    "responses": "/v1/responses",
    "chat": "/v1/chat/completions",
    "gemini": "/v1beta/models/gemini-x:streamGenerateContent?alt=sse",
}
STREAMS = {"anthropic": ANTHROPIC, "responses": RESPONSES, "chat": CHAT, "gemini": GEMINI}
USAGES = {
    "anthropic": protocol.Usage(tokens_in=2312, tokens_out=77, cached_in=2000, cache_written_in=300),
    "responses": protocol.Usage(tokens_in=500, tokens_out=60, cached_in=400),
    "chat": protocol.Usage(tokens_in=90, tokens_out=11, cached_in=64),
    "gemini": protocol.Usage(tokens_in=40, tokens_out=25, cached_in=30),
}


class Ledger:
    """A meter that grants what it is told to, and keeps what it is told."""

    def __init__(self, refusal: errors.AttemptFailed | None = None, grant: int | None = None) -> None:
        self.refusal = refusal
        self.grant = grant
        self.claimed: list[gateway.Call] = []
        self.settled: list[tuple[protocol.Usage, int | None, bool]] = []
        self.stopped: list[errors.AttemptFailed] = []
        self.notes: list[str] = []
        self.signs = 0

    async def claim(self, call: gateway.Call) -> None:
        if self.refusal is not None:
            raise self.refusal
        call.granted_tokens_out = self.grant or call.wanted_tokens_out
        self.claimed.append(call)

    def settle(self, call: gateway.Call) -> None:
        self.settled.append((call.usage, call.cost(call.usage), call.is_estimated))

    def on_sign(self) -> None:
        self.signs += 1

    def stop(self, failure: errors.AttemptFailed) -> None:
        self.stopped.append(failure)

    def note(self, line: str) -> None:
        self.notes.append(line)


class Agent:
    """What an agent has of the gateway: an address and a token."""

    def __init__(self, address: session_server.Address, model: gateway.Gateway, ledger: Ledger) -> None:
        self.url, self.token = address.url("model"), address.token
        self.gateway, self.ledger = model, ledger
        self.client = httpx.AsyncClient(trust_env=False, timeout=20)

    async def ask(self, path: str, body: Any = None, **headers: str) -> httpx.Response:
        """Return the whole answer to a request."""
        given = {"authorization": f"Bearer {self.token}", **headers}
        content = body if isinstance(body, bytes) else orjson.dumps(body or {"model": "m", "stream": True})
        return await self.client.post(self.url + path, content=content, headers=given)


@contextlib.asynccontextmanager
async def opened(base_url: str, ledger: Ledger | None = None, *, idle_ms: int = 600_000) -> AsyncGenerator[Agent]:
    """Yield an agent in the middle of a turn."""
    agent = agent_settings.AgentSettings(
        name="helper", provider="custom", base_url=base_url, prices=PRICES, idle_ms=idle_ms
    )
    model = gateway.Gateway(agent, KEY)
    server = session_server.SessionServer()
    found = Agent(await server.open({"model": model.handle}), model, ledger or Ledger())
    model.begin_turn(found.ledger)
    try:
        yield found
    finally:
        await found.client.aclose()
        await model.close()
        await server.close()


def run(story: Callable[[], Any]) -> Any:
    return asyncio.run(asyncio.wait_for(story(), 120))


# -- streams ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", STREAMS)
@pytest.mark.parametrize("cut", [None, 7], ids=["by event", "by seven bytes"])
def test_a_stream_passes_byte_for_byte_and_its_usage_is_exact(name: str, cut: int | None) -> None:
    async def story() -> None:
        whole = b"".join(STREAMS[name])
        pieces = STREAMS[name] if cut is None else [whole[at : at + cut] for at in range(0, len(whole), cut)]
        async with upstream.serve(upstream.Upstream(pieces)) as server, opened(server.url) as agent:
            answer = await agent.ask(PATHS[name])
            assert (answer.status_code, answer.content) == (200, whole)
            assert answer.headers["content-type"] == "text/event-stream"
            assert answer.headers["request-id"] == "r1"
            usage = USAGES[name]
            fresh = usage.tokens_in - usage.cached_in - usage.cache_written_in
            cost = 3000 * fresh + 300 * usage.cached_in + 3750 * usage.cache_written_in + 15000 * usage.tokens_out
            assert agent.ledger.settled == [(usage, cost, False)]
            assert agent.gateway.trouble is None

    run(story)


@pytest.mark.parametrize(
    ("path", "document", "usage"),
    [
        (
            "/v1/messages",
            {"type": "message", "model": "x", "usage": {"input_tokens": 3, "output_tokens": 4}},
            protocol.Usage(tokens_in=3, tokens_out=4),
        ),
        (
            "/v1/responses",
            {"object": "response", "model": "x", "usage": {"input_tokens": 3, "output_tokens": 4}},
            protocol.Usage(tokens_in=3, tokens_out=4),
        ),
        (
            "/v1/chat/completions",
            {"model": "x", "choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 4}},
            protocol.Usage(tokens_in=3, tokens_out=4),
        ),
        (
            "/v1beta/models/g:generateContent",
            {"candidates": [], "usageMetadata": {"promptTokenCount": 3, "candidatesTokenCount": 4}},
            protocol.Usage(tokens_in=3, tokens_out=4),
        ),
    ],
)
def test_an_answer_in_one_piece_is_counted(path: str, document: dict[str, Any], usage: protocol.Usage) -> None:
    async def story() -> None:
        body = orjson.dumps(document)
        head = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n" % len(body)
        async with upstream.serve(upstream.Upstream([body], head)) as server, opened(server.url) as agent:
            answer = await agent.ask(path)
            assert (answer.content, answer.headers["content-length"]) == (body, str(len(body)))
            assert [(used, estimated) for used, _, estimated in agent.ledger.settled] == [(usage, False)]

    run(story)


def test_a_streamed_answer_of_gemini_may_be_an_array() -> None:
    async def story() -> None:
        parts = [event.removeprefix(b"data: ").strip() for event in GEMINI]
        body = b"[" + b",\r\n".join(parts) + b"]"
        head = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n"
        async with upstream.serve(upstream.Upstream([body], head)) as server, opened(server.url) as agent:
            answer = await agent.ask("/v1beta/models/g:streamGenerateContent")
            assert answer.content == body
            assert agent.ledger.settled[0][0] == USAGES["gemini"]

    run(story)


def test_pieces_arrive_while_the_answer_is_being_written() -> None:
    async def story() -> None:
        turns = asyncio.Semaphore(1)  # the server writes a piece only after the agent has read the one before
        async with upstream.serve(upstream.Upstream(CHAT, turns=turns)) as server, opened(server.url) as agent:
            pieces: list[bytes] = []
            async with agent.client.stream(
                "POST", agent.url + PATHS["chat"], json={"model": "m"}, headers={"x-api-key": agent.token}
            ) as answer:
                async for piece in answer.aiter_raw():
                    pieces.append(piece)
                    turns.release()
            assert pieces == CHAT
            assert agent.ledger.signs == len(CHAT)

    run(story)


@pytest.mark.parametrize("name", ["anthropic", "responses", "chat", "gemini"])
def test_all_protocols_pass_to_the_scripted_model(name: str) -> None:
    async def story() -> None:
        with scripted_model_server.serve(tokens_in=1234, tokens_out=56) as server:
            async with opened(server.url) as agent:
                answer = await agent.ask(PATHS[name], {"model": "m", "stream": True, "tools": []})
                assert b"scripted" in answer.content
                assert agent.ledger.settled[0][0] == protocol.Usage(tokens_in=1234, tokens_out=56)

    run(story)


# -- what goes out ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "header", "value"),
    [
        ("anthropic", "x-api-key", KEY),
        ("responses", "authorization", f"Bearer {KEY}"),
        ("chat", "authorization", f"Bearer {KEY}"),
        ("gemini", "x-goog-api-key", KEY),
    ],
)
@pytest.mark.parametrize("given", ["x-api-key", "authorization", "x-goog-api-key"])
def test_the_real_key_goes_out_and_the_token_does_not(name: str, header: str, value: str, given: str) -> None:
    async def story() -> None:
        async with upstream.serve(upstream.Upstream(STREAMS[name])) as server, opened(server.url) as agent:
            await agent.client.post(
                agent.url + PATHS[name],
                json={"model": "m"},
                headers={
                    given: agent.token,
                    "anthropic-version": "2023-06-01",
                    "anthropic-beta": "b",
                    "te": "trailers",
                },
            )
            ((line, headers, body),) = server.requests
            assert headers[header] == value
            keys = {"authorization", "x-api-key", "x-goog-api-key"} & headers.keys()
            assert keys == {header}
            assert agent.token not in line + str(headers)
            assert (headers["anthropic-version"], headers["anthropic-beta"]) == ("2023-06-01", "b")
            assert "te" not in headers
            assert orjson.loads(body)["model"] == "m"
            assert line.split()[1].startswith(PATHS[name])

    run(story)


def test_a_token_in_the_query_stays_inside() -> None:
    async def story() -> None:
        async with upstream.serve(upstream.Upstream(GEMINI)) as server, opened(server.url) as agent:
            path = f"{PATHS['gemini']}&key={agent.token}"
            answer = await agent.client.post(agent.url + path, json={})
            assert answer.status_code == 200
            assert server.requests[0][0] == f"POST {PATHS['gemini']} HTTP/1.1"

    run(story)


def test_a_chat_stream_is_asked_for_its_usage() -> None:
    async def story() -> None:
        async with upstream.serve(upstream.Upstream(CHAT)) as server, opened(server.url) as agent:
            await agent.ask(PATHS["chat"], {"model": "m", "stream": True, "stream_options": {"x": 1}})
            await agent.ask(PATHS["chat"], {"model": "m", "stream": False})
            asked = [orjson.loads(body) for _, _, body in server.requests]
            assert asked[0]["stream_options"] == {"x": 1, "include_usage": True}
            assert "stream_options" not in asked[1]

    run(story)


def test_an_address_may_end_with_the_version() -> None:
    async def story() -> None:
        async with upstream.serve(upstream.Upstream(CHAT)) as server, opened(server.url + "/v1/") as agent:
            await agent.ask(PATHS["chat"])
            assert server.requests[0][0] == "POST /v1/chat/completions HTTP/1.1"

    run(story)


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/v1/embeddings",
        "/v1/files",
        "/v1/messages/batches",
        "/v1/messages/../files",
        "/v1beta/models/a/b:generateContent",
    ],
)
def test_other_paths_are_not_passed_on_and_noted_once(path: str) -> None:
    async def story() -> None:
        async with upstream.serve(upstream.Upstream()) as server, opened(server.url) as agent:
            url = httpx.URL(agent.url).copy_with(raw_path=(httpx.URL(agent.url).raw_path + path.encode()))
            for _ in range(2):
                answer = await agent.client.post(url, json={}, headers={"x-api-key": agent.token})
                assert answer.status_code == 404
            assert server.requests == []
            assert len(agent.ledger.notes) == 1
            assert "does not pass on" in agent.ledger.notes[0]

    run(story)


def test_lists_of_models_and_counts_of_tokens_pass_without_a_turn_and_cost_nothing() -> None:
    async def story() -> None:
        with scripted_model_server.serve() as server:
            async with opened(server.url) as agent:
                agent.gateway.end_turn()
                listed = await agent.client.get(agent.url + "/v1/models", headers={"x-api-key": agent.token})
                assert listed.json()["data"][0]["id"] == "scripted"
                counted = await agent.ask("/v1/messages/count_tokens")
                assert counted.json()["input_tokens"] == scripted_model_server.TOKENS_IN
                refused = await agent.ask("/v1/messages")
                assert (refused.status_code, refused.json()["error"]["message"]) == (403, "no turn is under way")
                assert agent.ledger.claimed == []

    run(story)


def test_without_the_token_nothing_passes() -> None:
    async def story() -> None:
        async with upstream.serve(upstream.Upstream(CHAT)) as server, opened(server.url) as agent:
            for key in ("", "wrong", KEY):
                answer = await agent.client.post(agent.url + PATHS["chat"], json={}, headers={"x-api-key": key})
                assert answer.status_code == 404
            assert server.requests == []

    run(story)


# -- refusals ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "document"),
    [
        ("anthropic", {"type": "error", "error": {"type": "billing_error", "message": "used up"}}),
        (
            "responses",
            {
                "error": {
                    "message": "used up",
                    "type": "insufficient_quota",
                    "param": None,
                    "code": "insufficient_quota",
                }
            },
        ),
        (
            "chat",
            {
                "error": {
                    "message": "used up",
                    "type": "insufficient_quota",
                    "param": None,
                    "code": "insufficient_quota",
                }
            },
        ),
        ("gemini", {"error": {"code": 402, "message": "used up", "status": "FAILED_PRECONDITION"}}),
    ],
)
def test_a_budget_that_is_used_up_is_402_in_the_words_of_the_protocol(name: str, document: dict[str, Any]) -> None:
    async def story() -> None:
        ledger = Ledger(refusal=errors.OverBudget("used up", tokens=1))
        async with upstream.serve(upstream.Upstream()) as server, opened(server.url, ledger) as agent:
            answer = await agent.ask(PATHS[name])
            assert (answer.status_code, answer.json()) == (402, document)
            assert server.requests == []
            assert ledger.stopped == [ledger.refusal]

    run(story)


def test_an_answer_longer_than_granted_is_cut_and_ends_the_turn() -> None:
    async def story() -> None:
        long = upstream.events(*['{"model":"m","choices":[{"delta":{"content":"%s"}}]}' % ("word " * 20)] * 50)
        source = upstream.Upstream(long, seconds=0.005)
        ledger = Ledger(grant=100)
        async with upstream.serve(source) as server, opened(server.url, ledger) as agent:
            with pytest.raises(httpx.RemoteProtocolError):
                await agent.ask(PATHS["chat"])
            (failure,) = ledger.stopped
            assert isinstance(failure, errors.OverBudget)
            assert "was cut after" in failure.message
            ((usage, cost, estimated),) = ledger.settled
            assert 100 < usage.tokens_out < 300
            assert (estimated, cost is not None and cost > 0) == (True, True)

    run(story)


def test_a_limit_of_the_request_itself_is_left_to_the_model() -> None:
    async def story() -> None:
        long = upstream.events(*['{"model":"m","choices":[{"delta":{"content":"%s"}}]}' % ("word " * 200)] * 5)
        async with upstream.serve(upstream.Upstream(long)) as server, opened(server.url) as agent:
            answer = await agent.ask(PATHS["chat"], {"model": "m", "max_tokens": 10})
            assert answer.content == b"".join(long)
            assert agent.ledger.claimed[0].wanted_tokens_out == 10

    run(story)


@pytest.mark.parametrize("body", [b"", b"[]", b"{", b'"text"'])
def test_a_request_that_is_no_object_is_refused(body: bytes) -> None:
    async def story() -> None:
        async with upstream.serve(upstream.Upstream()) as server, opened(server.url) as agent:
            answer = await agent.client.post(
                agent.url + "/v1/messages", content=body, headers={"x-api-key": agent.token}
            )
            assert (answer.status_code, answer.json()["error"]["type"]) == (400, "invalid_request_error")
            assert server.requests == []

    run(story)


# -- trouble ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", [400, 401, 403, 404, 429, 500, 503, 529])
def test_an_error_of_the_model_passes_as_it_is_costs_nothing_and_is_remembered(status: int) -> None:
    async def story() -> None:
        body = orjson.dumps({"error": {"type": "e", "message": f"no: {KEY}"}})
        head = b"HTTP/1.1 %d Nope\r\ncontent-type: application/json\r\nretry-after: 7\r\n" % status
        head += b"content-length: %d\r\n\r\n" % len(body)
        async with upstream.serve(upstream.Upstream([body], head)) as server, opened(server.url) as agent:
            answer = await agent.ask(PATHS["anthropic"])
            assert (answer.status_code, answer.headers["retry-after"]) == (status, "7")
            assert answer.content == body.replace(KEY.encode(), b"*" * len(KEY))
            assert agent.gateway.trouble == f"{status} from the model: no: [secret]"
            assert agent.gateway.is_locked_out is (status in (401, 403))
            assert agent.ledger.settled == [(protocol.Usage(), 0, False)]
            server.head, server.pieces = upstream.Upstream().head, ANTHROPIC
            assert (await agent.ask(PATHS["anthropic"])).status_code == 200
            assert agent.gateway.trouble is None

    run(story)


def test_a_refused_connection_is_502_and_costs_nothing() -> None:
    async def story() -> None:
        async with upstream.serve(upstream.Upstream()) as server:
            url = server.url
        async with opened(url) as agent:
            answer = await agent.ask(PATHS["responses"])
            assert (answer.status_code, answer.json()["error"]["type"]) == (502, "server_error")
            assert str(agent.gateway.trouble).startswith(f"no connection to the model at {url[7:]}")
            assert agent.ledger.settled == [(protocol.Usage(), 0, False)]

    run(story)


def test_a_stream_that_breaks_off_breaks_off_for_the_agent_too() -> None:
    async def story() -> None:
        head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: 100000\r\n\r\n"
        async with upstream.serve(upstream.Upstream(ANTHROPIC[:4], head)) as server, opened(server.url) as agent:
            received: list[bytes] = []

            async def read() -> None:
                async with agent.client.stream(
                    "POST", agent.url + PATHS["anthropic"], json={"model": "m"}, headers={"x-api-key": agent.token}
                ) as answer:
                    async for data in answer.aiter_raw():
                        received.append(data)  # noqa: PERF401 -- what has come counts, although the rest does not

            with pytest.raises(httpx.RemoteProtocolError):
                await read()
            assert b"".join(received) == b"".join(ANTHROPIC[:4])
            assert str(agent.gateway.trouble).startswith("the answer of the model broke off")
            ((usage, _, estimated),) = agent.ledger.settled
            assert (usage.tokens_in, usage.cached_in, usage.tokens_out, estimated) == (2312, 2000, 4, True)

    run(story)


def test_a_model_that_hangs_is_504_after_the_idle_time_and_its_request_counts() -> None:
    async def story() -> None:
        source = upstream.Upstream(hangs=True)
        async with upstream.serve(source) as server, opened(server.url, idle_ms=300) as agent:
            answer = await agent.ask(PATHS["gemini"], {"contents": ["x" * 300]})
            assert (answer.status_code, answer.json()["error"]["status"]) == (504, "DEADLINE_EXCEEDED")
            assert agent.gateway.trouble == "the model gave no sign for 0.3 s"
            ((usage, _, estimated),) = agent.ledger.settled
            assert usage.tokens_in > 100
            assert (usage.tokens_out, estimated) == (0, True)

    run(story)


@pytest.mark.parametrize("ender", ["agent", "turn"])
def test_a_call_that_is_cut_stops_the_model_and_counts_once(ender: str) -> None:
    async def story() -> None:
        source = upstream.Upstream(hangs=True)
        async with upstream.serve(source) as server, opened(server.url) as agent:
            asking = asyncio.create_task(agent.ask(PATHS["chat"], {"model": "m", "messages": ["x" * 300]}))
            await repository.until(lambda: bool(server.requests))
            assert [call.usage.tokens_in > 100 for call in agent.gateway.open_calls()] == [True]
            if ender == "agent":
                asking.cancel()
            else:
                agent.gateway.end_turn()
            await repository.until(lambda: bool(source.closed_by_client))
            await asyncio.gather(asking, return_exceptions=True)
            assert len(agent.ledger.settled) == 1
            assert agent.ledger.settled[0][0].tokens_in > 100

    run(story)


def test_an_answer_without_usage_is_estimated_from_its_text() -> None:
    async def story() -> None:
        async with upstream.serve(upstream.Upstream([*CHAT[:2], CHAT[3]])) as server, opened(server.url) as agent:
            await agent.ask(PATHS["chat"], {"model": "m", "messages": ["x" * 300]})
            ((usage, _, estimated),) = agent.ledger.settled
            assert (usage.tokens_out, estimated) == (2, True)  # "Hello", three characters a token
            assert 100 < usage.tokens_in < 150

    run(story)


@pytest.mark.parametrize("count", [-1, 2**40, "many", None, 1.5, True])
def test_counts_that_are_not_credible_are_estimated(count: Any) -> None:
    async def story() -> None:
        body = orjson.dumps(
            {
                "choices": [{"message": {"content": "abc"}}],
                "usage": {"prompt_tokens": count, "completion_tokens": count},
            }
        )
        head = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n" % len(body)
        async with upstream.serve(upstream.Upstream([body], head)) as server, opened(server.url) as agent:
            await agent.ask(PATHS["chat"])
            ((usage, _, estimated),) = agent.ledger.settled
            assert (estimated, usage.tokens_out > 0, usage.tokens_in > 0) == (True, True, True)

    run(story)


def test_a_huge_answer_passes_and_what_cannot_be_read_is_estimated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("openskelo.agents.gateway.model_protocols.MAX_READ_BYTES", 100_000)

    async def story() -> None:
        pieces = [b"data: " + b"x" * 65_536] * 64
        async with upstream.serve(upstream.Upstream(pieces)) as server, opened(server.url) as agent:
            answer = await agent.ask(PATHS["chat"])
            assert answer.content == b"".join(pieces)
            ((usage, _, estimated),) = agent.ledger.settled
            assert (estimated, usage.tokens_out > 30_000) == (True, True)

    run(story)


def test_an_error_in_the_middle_of_a_stream_is_remembered() -> None:
    async def story() -> None:
        failed = upstream.events(
            '{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}', names=True
        )
        async with upstream.serve(upstream.Upstream([ANTHROPIC[0], *failed])) as server, opened(server.url) as agent:
            await agent.ask(PATHS["anthropic"])
            assert agent.gateway.trouble == "the model said: Overloaded"

    run(story)


def test_images_do_not_count_by_their_bytes() -> None:
    async def story() -> None:
        async with upstream.serve(upstream.Upstream(ANTHROPIC)) as server, opened(server.url) as agent:
            await agent.ask(PATHS["anthropic"], {"model": "m", "source": {"data": "iVBOR" * 100_000}})
            assert agent.ledger.claimed[0].request.tokens_in < 2_100

    run(story)
