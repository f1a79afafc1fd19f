"""Remote models: the official clients against servers on the loopback address that speak their protocols."""

from __future__ import annotations

import asyncio
import base64
import json
import threading
from collections.abc import Awaitable, Callable, Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol, cast

import pytest

from openskelo import errors
from openskelo.kernel.json import Json, JsonObject
from openskelo.providers import config, kinds, protocol
from openskelo.values.schema import composition
from tests.providers.servers import anthropic_messages, gemini_content, loopback, ollama_chat, openai_chat

MODELS = {"openai": "gpt-4o-mini", "ollama": "llama3", "anthropic": "claude-sonnet-5", "gemini": "gemini-2.5-flash"}
SPEECHES = (openai_chat.OpenAI, ollama_chat.Ollama, anthropic_messages.Anthropic, gemini_content.Gemini)
REFUSING = (openai_chat.OpenAI, anthropic_messages.Anthropic, gemini_content.Gemini)
SCHEMA: JsonObject = {
    "type": "object",
    "properties": {"title": {"type": "string"}},
    "required": ["title"],
    "additionalProperties": False,
}
TEXT = '{"title": "How bees find their way"}'

every_api = pytest.mark.parametrize("speech", SPEECHES, ids=[one.kind for one in SPEECHES])


class Provider(protocol.Provider, protocol.Closable, Protocol):
    """A provider with connections."""


def make(settings: config.ProviderConfig, environment: Mapping[str, str]) -> Provider:
    """The provider of a kind, before it is priced."""
    kind = kinds.KINDS[settings.kind]
    return cast("Provider", kind.make(settings, kinds.Setup(root=Path(), environment=environment)))


def request(schema: JsonObject | None = None, **parameters: Json) -> protocol.Request:
    return protocol.Request(
        node="draft",
        messages=(
            protocol.Message(role="system", text="You write."),
            protocol.Message(role="user", text="About bees."),
            protocol.Message(role="assistant", text="{}"),
            protocol.Message(role="user", text="Again."),
        ),
        schema=schema,
        parameters=parameters,
        max_tokens=64,
    )


@contextmanager
def serving(speech: Callable[[], loopback.Speech], *script: loopback.Act) -> Generator[loopback.Loopback]:
    with loopback.Loopback(speech(), script).running() as server:
        yield server


def provider(server: loopback.Loopback, *, key: str = loopback.KEY, timeout_ms: int = 20_000) -> Provider:
    settings = config.ProviderConfig(
        name="main",
        kind=server.speech.kind,
        base_url=server.base_url,
        api_key="${env:SOME_KEY}",
        model=MODELS[server.speech.kind],
        timeout_ms=timeout_ms,
    )
    return make(settings, {"SOME_KEY": key})


def run(one: Provider, work: Callable[[], Awaitable[protocol.Answer]]) -> protocol.Answer:
    async def and_close() -> protocol.Answer:
        try:
            return await work()
        finally:
            await one.close()

    return asyncio.run(and_close())


def ask(
    server: loopback.Loopback, *, schema: JsonObject | None = None, key: str = loopback.KEY, timeout_ms: int = 20_000
) -> protocol.Answer:
    one = provider(server, key=key, timeout_ms=timeout_ms)
    return run(one, lambda: one.complete(request(schema), lambda _: None))


def failing(server: loopback.Loopback, *, key: str = loopback.KEY, timeout_ms: int = 20_000) -> errors.AttemptFailed:
    with pytest.raises(errors.AttemptFailed) as caught:
        ask(server, schema=SCHEMA, key=key, timeout_ms=timeout_ms)
    return caught.value


@every_api
def test_an_answer_streams_in_and_is_counted(speech: Callable[[], loopback.Speech]) -> None:
    heard: list[str] = []
    with serving(speech, loopback.Say(text=TEXT)) as server:
        one = provider(server)
        answer = run(one, lambda: one.complete(request(SCHEMA, seed=3), heard.append))
    assert (answer.text, answer.usage, answer.finish_reason) == (
        TEXT,
        protocol.Usage(tokens_in=11, tokens_out=5),
        "stop",
    )
    assert answer.model
    assert "".join(heard) == TEXT
    assert len(heard) > 2
    assert len(server.asked) == 1


@every_api
def test_the_schema_goes_out_as_the_apis_own_structured_output(speech: Callable[[], loopback.Speech]) -> None:
    with serving(speech, loopback.Say(text=TEXT)) as server:
        ask(server, schema=SCHEMA)
        (body,) = server.asked
    wanted = {
        "openai": lambda: body["response_format"]["json_schema"]["schema"],
        "ollama": lambda: body["format"],
        "anthropic": lambda: body["output_config"]["format"]["schema"],
        "gemini": lambda: body["generationConfig"]["responseJsonSchema"],
    }[server.speech.kind]()
    assert wanted["properties"] == SCHEMA["properties"]
    assert wanted["required"] == ["title"]


def test_a_port_with_definitions_of_its_own_goes_out_as_strict_servers_take_it() -> None:
    tree: JsonObject = {
        "$ref": "#/$defs/t",
        "$defs": {
            "t": {
                "type": "object",
                "properties": {"kids": {"type": "array", "items": {"$ref": "#/$defs/t"}}},
                "required": ["kids"],
                "additionalProperties": False,
            }
        },
    }
    asked = composition.object_of({"tree": tree}, {"required": ["tree"], "additionalProperties": False})
    with serving(openai_chat.OpenAI, loopback.Say(text='{"tree": {"kids": []}}')) as server:
        ask(server, schema=asked)
    (body,) = server.asked
    sent = body["response_format"]["json_schema"]
    # References only to what is right under $defs: OpenAI refuses any other in a strict schema.
    assert sent["strict"] is True
    assert sent["schema"] == {
        "type": "object",
        "properties": {"tree": tree["$defs"]["t"]},  # pyright: ignore[reportArgumentType] -- it is a map
        "required": ["tree"],
        "additionalProperties": False,
        "$defs": tree["$defs"],
    }


@every_api
def test_the_conversation_and_its_limit_arrive(speech: Callable[[], loopback.Speech]) -> None:
    with serving(speech, loopback.Say(text=TEXT)) as server:
        ask(server)
        (body,) = server.asked
    sent = json.dumps(body)
    assert [sent.index(text) for text in ("About bees.", "Again.")] == sorted(
        sent.index(text) for text in ("About bees.", "Again.")
    )
    assert "You write." in sent
    limit = {
        "openai": lambda: body["max_completion_tokens"],
        "ollama": lambda: body["options"]["num_predict"],
        "anthropic": lambda: body["max_tokens"],
        "gemini": lambda: body["generationConfig"]["maxOutputTokens"],
    }[server.speech.kind]()
    assert limit == 64


@every_api
@pytest.mark.parametrize("media_type", ["image/png", "application/pdf"])
def test_attachments_arrive_where_the_kind_takes_them(speech: Callable[[], loopback.Speech], media_type: str) -> None:
    data = b"%PDF-1.7 or an image"
    attachment = protocol.Attachment(name="file", media_type=media_type, data=data)
    question = protocol.Message(role="user", text="What is it?", attachments=(attachment,))
    with serving(speech, loopback.Say(text=TEXT)) as server:
        if media_type not in kinds.KINDS[server.speech.kind].media_types:
            return  # the executor refuses such a file before it is sent
        one = provider(server)
        run(one, lambda: one.complete(protocol.Request(node="draft", messages=(question,)), lambda _: None))
        (body,) = server.asked
    sent = json.dumps(body).replace("-", "+").replace("_", "/")  # one API writes base64 as in addresses
    assert (base64.b64encode(data).decode().rstrip("=") in sent, "What is it?" in json.dumps(body)) == (True, True)


@every_api
def test_the_first_piece_is_heard_while_the_rest_is_still_to_come(speech: Callable[[], loopback.Speech]) -> None:
    may_go_on = threading.Event()
    heard: list[str] = []

    def hear(piece: str) -> None:
        heard.append(piece)
        may_go_on.set()  # without this the server would wait

    with serving(speech, loopback.Say(text=TEXT, may_go_on=may_go_on)) as server:
        one = provider(server)
        answer = run(one, lambda: one.complete(request(SCHEMA), hear))
    assert answer.text == TEXT
    assert len(heard) > 1


@every_api
def test_a_rate_limit_is_transient_and_says_how_long_to_wait(speech: Callable[[], loopback.Speech]) -> None:
    with serving(speech, loopback.Fail(status=429, message="slow down", headers={"retry-after": "7"})) as server:
        error = failing(server)
        assert len(server.asked) == 1, "the client does not try again by itself"
    assert (error.code, error.retryable, error.retry_after_ms) == ("PROVIDER_RATE_LIMITED", True, 7000)
    assert "slow down" in error.message


@every_api
@pytest.mark.parametrize("status", [500, 503])
def test_a_server_in_trouble_is_transient(speech: Callable[[], loopback.Speech], status: int) -> None:
    with serving(speech, loopback.Fail(status=status)) as server:
        error = failing(server)
        assert len(server.asked) == 1, "the client does not try again by itself"
    assert (error.code, error.retryable) == ("PROVIDER_UNAVAILABLE", True)


@every_api
def test_a_rejected_request_is_final(speech: Callable[[], loopback.Speech]) -> None:
    with serving(speech, loopback.Fail(status=400, message="no such parameter")) as server:
        error = failing(server)
    assert (error.code, error.retryable) == ("PROVIDER_BAD_REQUEST", False)
    assert "no such parameter" in error.message


@every_api
def test_a_wrong_key_is_final_and_stays_out_of_the_message(speech: Callable[[], loopback.Speech]) -> None:
    with serving(speech) as server:
        error = failing(server, key="sk-a-wrong-but-still-secret-key")
    assert (error.code, error.retryable) == ("PROVIDER_AUTH", False)
    assert "invalid key" in error.message
    assert (
        "still-secret" not in f"{error} {error.__cause__} {error.__context__ if not error.__suppress_context__ else ''}"
    )


@every_api
@pytest.mark.parametrize("quietly", [False, True], ids=["with the connection", "quietly"])
def test_a_stream_that_breaks_off_is_transient(speech: Callable[[], loopback.Speech], quietly: bool) -> None:
    with serving(speech, loopback.Cut(quietly=quietly)) as server:
        error = failing(server)
    assert (error.code, error.retryable) == ("PROVIDER_UNAVAILABLE", True)


@every_api
def test_a_stream_that_is_not_json_is_transient(speech: Callable[[], loopback.Speech]) -> None:
    with serving(speech, loopback.Garble()) as server:
        error = failing(server)
    assert (error.code, error.retryable) == ("PROVIDER_UNAVAILABLE", True)


@pytest.mark.parametrize("speech", REFUSING, ids=[one.kind for one in REFUSING])
def test_a_refusal_is_final_and_was_paid_for(speech: Callable[[], loopback.Speech]) -> None:
    with serving(speech, loopback.Refuse()) as server:
        error = failing(server)
    assert isinstance(error, protocol.UnusableAnswer)
    assert (error.code, error.retryable) == ("PROVIDER_REFUSED", False)
    assert error.answer.usage == protocol.Usage(tokens_in=11, tokens_out=5)


@every_api
def test_an_answer_cut_at_its_limit_is_unusable_with_a_schema_only(speech: Callable[[], loopback.Speech]) -> None:
    cut = loopback.Say(text='{"title": "How be', finish="length")
    with serving(speech, cut, cut) as server:
        error = failing(server)
        answer = ask(server)
    assert isinstance(error, protocol.UnusableAnswer)
    assert (error.code, error.retryable, error.answer) == ("PROVIDER_TRUNCATED", False, answer)
    assert answer.finish_reason == "length"


@every_api
def test_a_server_that_does_not_answer_in_time_is_transient(speech: Callable[[], loopback.Speech]) -> None:
    release = threading.Event()
    with serving(speech, loopback.Say(text=TEXT), loopback.Hang(release=release)) as server:
        ask(server)  # imports and connects, so that the time limit is spent on waiting for the answer
        error = failing(server, timeout_ms=1500)
        release.set()
        assert len(server.asked) == 2, "the client does not try again by itself"
    assert (error.code, error.retryable) == ("PROVIDER_TIMEOUT", True)


@every_api
def test_a_server_that_is_not_there_is_transient(speech: Callable[[], loopback.Speech]) -> None:
    with serving(speech) as server:
        pass
    error = failing(server)
    assert (error.code, error.retryable) == ("PROVIDER_UNAVAILABLE", True)


def test_cancelling_hangs_up() -> None:
    may_go_on = threading.Event()

    async def cancelled(one: Provider) -> None:
        heard = asyncio.Event()
        task = asyncio.create_task(one.complete(request(SCHEMA), lambda _: heard.set()))
        await heard.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await one.close()

    long = loopback.Say(text="x" * 400_000, may_go_on=may_go_on)
    with serving(openai_chat.OpenAI, long) as server:
        asyncio.run(cancelled(provider(server)))
        may_go_on.set()
        assert server.hung_up.wait(10)


def test_a_key_that_is_not_set_is_named() -> None:
    settings = config.ProviderConfig(name="main", kind="openai", model="m")
    one = make(settings, {})
    with pytest.raises(errors.Missing) as caught:
        run(one, lambda: one.complete(request(), lambda _: None))
    assert (caught.value.code, caught.value.retryable) == ("PROVIDER_MISSING", False)
    assert "OPENAI_API_KEY" in caught.value.message


def test_the_usual_key_is_not_sent_to_another_server() -> None:
    with serving(openai_chat.OpenAI, loopback.Say(text=TEXT)) as server:
        settings = config.ProviderConfig(name="main", kind="openai", base_url=server.base_url, model="m")
        one = make(settings, {"OPENAI_API_KEY": loopback.KEY})
        with pytest.raises(errors.AttemptFailed) as caught:
            run(one, lambda: one.complete(request(), lambda _: None))
    assert caught.value.code == "PROVIDER_AUTH"


def test_parameters_of_the_server_reach_it() -> None:
    with serving(openai_chat.OpenAI, loopback.Say(text=TEXT)) as server:
        one = provider(server)
        told = request(model_params={"top_k": 3, "min_p": 0.1}, top_p=0.5, stop=["END"])
        run(one, lambda: one.complete(told, lambda _: None))
        (body,) = server.asked
    assert (body["min_p"], body["top_p"], body["stop"], body["stream"]) == (0.1, 0.5, ["END"], True)


@pytest.mark.parametrize("name", ["messages", "model", "max_tokens", "max_completion_tokens", "stream", "n"])
def test_a_parameter_that_the_engine_sets_is_refused_and_nothing_is_sent(name: str) -> None:
    with serving(openai_chat.OpenAI, loopback.Say(text=TEXT)) as server:
        one = provider(server)
        with pytest.raises(errors.AttemptFailed) as caught:
            run(one, lambda: one.complete(request(model_params={name: 9}), lambda _: None))
        assert (caught.value.code, caught.value.retryable) == ("PROVIDER_BAD_REQUEST", False)
        assert (repr(name) in caught.value.message, server.asked) == (True, [])


def test_gemini_refuses_a_parameter_it_cannot_send() -> None:
    with serving(gemini_content.Gemini) as server:
        one = provider(server)
    with pytest.raises(errors.AttemptFailed) as caught:
        run(one, lambda: one.complete(request(model_params={"min_p": 0.1}), lambda _: None))
    assert (caught.value.code, caught.value.retryable) == ("PROVIDER_BAD_REQUEST", False)
    assert "min_p" in caught.value.message


def test_a_provider_without_a_model_says_so() -> None:
    one = make(config.ProviderConfig(name="main", kind="ollama"), {})
    with pytest.raises(errors.AttemptFailed) as caught:
        run(one, lambda: one.complete(request(), lambda _: None))
    assert (caught.value.code, caught.value.retryable) == ("PROVIDER_BAD_REQUEST", False)
