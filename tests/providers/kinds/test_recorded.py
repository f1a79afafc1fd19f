"""Recordings: asked once, then given back exactly, and never made up."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path

import pytest

from openskelo import errors
from openskelo.providers import config, protocol, router, scripted
from openskelo.providers.kinds import recorded
from openskelo.structs import replace
from tests.providers.servers import loopback, openai_chat

REQUEST = protocol.Request(
    node="draft",
    messages=(protocol.Message(role="user", text="Bees."),),
    schema={"type": "object"},
    parameters={"temperature": 0.5},
    max_tokens=9,
)
ANSWER = protocol.Answer(
    text='{"a": 1}', usage=protocol.Usage(tokens_in=3, tokens_out=4), model="m", finish_reason="stop", cost_nanousd=77
)


def ask(one: protocol.Provider, asked: protocol.Request = REQUEST) -> tuple[protocol.Answer, list[str]]:
    heard: list[str] = []
    return asyncio.run(one.complete(asked, heard.append)), heard


def test_what_was_recorded_is_given_back_exactly_and_costs_nothing(tmp_path: Path) -> None:
    model = scripted.Scripted([ANSWER])
    first = ask(recorded.Recorded(tmp_path / "kept", model))
    again = ask(recorded.Recorded(tmp_path / "kept"))
    assert first == (ANSWER, [ANSWER.text])
    assert again == (replace(ANSWER, cost_nanousd=0), [ANSWER.text])
    assert len(model.asked) == 1
    assert [path.name for path in (tmp_path / "kept").iterdir()] == [f"{recorded.digest(REQUEST)}.json"]


def test_who_asks_does_not_matter_but_what_is_asked_does() -> None:
    same = replace(REQUEST, node="other", parameters={"temperature": 0.5, "expert": "x", "provider": "y"})
    assert recorded.digest(same) == recorded.digest(REQUEST)
    others = [
        replace(REQUEST, messages=(protocol.Message(role="user", text="Wasps."),)),
        replace(REQUEST, messages=(protocol.Message(role="system", text="Bees."),)),
        replace(REQUEST, schema=None),
        replace(REQUEST, parameters={"temperature": 0.6}),
        replace(REQUEST, max_tokens=10),
    ]
    assert len({recorded.digest(one) for one in [REQUEST, *others]}) == 6


def test_a_missing_recording_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(errors.AttemptFailed) as caught:
        ask(recorded.Recorded(tmp_path))
    assert (caught.value.code, caught.value.retryable) == ("RECORDING_MISSING", False)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("text", ["", "{}", '{"version": 2, "answer": {}}', "[1]", "\0"])
def test_a_broken_recording_is_an_error(text: str, tmp_path: Path) -> None:
    (tmp_path / f"{recorded.digest(REQUEST)}.json").write_text(text)
    with pytest.raises(errors.AttemptFailed) as caught:
        ask(recorded.Recorded(tmp_path, scripted.Scripted([ANSWER])))
    assert (caught.value.code, caught.value.retryable) == ("RECORDING_INVALID", False)


def test_a_folder_that_no_file_system_takes_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(errors.AttemptFailed) as caught:
        ask(recorded.Recorded(tmp_path / ("x" * 300), scripted.Scripted([ANSWER])))
    assert (caught.value.code, caught.value.retryable) == ("RECORDING_INVALID", False)


def test_a_failure_is_not_recorded(tmp_path: Path) -> None:
    model = scripted.Scripted([errors.AttemptFailed("no", code="PROVIDER_UNAVAILABLE"), ANSWER])
    one = recorded.Recorded(tmp_path, model)
    with pytest.raises(errors.AttemptFailed):
        ask(one)
    assert ask(one)[0] == ANSWER


def test_an_answer_that_cannot_be_kept_was_paid_for(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    one = recorded.Recorded(tmp_path / "file" / "kept", scripted.Scripted([ANSWER]))
    with pytest.raises(protocol.BrokenAnswer) as caught:
        ask(one)
    assert (caught.value.code, caught.value.retryable) == ("RECORDING_INVALID", False)
    assert caught.value.answer == ANSWER


def test_what_is_recorded_waits_for_the_turn_of_whom_it_is_asked(tmp_path: Path) -> None:
    gates = [threading.Event() for _ in range(2)]
    script = [loopback.Say(text='{"a": 1}', may_go_on=gate) for gate in gates]
    with loopback.Loopback(openai_chat.OpenAI(), script).running() as server:
        real = config.ProviderConfig(
            name="real", kind="openai", base_url=server.base_url, api_key="${env:KEY}", model="m", concurrency=1
        )
        kept = config.ProviderConfig(name="kept", kind="recorded", recordings="kept", record="real")
        experts = {"e": config.ExpertConfig(name="e", provider="kept")}
        models = config.Config(providers={"real": real, "kept": kept}, experts=experts, default_expert="e")

        async def two() -> int:
            one = router.Router(models, root=tmp_path, environment={"KEY": loopback.KEY})
            heard: list[str] = []
            asked = [replace(REQUEST, max_tokens=most) for most in (9, 10)]
            tasks = [asyncio.create_task(one.complete(each, heard.append)) for each in asked]
            async with asyncio.timeout(120):
                while not heard:  # noqa: ASYNC110 -- the pieces come one by one
                    await asyncio.sleep(0.01)
                await asyncio.sleep(0.1)
                under_way = len(server.asked)
                for gate in gates:
                    gate.set()
                await asyncio.gather(*tasks)
            await one.close()
            return under_way

        assert asyncio.run(two()) == 1
    assert len(server.asked) == 2


def test_a_project_records_from_one_of_its_providers(tmp_path: Path) -> None:
    server = loopback.Loopback(openai_chat.OpenAI(), [loopback.Say(text='{"a": 1}')])
    with server.running():
        real = config.ProviderConfig(
            name="real",
            kind="openai",
            base_url=server.base_url,
            api_key="${env:KEY}",
            model="m",
            prices=config.Prices(input_usd_per_mtok=1, output_usd_per_mtok=1),
        )
        kept = config.ProviderConfig(name="kept", kind="recorded", recordings="kept", record="real")
        models = config.Config(
            providers={"real": real, "kept": kept},
            experts={"e": config.ExpertConfig(name="e", provider="kept")},
            default_expert="e",
        )

        async def twice() -> list[protocol.Answer]:
            one = router.Router(models, root=tmp_path, environment={"KEY": loopback.KEY})
            answers = [await one.complete(REQUEST, lambda _: None) for _ in range(2)]
            await one.close()
            return answers

        first, second = asyncio.run(twice())
    assert first.cost_nanousd == 16_000
    assert second == replace(first, cost_nanousd=0)
    assert len(server.asked) == 1
