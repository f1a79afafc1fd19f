"""What is said of a remote model that fails: the server's own words, whom it was about, and what to do next."""

from __future__ import annotations

import asyncio
import gzip
import json
import socket
from collections.abc import Callable, Sequence

import pytest

from openskelo import errors
from openskelo.providers import config, protocol
from tests.providers.servers import anthropic_messages, gemini_content, loopback, openai_chat
from tests.providers.test_remote import MODELS, SCHEMA, SPEECHES, TEXT, every_api, make, request

Speech = Callable[[], loopback.Speech]


def told(speech: loopback.Speech, address: str) -> protocol.Answer | errors.AttemptFailed:
    """What comes of one question to the server at an address: its answer, or the failure."""
    settings = config.ProviderConfig(
        name="main",
        kind=speech.kind,
        base_url=address,
        api_key="${env:SOME_KEY}",
        model=MODELS[speech.kind],
        timeout_ms=20_000,
    )

    async def ask() -> protocol.Answer | errors.AttemptFailed:
        one = make(settings, {"SOME_KEY": loopback.KEY})
        try:
            return await one.complete(request(SCHEMA), lambda _: None)
        except errors.AttemptFailed as error:
            return error
        finally:
            await one.close()

    return asyncio.run(ask())


def failed(speech: Speech, act: loopback.Act) -> errors.AttemptFailed:
    with loopback.Loopback(speech(), [act]).running() as server:
        found = told(server.speech, server.base_url)
        assert len(server.asked) == 1
    assert isinstance(found, errors.AttemptFailed)
    return found


def answered(speech: Speech, events: Sequence[bytes]) -> protocol.Answer:
    with loopback.Loopback(speech(), [loopback.Send(events=events)]).running() as server:
        found = told(server.speech, server.base_url)
        assert len(server.asked) == 1
    assert isinstance(found, protocol.Answer)
    return found


@pytest.mark.parametrize(
    ("speech", "events", "headers"),
    [
        (openai_chat.OpenAI, [b"data: null\n\n"], {}),
        (openai_chat.OpenAI, [b"data: " + b"[" * 200_000 + b"\n\n"], {}),
        (gemini_content.Gemini, [b"data: 3\n\n"], {}),
        (gemini_content.Gemini, [b"data: {}\n\n"], {"content-encoding": "gzip"}),
        (anthropic_messages.Anthropic, [b"data: {}\n\n"], {"content-encoding": "gzip"}),
    ],
)
def test_a_stream_that_its_client_does_not_expect_is_a_server_in_trouble(
    speech: Speech, events: Sequence[bytes], headers: dict[str, str]
) -> None:
    found = failed(speech, loopback.Send(events=events, headers=headers))
    assert (found.code, found.retryable) == ("PROVIDER_UNAVAILABLE", True)
    assert found.message.startswith("main: what the server sent is no answer of a model (")


def test_redirects_without_end_are_a_server_in_trouble() -> None:
    around = loopback.Fail(status=307, headers={"location": "/v1beta/models/m:streamGenerateContent"})
    with loopback.Loopback(gemini_content.Gemini(), [around] * 30).running() as server:
        found = told(server.speech, server.base_url)
        assert len(server.asked) > 1
    assert isinstance(found, errors.AttemptFailed)
    assert (found.code, found.retryable) == ("PROVIDER_UNAVAILABLE", True)


@pytest.mark.parametrize("status", [302, 307])
@every_api
def test_neither_key_nor_prompt_goes_to_another_server_by_a_redirect(speech: Speech, status: int) -> None:
    with loopback.Loopback(speech(), []).running() as other:
        elsewhere = other.base_url.removesuffix(other.speech.prefix)
        act = loopback.Fail(status=status, headers={"location": f"{elsewhere}/v1/messages"})
        found = failed(speech, act)
        assert other.requests == 0
    assert (found.code, found.message, found.hint, found.retryable) == (
        "PROVIDER_BAD_REQUEST",
        f"127.0.0.1 sends its clients on to {elsewhere}, and keys are not sent there",
        "make that the base_url, if you trust it",
        False,
    )


@every_api
def test_a_compressed_stream_is_read(speech: Speech) -> None:
    packed = gzip.compress(b"".join(speech().events(TEXT, "stop")))
    act = loopback.Send(events=[packed[:50], packed[50:]], headers={"content-encoding": "gzip"})
    with loopback.Loopback(speech(), [act]).running() as server:
        found = told(server.speech, server.base_url)
    assert isinstance(found, protocol.Answer)
    assert (found.text, found.finish_reason) == (TEXT, "stop")


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b'{"error": "model is required"}', "main: model is required (400)"),
        (b'{"detail": "no such model"}', "main: no such model (400)"),
        (b'{"detail": [{"loc": ["body"], "msg": "field required"}]}', "main: field required (400)"),
        (b'{"object": "error", "message": "too long"}', "main: too long (400)"),
        (b"[" * 50 + b'"deep"' + b"]" * 50, "main: the server answered 400"),
        (b'{"error": {"code": 7}}', "main: the server answered 400"),
        (b"", "main: the server answered 400"),
    ],
)
@every_api
def test_a_rejection_is_told_in_the_servers_own_words(speech: Speech, body: bytes, words: str) -> None:
    found = failed(speech, loopback.Fail(status=400, body=body, headers={"content-type": "application/json"}))
    assert (found.code, found.message, found.retryable) == ("PROVIDER_BAD_REQUEST", words, False)


@every_api
def test_a_page_for_browsers_says_nothing(speech: Speech) -> None:
    found = failed(speech, loopback.Fail(status=502, body=b"<html>bad gateway</html>"))
    assert (found.code, found.message) == ("PROVIDER_UNAVAILABLE", "main: the server answered 502")


@pytest.mark.parametrize("speech", SPEECHES[:3], ids=[one.kind for one in SPEECHES[:3]])
def test_a_server_of_something_else_is_said_to_be_none_of_a_model(speech: Speech) -> None:
    found = failed(speech, loopback.Fail(status=200, body=b"<html>Welcome!</html>"))
    assert (found.code, found.message, found.hint) == (
        "PROVIDER_UNAVAILABLE",
        "main: what the server sent is no answer of a model",
        "check the base_url: something else may answer there",
    )


@every_api
def test_a_server_that_cannot_be_reached_is_named_and_why_it_cannot(speech: Speech) -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        port = nobody.getsockname()[1]
        found = told(speech(), f"http://somebody:secret@127.0.0.1:{port}/v1")
    assert isinstance(found, errors.AttemptFailed)
    assert (found.code, found.message, found.hint, found.retryable) == (
        "PROVIDER_UNAVAILABLE",
        f"main (http://127.0.0.1:{port}): the connection was refused",
        "check the base_url, and that a server runs there",
        True,
    )


def test_a_host_that_nobody_knows_is_said_to_be_that() -> None:
    found = told(openai_chat.OpenAI(), "http://no-such-host.invalid/v1")
    assert isinstance(found, errors.AttemptFailed)
    assert found.message.startswith("main (http://no-such-host.invalid): the host is not known: ")


@pytest.mark.parametrize(("delay", "wait"), [("39s", 39_000), ("0.5s", 500), ("soon", None), ("9" * 40 + "s", None)])
def test_the_wait_that_google_asks_for_is_kept_to(delay: str, wait: int | None) -> None:
    retry: dict[str, object] = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": delay}
    error = {"code": 429, "message": "slow down", "status": "RESOURCE_EXHAUSTED", "details": [{"reason": "x"}, retry]}
    found = failed(gemini_content.Gemini, loopback.Fail(status=429, body=json.dumps({"error": error}).encode()))
    assert (found.code, found.retry_after_ms) == ("PROVIDER_RATE_LIMITED", wait)


def test_a_wait_without_measure_is_a_day() -> None:
    found = failed(openai_chat.OpenAI, loopback.Fail(status=429, headers={"retry-after": "9" * 308}))
    assert (found.code, found.retry_after_ms) == ("PROVIDER_RATE_LIMITED", 86_400_000)


def chunks(*pieces: str, finish: str = "stop") -> list[bytes]:
    """An answer of a server that does not say what it took, in just these pieces."""
    parts: list[dict[str, object]] = [{"delta": {"content": piece}, "finish_reason": None} for piece in pieces]
    parts.append({"delta": {}, "finish_reason": finish})
    head = {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "some-model"}
    return [loopback.event({**head, "choices": [{"index": 0, **part}]}) for part in parts]


def test_an_ending_in_a_word_of_its_own_is_an_ending() -> None:
    found = answered(openai_chat.OpenAI, chunks(TEXT, finish="eos_token"))
    assert (found.text, found.finish_reason) == (TEXT, "eos_token")


def test_an_ending_in_a_word_of_its_own_without_an_answer_is_told() -> None:
    found = failed(openai_chat.OpenAI, loopback.Send(events=chunks(finish="abort")))
    assert (found.code, found.message, found.retryable) == (
        "PROVIDER_UNAVAILABLE",
        "the answer of gpt-4o-mini ended without any text (abort)",
        True,
    )


@pytest.mark.parametrize(
    "pieces", [("<think>\nHm,", " bees.\n</think>", TEXT), ("<think>", "Hm,", " bees.</think>" + TEXT)]
)
def test_thoughts_are_no_part_of_an_answer_but_of_what_it_took(pieces: tuple[str, ...]) -> None:
    found = answered(openai_chat.OpenAI, chunks(*pieces))
    assert found.text == TEXT
    assert found.usage.tokens_out > len(TEXT) / protocol.CHARACTERS_PER_TOKEN + 1
