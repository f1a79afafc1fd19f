"""The embedded model itself: it keeps every schema at the first try, streams, and stops when told to."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from benchmarks import bounded
from openskelo import errors
from openskelo.kernel.json import Json, JsonObject
from openskelo.providers import config, llama, protocol
from openskelo.providers.kinds import local
from openskelo.values import canonical
from openskelo.values.schema import composition, validator

ROOT = Path()


def provider(**settings: int | str) -> local.Local:
    return local.Local(config.ProviderConfig(name="local", kind="local", **settings), ROOT)  # pyright: ignore[reportArgumentType] -- built by name


def request(
    prompt: str, *, kept: JsonObject | None = None, max_tokens: int = 48, parameters: JsonObject | None = None
) -> protocol.Request:
    return protocol.Request(
        node="draft",
        messages=(protocol.Message(role="user", text=prompt),),
        schema=kept,
        parameters=parameters or {},
        max_tokens=max_tokens,
    )


def ask(asked: protocol.Request, one: local.Local | None = None) -> protocol.Answer:
    return asyncio.run((one or provider()).complete(asked, lambda _: None))


def failing(asked: protocol.Request, one: local.Local | None = None) -> errors.AttemptFailed:
    with pytest.raises(errors.AttemptFailed) as caught:
        ask(asked, one)
    return caught.value


@pytest.mark.parametrize("name", bounded.SCHEMAS)
def test_a_bounded_schema_is_kept_at_the_first_try(name: str) -> None:
    wanted = bounded.SCHEMAS[name]
    hot: JsonObject = {"temperature": 1.2, "seed": len(name)}
    answer = ask(request("Invent an example.", kept=wanted, parameters=hot))
    assert validator.compile(wanted).check(canonical.loads(answer.text)) == ()
    assert answer.finish_reason == "stop"


def test_ports_with_definitions_of_their_own_are_kept_at_the_first_try() -> None:
    digit: JsonObject = {"type": "integer", "minimum": 0, "maximum": 9}
    at: JsonObject = {"type": "object", "properties": {"x": digit}, "required": ["x"], "additionalProperties": False}
    line: JsonObject = {
        "type": "array",
        "items": {"$ref": "#/$defs/at"},
        "minItems": 1,
        "maxItems": 2,
        "$defs": {"at": at},
    }
    fixed: JsonObject = {"required": ["line", "end"], "additionalProperties": False}
    wanted = composition.object_of({"line": line, "end": {"$ref": "#/$defs/at", "$defs": {"at": at}}}, fixed)
    hot: JsonObject = {"temperature": 1.2, "seed": 3}
    answer = canonical.loads(ask(request("Invent an example.", kept=wanted, parameters=hot)).text)
    assert isinstance(answer, Mapping)
    assert validator.compile(line).check(answer["line"]) == ()
    assert validator.compile(at).check(answer["end"]) == ()


def test_what_has_no_end_in_the_schema_ends_before_the_tokens_do() -> None:
    endless: JsonObject = {
        "type": "object",
        "properties": {"body": {"type": "string"}, "tags": {"type": "array", "items": {"type": "string"}}, "any": {}},
        "required": ["body", "tags", "any"],
    }
    answer = ask(request("Write about bees.", kept=endless, max_tokens=64))
    assert validator.compile(endless).check(canonical.loads(answer.text)) == ()


def test_the_answer_streams_and_is_counted() -> None:
    heard: list[str] = []
    asked = request("Name three colours.", max_tokens=12)
    answer = asyncio.run(provider().complete(asked, heard.append))
    assert "".join(heard) == answer.text
    assert len(heard) > 3
    assert answer.usage.tokens_in > 10
    assert 0 < answer.usage.tokens_out <= 12
    assert (answer.model, answer.cost_nanousd, answer.priced) == (llama.EMBEDDED_MODEL, 0, True)


def test_the_same_request_gets_the_same_answer() -> None:
    asked = request("Name three colours.", max_tokens=12)
    assert ask(asked) == ask(asked)


def test_an_answer_that_is_cut_cannot_keep_a_schema() -> None:
    long: JsonObject = {"type": "object", "properties": {"a": {"type": "string", "minLength": 300}}, "required": ["a"]}
    error = failing(request("Write.", kept=long, max_tokens=8))
    assert isinstance(error, protocol.UnusableAnswer)
    assert (error.code, error.retryable) == ("PROVIDER_TRUNCATED", False)
    assert error.answer.usage.tokens_out == 8


def test_the_loop_stays_free_while_the_model_works() -> None:
    async def ticks() -> tuple[int, protocol.Answer]:
        task = asyncio.create_task(provider().complete(request("Tell a story.", max_tokens=24), lambda _: None))
        count = 0
        while not task.done():
            await asyncio.sleep(0.005)
            count += 1
        return count, task.result()

    count, answer = asyncio.run(ticks())
    assert count > 10
    assert answer.usage.tokens_out == 24


def test_cancelling_stops_the_generation_at_once() -> None:
    async def cancelled() -> tuple[list[str], float]:
        heard: list[str] = []
        some = asyncio.Event()

        def hear(piece: str) -> None:
            heard.append(piece)
            some.set()

        one = provider()
        task = asyncio.create_task(one.complete(request("Tell a very long story.", max_tokens=2000), hear))
        await some.wait()
        started = time.process_time()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        before = list(heard)
        # There is one generation at a time: the next one answers only when the cancelled one has stopped.
        await one.complete(request("Hi.", max_tokens=1), lambda _: None)
        assert heard == before
        return heard, time.process_time() - started

    heard, seconds = asyncio.run(cancelled())
    assert heard
    assert seconds < 10, "2,000 tokens take more processor time than that"


def test_cancelling_stops_the_reading_of_a_long_prompt() -> None:
    async def cancelled() -> float:
        one = provider()
        long = " ".join(f"word{number}" for number in range(900))  # half a minute of reading
        task = asyncio.create_task(one.complete(request(long, max_tokens=1), lambda _: None))
        await asyncio.sleep(0.2)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        started = time.process_time()
        await one.complete(request("Hi.", max_tokens=1), lambda _: None)
        return time.process_time() - started

    assert asyncio.run(cancelled()) < 10  # seconds of the processor, which other programs do not lengthen


def test_an_answer_that_takes_too_long_is_given_up() -> None:
    error = failing(request("Tell a very long story.", max_tokens=2000), provider(timeout_ms=200))
    assert (error.code, error.retryable) == ("PROVIDER_TIMEOUT", True)


def test_a_prompt_that_does_not_fit_is_final() -> None:
    error = failing(request("word " * 600), provider(n_ctx=256))
    assert (error.code, error.retryable) == ("PROVIDER_BAD_REQUEST", False)
    assert error.hint == "raise n_ctx of the provider, or shorten the prompt"


@pytest.mark.parametrize(
    ("parameters", "told"),
    [({"model_params": {"beam": 4}}, "'beam'"), ({"temperature": "warm"}, "temperature")],
)
def test_a_parameter_it_does_not_understand_is_named(parameters: dict[str, Json], told: str) -> None:
    error = failing(request("Hi.", max_tokens=1, parameters=parameters))
    assert (error.code, error.retryable) == ("PROVIDER_BAD_REQUEST", False)
    assert told in error.message


def test_a_model_file_that_is_missing_or_broken_is_named(tmp_path: Path) -> None:
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(b"no model" * 100)
    for path in (tmp_path / "absent.gguf", broken):
        error = failing(request("Hi.", max_tokens=1), provider(model_path=str(path)))
        assert (error.code, error.retryable) == ("PROVIDER_MISSING", False)
        assert path.name in error.message
