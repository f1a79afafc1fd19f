"""The router: which expert answers, what it is sent, when the next one is asked, and what that costs."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from openskelo import errors
from openskelo.kernel.json import Json
from openskelo.providers import config, protocol, router
from tests.providers.servers import loopback, openai_chat

TEXT = '{"title": "Bees"}'
PRICES = config.Prices(input_usd_per_mtok=1.0, output_usd_per_mtok=2.0)


def request(**parameters: Json) -> protocol.Request:
    return protocol.Request(
        node="draft",
        messages=(
            protocol.Message(role="system", text="Keep the schema."),
            protocol.Message(role="user", text="Bees."),
        ),
        schema={"type": "object"},
        parameters=parameters,
    )


def remote(name: str, server: loopback.Loopback, **more: object) -> config.ProviderConfig:
    settings: dict[str, object] = {"base_url": server.base_url, "api_key": "${env:KEY}", "model": "m", "prices": PRICES}
    return config.ProviderConfig(name=name, kind="openai", **{**settings, **more})  # pyright: ignore[reportArgumentType] -- built by name


def ask(models: config.Config, *requests: protocol.Request, root: Path = Path()) -> list[protocol.Answer]:
    async def all_at_once() -> list[protocol.Answer]:
        one = router.Router(models, root=root, environment={"KEY": loopback.KEY})
        try:
            return await asyncio.gather(*(one.complete(each, lambda _: None) for each in requests))
        finally:
            await one.close()

    return asyncio.run(all_at_once())


def failing(models: config.Config, asked: protocol.Request, root: Path = Path()) -> errors.AttemptFailed:
    with pytest.raises(errors.AttemptFailed) as caught:
        ask(models, asked, root=root)
    return caught.value


MODELS = config.Config(
    providers={
        "main": config.ProviderConfig(name="main", kind="openai", model="big"),
        "small": config.ProviderConfig(name="small", kind="local", concurrency=1),
    },
    experts={
        "writer": config.ExpertConfig(
            name="writer",
            provider="main",
            model="bigger",
            max_tokens=90,
            temperature=0.4,
            parameters={"top_k": 5, "min_p": 0.1},
            system="You write.",
            modes=("normal",),
            fallbacks=("helper",),
        ),
        "helper": config.ExpertConfig(name="helper", provider="small", max_tokens=40, fallbacks=("writer",)),
    },
    default_expert="writer",
)


def test_a_plan_says_who_is_asked_and_exactly_what_is_sent() -> None:
    one = router.Router(MODELS, root=Path())
    asked = request(temperature=0.9, model_params={"top_k": 2}, model="biggest", system="Be brief.")
    first, second = protocol.plan(one, asked)
    user = protocol.Message(role="user", text="Bees.")
    assert first == protocol.Route(
        expert="writer",
        provider="main",
        model="biggest",
        request=protocol.Request(
            node="draft",
            messages=(protocol.Message(role="system", text="You write.\n\nBe brief.\n\nKeep the schema."), user),
            schema={"type": "object"},
            parameters={"model": "biggest", "temperature": 0.9, "model_params": {"top_k": 2, "min_p": 0.1}},
            max_tokens=90,
        ),
    )
    assert second == protocol.Route(
        expert="helper",
        provider="small",
        model="",
        request=protocol.Request(
            node="draft",
            messages=(protocol.Message(role="system", text="Be brief.\n\nKeep the schema."), user),
            schema={"type": "object"},
            parameters={"temperature": 0.9},
            max_tokens=40,
        ),
    )


def test_a_provider_can_be_named_without_an_expert() -> None:
    (planned,) = router.Router(MODELS, root=Path()).plan(request(provider="main"))
    assert (planned.expert, planned.provider, planned.model) == ("", "main", "big")


def test_experts_serve_in_their_modes_only() -> None:
    one = router.Router(MODELS, root=Path())
    assert [way.expert for way in one.plan(request(run_mode="normal"))] == ["writer", "helper"]
    assert [way.expert for way in one.plan(request(run_mode="offline"))] == ["helper"]


@pytest.mark.parametrize(
    ("models", "parameters", "code", "hint"),
    [
        (MODELS, {"expert": "wirter"}, "EXPERT_UNKNOWN", "did you mean 'writer'?"),
        (MODELS, {"expert": "WRITER"}, "EXPERT_UNKNOWN", "did you mean 'writer'?"),
        (MODELS, {"provider": "other"}, "PROVIDER_UNKNOWN", "known: main, small"),
        (config.Config(), {}, "EXPERT_MISSING", "name an `expert`, or set default_expert in skelo.yaml"),
    ],
)
def test_a_request_for_nobody_is_final(
    models: config.Config, parameters: dict[str, Json], code: str, hint: str
) -> None:
    error = failing(models, request(**parameters))
    assert (error.code, error.retryable, error.hint) == (code, False, hint)


def two(first: loopback.Loopback, second: loopback.Loopback) -> config.Config:
    return config.Config(
        providers={"a": remote("a", first), "b": remote("b", second)},
        experts={
            "one": config.ExpertConfig(name="one", provider="a", fallbacks=("two",)),
            "two": config.ExpertConfig(name="two", provider="b"),
        },
        default_expert="one",
    )


def test_the_answer_says_who_gave_it_and_what_it_cost() -> None:
    with loopback.Loopback(openai_chat.OpenAI(), [loopback.Say(text=TEXT)]).running() as server:
        (answer,) = ask(two(server, server), request())
    assert answer == protocol.Answer(
        text=TEXT,
        usage=protocol.Usage(tokens_in=11, tokens_out=5),
        model="gpt-4o-mini",
        cost_nanousd=11 * 1000 + 5 * 2000,
        served_by="one",
    )


@pytest.mark.parametrize(
    "act", [loopback.Fail(status=500), loopback.Fail(status=400), loopback.Fail(status=401), loopback.Cut()]
)
def test_an_expert_that_cannot_answer_hands_over(act: loopback.Act) -> None:
    first = loopback.Loopback(openai_chat.OpenAI(), [act])
    second = loopback.Loopback(openai_chat.OpenAI(), [loopback.Say(text=TEXT)])
    with first.running(), second.running():
        (answer,) = ask(two(first, second), request())
    lost = act == loopback.Cut()  # then it was asked, and had begun to answer
    assert (answer.served_by, answer.text, answer.usage.tokens_in > 11) == ("two", TEXT, lost)
    assert (len(first.asked), len(second.asked)) == (1, 1)


def test_what_broke_off_is_charged_by_what_was_asked_and_heard() -> None:
    heard: list[str] = []
    asked = request()
    with loopback.Loopback(openai_chat.OpenAI(), [loopback.Cut(), loopback.Fail(status=500)]).running() as server:
        models = config.Config(
            providers={"a": remote("a", server)},
            experts={
                "one": config.ExpertConfig(name="one", provider="a", fallbacks=("two",)),
                "two": config.ExpertConfig(name="two", provider="a"),
            },
            default_expert="one",
        )

        async def work() -> protocol.Answer:
            one = router.Router(models, root=Path(), environment={"KEY": loopback.KEY})
            try:
                return await one.complete(asked, heard.append)
            finally:
                await one.close()

        with pytest.raises(protocol.BrokenAnswer) as raised:
            asyncio.run(work())
    took = protocol.estimate_usage(asked, "".join(heard))
    assert (took.tokens_in, took.tokens_out > 0) == (-(-sum(len(m.text) for m in asked.messages) // 3), True)
    error = raised.value
    assert (error.code, error.retryable, error.answer.usage) == ("PROVIDER_UNAVAILABLE", True, took)
    assert error.answer.cost_nanousd == took.tokens_in * 1000 + took.tokens_out * 2000


def test_what_never_began_is_free() -> None:
    with loopback.Loopback(openai_chat.OpenAI(), [loopback.Fail(status=500)] * 2).running() as server:
        error = failing(two(server, server), request())
    assert (error.code, isinstance(error, protocol.UnusableAnswer)) == ("PROVIDER_UNAVAILABLE", False)


@pytest.mark.parametrize("speech", [openai_chat.Silent, openai_chat.Boastful])
def test_what_a_server_does_not_say_or_cannot_mean_is_estimated(speech: type[openai_chat.OpenAI]) -> None:
    asked = request()
    with loopback.Loopback(speech(), [loopback.Say(text=TEXT)]).running() as server:
        (answer,) = ask(two(server, server), asked)
    took = protocol.estimate_usage(asked, TEXT)
    assert (answer.usage, took.tokens_in > 0, took.tokens_out > 0) == (took, True, True)
    assert answer.cost_nanousd == took.tokens_in * 1000 + took.tokens_out * 2000


def test_thoughts_that_broke_off_are_charged_though_nothing_was_said() -> None:
    heard: list[str] = []
    asked = request()
    with loopback.Loopback(openai_chat.Thinker(), [loopback.Cut()]).running() as server:
        models = config.Config(
            providers={"a": remote("a", server)},
            experts={"one": config.ExpertConfig(name="one", provider="a")},
            default_expert="one",
        )

        async def work() -> protocol.Answer:
            one = router.Router(models, root=Path(), environment={"KEY": loopback.KEY})
            try:
                return await one.complete(asked, heard.append)
            finally:
                await one.close()

        with pytest.raises(protocol.BrokenAnswer) as raised:
            asyncio.run(work())
    took = protocol.estimate_usage(asked, "Hm, bees. " * 9)
    error = raised.value
    assert (heard, error.code, error.retryable, error.answer.usage) == ([], "PROVIDER_UNAVAILABLE", True, took)
    assert error.answer.cost_nanousd == took.tokens_in * 1000 + took.tokens_out * 2000


def test_what_a_refusal_took_is_counted_with_the_answer() -> None:
    first = loopback.Loopback(openai_chat.OpenAI(), [loopback.Refuse()])
    second = loopback.Loopback(openai_chat.OpenAI(), [loopback.Say(text=TEXT)])
    with first.running(), second.running():
        (answer,) = ask(two(first, second), request())
    assert (answer.served_by, answer.usage) == ("two", protocol.Usage(tokens_in=22, tokens_out=10))
    assert answer.cost_nanousd == 2 * (11 * 1000 + 5 * 2000)


def test_a_rate_limit_is_waited_for_and_not_handed_over() -> None:
    first = loopback.Loopback(openai_chat.OpenAI(), [loopback.Fail(status=429, headers={"retry-after": "2"})])
    second = loopback.Loopback(openai_chat.OpenAI(), [])
    with first.running(), second.running():
        error = failing(two(first, second), request())
    assert (error.code, error.retry_after_ms, second.asked) == ("PROVIDER_RATE_LIMITED", 2000, [])


def test_when_nobody_can_answer_the_last_error_counts() -> None:
    first = loopback.Loopback(openai_chat.OpenAI(), [loopback.Refuse()])
    second = loopback.Loopback(openai_chat.OpenAI(), [loopback.Say(text="{", finish="length")])
    with first.running(), second.running():
        error = failing(two(first, second), request())
    assert isinstance(error, protocol.UnusableAnswer)
    assert (error.code, error.answer.served_by) == ("PROVIDER_TRUNCATED", "two")
    assert error.answer.usage == protocol.Usage(tokens_in=22, tokens_out=10)


def test_a_provider_is_sent_no_more_at_once_than_its_limit() -> None:
    gates = [threading.Event() for _ in range(3)]
    script = [loopback.Say(text=TEXT, may_go_on=gate) for gate in gates]
    with loopback.Loopback(openai_chat.OpenAI(), script).running() as server:
        models = config.Config(
            providers={"a": remote("a", server, concurrency=2)},
            experts={"one": config.ExpertConfig(name="one", provider="a")},
            default_expert="one",
        )

        async def three() -> tuple[int, list[protocol.Answer]]:
            one = router.Router(models, root=Path(), environment={"KEY": loopback.KEY})
            heard: list[str] = []
            tasks = [asyncio.create_task(one.complete(request(), heard.append)) for _ in range(3)]
            async with asyncio.timeout(120):
                while len(heard) < 2:  # noqa: ASYNC110 -- the pieces come one by one
                    await asyncio.sleep(0.01)
                await asyncio.sleep(0.1)
                under_way = len(server.asked)
                for gate in gates:
                    gate.set()
                answers = list(await asyncio.gather(*tasks))
            await one.close()
            return under_way, answers

        under_way, answers = asyncio.run(three())
    assert under_way == 2
    assert [answer.text for answer in answers] == [TEXT, TEXT, TEXT]


class _Told:
    """A listener who is told of the question's turn."""

    def __init__(self) -> None:
        self.told: list[str] = []

    def __call__(self, text: str) -> None:
        self.told.append("heard")

    def on_queued(self) -> None:
        self.told.append("waits")

    def on_sent(self) -> None:
        self.told.append("goes")


def test_a_listener_is_told_when_a_question_waits_and_when_it_goes() -> None:
    gate = threading.Event()
    script = [loopback.Say(text=TEXT, may_go_on=gate), loopback.Say(text=TEXT)]
    with loopback.Loopback(openai_chat.OpenAI(), script).running() as server:
        models = config.Config(
            providers={"a": remote("a", server, concurrency=1)},
            experts={"one": config.ExpertConfig(name="one", provider="a")},
            default_expert="one",
        )

        async def two_in_turn() -> tuple[list[str], list[str]]:
            one = router.Router(models, root=Path(), environment={"KEY": loopback.KEY})
            first, second = _Told(), _Told()
            tasks = [asyncio.create_task(one.complete(request(), each)) for each in (first, second)]
            async with asyncio.timeout(120):
                while "heard" not in first.told:  # noqa: ASYNC110 -- the pieces come one by one
                    await asyncio.sleep(0.01)
                waiting = list(second.told)
                gate.set()
                await asyncio.gather(*tasks)
            await one.close()
            return waiting, second.told

        waiting, told = asyncio.run(two_in_turn())
    assert (waiting, told[:3]) == (["waits"], ["waits", "goes", "heard"])


def test_what_is_missing_is_said_without_asking(tmp_path: Path) -> None:
    environment = {"OPENAI_API_KEY": "k"}
    assert router.Router(MODELS, root=tmp_path, environment=environment).missing({}) is None
    assert router.Router(MODELS, root=tmp_path, environment={}).missing({"provider": "main"}) == (
        "main: its key is not set: set OPENAI_API_KEY"
    )
    assert router.Router(MODELS, root=tmp_path).missing({"expert": "nobody"}) == "there is no expert 'nobody'"


def test_a_provider_says_what_it_still_needs(tmp_path: Path) -> None:
    absent = config.ProviderConfig(name="l", kind="local", model_path="a.gguf")
    kept = config.ProviderConfig(name="r", kind="recorded", recordings="kept")
    assert (
        router.missing_requirement(absent, root=tmp_path, environment={})
        == f"there is no model file {tmp_path / 'a.gguf'}"
    )
    (tmp_path / "a.gguf").write_text("version https://git-lfs.github.com/spec/v1\n")
    assert (
        router.missing_requirement(absent, root=tmp_path, environment={}) == f"{tmp_path / 'a.gguf'} is not a GGUF file"
    )
    (tmp_path / "a.gguf").write_bytes(b"GGUF and more")
    assert router.missing_requirement(absent, root=tmp_path, environment={}) is None
    assert router.missing_requirement(kept, root=tmp_path, environment={}) == f"there is no folder {tmp_path / 'kept'}"
    assert router.missing_requirement(config.embedded().providers["local"], root=tmp_path, environment={}) is None
    for long in (
        config.ProviderConfig(name="l", kind="local", model_path="x" * 300),
        config.ProviderConfig(name="r", kind="recorded", recordings="x" * 300),
    ):
        said = router.missing_requirement(long, root=tmp_path, environment={})
        assert said == f"{tmp_path / ('x' * 300)} cannot be used: File name too long"


def test_nothing_heavy_is_imported_before_it_is_used() -> None:
    heavy = "pydantic_ai", "pydantic", "openai", "anthropic", "google", "httpx2", "httpx", "xllamacpp", "genai_prices"
    program = (
        "import sys, pathlib\n"
        "from openskelo.providers import config, router\n"
        "router.Router(config.embedded(), root=pathlib.Path()).missing({})\n"
        f"print([name for name in {heavy!r} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
