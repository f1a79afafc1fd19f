"""Runs that ask models: repairs, stops, caches, budgets, and what is kept of every question."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import cast

import pytest

import openskelo
from openskelo import errors
from openskelo.executors.ai import prompt
from openskelo.executors.attempt import running_attempt
from openskelo.history import verify
from openskelo.kernel.json import Json, JsonObject
from openskelo.providers import config, protocol, scripted
from openskelo.providers.kinds import recorded
from openskelo.stores import memory
from openskelo.structs import replace
from tests.engine import stage
from tests.providers.servers import loopback, openai_chat

TEXT: dict[str, Json] = {"text": "string"}


@asynccontextmanager
async def engine(
    root: Path, provider: protocol.Provider | None, store: memory.MemoryStore | None = None, **more: object
) -> AsyncGenerator[openskelo.Engine]:
    """An engine over `root` that asks `provider`; every run that it leaves behind must verify."""
    project = openskelo.Project(root=root, data_dir=root / ".skelo")
    project = replace(project, **more)
    async with await openskelo.Engine.open(project, store=store, provider=provider) as opened:
        yield opened
        for row in await opened.store.list_runs():
            proof = await verify.verify_run(opened.store, row.run_id)
            assert proof.intact, proof.problems


def ask(key: str = "ask", **fields: Json) -> dict[str, Json]:
    return {"id": key, "prompt": "Say something.", "outputs": TEXT, **fields}


async def kept(engine: openskelo.Engine, run_id: str) -> dict[tuple[str, int, str], str]:
    """Every artifact of a run: node, attempt and name, with its text."""
    found: dict[tuple[str, int, str], str] = {}
    async for event in engine.follow(run_id, until_end=False):
        if event["type"] == "artifact.created":
            data = cast("JsonObject", event["data"])
            artifact = cast("JsonObject", data["artifact"])
            text = (await engine.store.read_blob(cast("str", artifact["hash"]))).decode()
            found[str(data["node"]), cast("int", data["attempt"]), str(artifact["name"])] = text
    return found


class Endless:
    """Begins an answer and never ends it. `stopped` counts how often it was told to."""

    def __init__(self) -> None:
        self.begun = asyncio.Event()
        self.stopped = 0
        self.requests: list[protocol.Request] = []

    async def complete(self, request: protocol.Request, on_text: Callable[[str], None]) -> protocol.Answer:
        self.requests.append(request)
        on_text('{"text": "Once')
        on_text(" upon")
        self.begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.stopped += 1
        raise AssertionError


def test_a_broken_answer_is_repaired_in_an_attempt_of_its_own(tmp_path: Path) -> None:
    async def story() -> None:
        provider = scripted.Scripted(["no json", {"text": 3}, {"text": "good"}])
        async with engine(tmp_path, provider) as opened:
            run_id = await opened.start(stage.workflow(ask(contract_repair_attempts=2)))
            done = await opened.wait(run_id)
            assert (done["ending"], done["outputs"]) == ("ok", {"text": "good"})
            assert stage.node(done, "ask")["attempts"] == 3
            assert [len(asked.messages) for asked in provider.asked] == [2, 4, 4]
            assert provider.asked[1].messages[2].text == "no json"
            assert "- output 'text': the value is not of type \"string\"" in provider.asked[2].messages[3].text
            names = {(number, name) for _, number, name in await kept(opened, run_id)}
            prompts = {(number, name) for number in (1, 2, 3) for name in ("prompt.full.txt", "prompt.blocks.json")}
            assert names == prompts | {(1, "answer.refused.txt"), (2, "answer.refused.txt")}
            types = await stage.types(opened, run_id)
            assert (types.count("attempt.started"), types.count("attempt.failed")) == (3, 2)

    stage.play(story)


def test_an_answer_that_was_cut_is_asked_for_again(tmp_path: Path) -> None:
    async def story() -> None:
        cut = protocol.Answer(text='{"text": "and so', finish_reason="length", usage=protocol.Usage(tokens_out=200))
        async with engine(tmp_path, scripted.Scripted([cut, {"text": "good"}])) as opened:
            run_id = await opened.start(stage.workflow(ask()))
            done = await opened.wait(run_id)
            assert (done["ending"], done["outputs"]) == ("ok", {"text": "good"})
            receipts = cast("list[JsonObject]", (await opened.history.receipts(run_id))["receipts"])
            assert [(receipt["attempt"], receipt["status"]) for receipt in receipts] == [
                (1, "failed"),
                (2, "succeeded"),
            ]

    stage.play(story)


def test_repairs_end_and_the_run_fails(tmp_path: Path) -> None:
    async def story() -> None:
        provider = scripted.Scripted([{"text": 1}, {"text": 2}, {"text": "too late"}])
        async with engine(tmp_path, provider) as opened:
            done = await opened.wait(await opened.start(stage.workflow(ask())))
            assert (done["ending"], len(provider.asked)) == ("failed", 2)
            assert stage.error(done)["code"] == "OUTPUT_CONTRACT"
            assert cast("JsonObject", cast("JsonObject", done["budget"])["tokens"])["used"] != 0

    stage.play(story)


def test_a_rate_limit_is_waited_for(tmp_path: Path) -> None:
    async def story() -> None:
        busy = errors.AttemptFailed("slow down", code="PROVIDER_RATE_LIMITED", retry_after_ms=150)
        provider = scripted.Scripted([busy, {"text": "good"}])
        async with engine(tmp_path, provider) as opened:
            began = asyncio.get_running_loop().time()
            done = await opened.wait(await opened.start(stage.workflow(ask(retry={"max_attempts": 2}))))
            assert done["ending"] == "ok"
            assert asyncio.get_running_loop().time() - began >= 0.15
            assert provider.asked[0].messages == provider.asked[1].messages

    stage.play(story)


def test_cancelling_stops_the_answer_and_keeps_what_was_heard(tmp_path: Path) -> None:
    async def story() -> None:
        provider = Endless()
        async with engine(tmp_path, provider) as opened:
            run_id = await opened.start(stage.workflow(ask()))
            await provider.begun.wait()
            await opened.cancel(run_id, by="ann")
            done = await opened.wait(run_id)
            await asyncio.sleep(0)
            assert (done["ending"], provider.stopped) == ("cancelled", 1)
            found = await kept(opened, run_id)
            assert found["ask", 1, "answer.partial.txt"] == '{"text": "Once upon'
            assert ("ask", 1, "prompt.full.txt") in found

    stage.play(story)


class Dear(Endless):
    """As `Endless`, at a billionth of a dollar a token."""

    def plan(self, request: protocol.Request) -> tuple[protocol.Route, ...]:
        return (protocol.Route(request=request),)

    def cost(self, route: protocol.Route, usage: protocol.Usage) -> int:
        return usage.tokens_in + usage.tokens_out


async def used(opened: openskelo.Engine, run_id: str) -> list[JsonObject]:
    """What the attempts of a run have used, by their receipts and facts, and then the run by its document."""
    found: list[JsonObject] = []
    async for event in opened.follow(run_id, until_end=False):
        data = cast("JsonObject", event["data"])
        if "receipt" in data:
            metrics = cast("dict[str, int]", cast("JsonObject", data["receipt"])["metrics"])
            spent = cast("dict[str, int]", data.get("spent") or {})
            tokens = metrics["tokens_in"] + metrics["tokens_out"]
            found.append({"type": event["type"], "tokens": tokens, "cost": spent.get("costNanousd", 0) / 1e9})
    budget = cast("dict[str, JsonObject]", (await opened.show(run_id))["budget"])
    return [*found, {"type": "run", "tokens": budget["tokens"]["used"], "cost": budget["costUsd"]["used"]}]


@pytest.mark.parametrize("way", ["cancel", "suspend"])
def test_an_answer_that_is_stopped_is_counted_without_a_budget_too(tmp_path: Path, way: str) -> None:
    async def story() -> None:
        provider = Dear()
        async with engine(tmp_path, provider) as opened:
            run_id = await opened.start(stage.workflow(ask()))
            await provider.begun.wait()
            if way == "cancel":
                await opened.cancel(run_id, by="ann")
                await opened.wait(run_id)
            else:
                await opened.suspend(by="ann")
            request = provider.requests[0]
            taken = protocol.estimate_usage(request, '{"text": "Once upon')
            tokens = taken.tokens_in + taken.tokens_out
            kind = "attempt.cancelled" if way == "cancel" else "attempt.interrupted"
            assert tokens > 10
            assert await used(opened, run_id) == [
                {"type": kind, "tokens": tokens, "cost": tokens / 1e9},
                {"type": "run", "tokens": tokens, "cost": tokens / 1e9},
            ]

    stage.play(story)


def test_what_was_answered_before_the_stop_is_counted_as_it_was_reported(tmp_path: Path) -> None:
    """The answer of the block was there and paid for; the run is cancelled while a model reviews it."""

    async def story() -> None:
        endless = Endless()

        class Reviewed:
            async def complete(self, request: protocol.Request, on_text: Callable[[str], None]) -> protocol.Answer:
                if request.node == "ask":
                    usage = protocol.Usage(tokens_in=1000, tokens_out=500)
                    return protocol.Answer(text='{"text": "good"}', usage=usage, cost_nanousd=70)
                return await endless.complete(request, on_text)

        review: dict[str, Json] = {"name": "fine", "type": "llm_review", "port": "text", "criteria": ["is fine"]}
        async with engine(tmp_path, Reviewed()) as opened:
            run_id = await opened.start(stage.workflow(ask(post_gates=[review])))
            await endless.begun.wait()
            await opened.cancel(run_id, by="ann")
            await opened.wait(run_id)
            asked = protocol.estimate_usage(endless.requests[0], "").tokens_in
            assert await used(opened, run_id) == [
                {"type": "attempt.cancelled", "tokens": 1500 + asked, "cost": 70e-9},
                {"type": "run", "tokens": 1500 + asked, "cost": 70e-9},
            ]

    stage.play(story)


def test_a_question_that_waits_for_its_turn_has_taken_nothing(tmp_path: Path) -> None:
    async def story() -> None:
        waiting = asyncio.Event()

        class Crowded:
            async def complete(self, request: protocol.Request, on_text: Callable[[str], None]) -> protocol.Answer:
                cast("protocol.QueueListener", on_text).on_queued()
                waiting.set()
                await asyncio.Event().wait()
                raise AssertionError

        async with engine(tmp_path, Crowded()) as opened:
            run_id = await opened.start(stage.workflow(ask()))
            await waiting.wait()
            await opened.cancel(run_id, by="ann")
            await opened.wait(run_id)
            assert [one["tokens"] for one in await used(opened, run_id)] == [0, 0]

    stage.play(story)


def test_the_failure_of_another_block_keeps_what_was_heard_too(tmp_path: Path) -> None:
    async def story() -> None:
        provider = Endless()

        class Both:
            async def complete(self, request: protocol.Request, on_text: Callable[[str], None]) -> protocol.Answer:
                if request.node == "ask":
                    return await provider.complete(request, on_text)
                await provider.begun.wait()
                raise errors.AttemptFailed("no", code="PROVIDER_REFUSED", retryable=False)

        async with engine(tmp_path, Both()) as opened:
            run_id = await opened.start(stage.workflow(ask(), ask("other")))
            done = await opened.wait(run_id)
            assert (done["ending"], stage.error(done)["code"]) == ("failed", "PROVIDER_REFUSED")
            assert (await kept(opened, run_id))["ask", 1, "answer.partial.txt"] == '{"text": "Once upon'

    stage.play(story)


def test_a_suspended_answer_is_kept_and_asked_for_again(tmp_path: Path) -> None:
    async def story() -> None:
        provider = Endless()
        async with engine(tmp_path, provider) as first:
            run_id = await first.start(stage.workflow(ask()))
            await provider.begun.wait()
            await first.suspend(by="ann")
            assert (await kept(first, run_id))["ask", 1, "answer.partial.txt"] == '{"text": "Once upon'
            assert provider.stopped == 1
        async with engine(tmp_path, scripted.Scripted([{"text": "whole"}])) as opened:
            await opened.resume(run_id)
            done = await opened.wait(run_id)
            assert (done["ending"], done["outputs"]) == ("ok", {"text": "whole"})

    stage.play(story)


def test_listeners_hear_what_models_say(tmp_path: Path) -> None:
    async def story() -> None:
        heard: list[tuple[str, str]] = []
        provider = scripted.Scripted([{"text": "a"}, {"text": "b"}])

        def listen(request: running_attempt.AttemptRequest, text: str) -> None:
            heard.append((request.node.key, text))

        async with engine(tmp_path, provider) as opened:
            stop = opened.listen(listen)
            await opened.wait(await opened.start(stage.workflow(ask())))
            stop()
            await opened.wait(await opened.start(stage.workflow(ask())))
        assert heard == [("ask", '{"text":"a"}')]

    stage.play(story)


@pytest.mark.parametrize(
    ("change", "asked"),
    [
        ({}, 1),
        ({"retry": {"max_attempts": 3}, "timeout_ms": 9000, "estimate": {"tokens": 9}}, 1),
        ({"prompt": "Say something else."}, 2),
        ({"temperature": 0.5}, 2),
        ({"expert": "other"}, 2),
        ({"outputs": {"text": {"type": "string", "maxLength": 9}}}, 2),
        ({"description": "In French."}, 2),
    ],
)
def test_the_same_question_is_answered_from_the_log(tmp_path: Path, change: dict[str, Json], asked: int) -> None:
    async def story() -> None:
        provider = scripted.Scripted([{"text": "one"}, {"text": "two"}])
        async with engine(tmp_path, provider) as opened:
            await opened.wait(await opened.start(stage.workflow(ask(cache=True))))
            done = await opened.wait(await opened.start(stage.workflow({**ask(cache=True), **change})))
            assert done["outputs"] == {"text": "one" if asked == 1 else "two"}
            assert len(provider.asked) == asked

    stage.play(story)


def test_a_prompt_about_its_run_is_asked_in_every_run(tmp_path: Path) -> None:
    async def story() -> None:
        provider = scripted.Scripted([{"text": "one"}, {"text": "two"}])
        flow = stage.workflow(ask(cache=True, prompt="Run {{ run.id }}"))
        async with engine(tmp_path, provider) as opened:
            for _ in range(2):
                await opened.wait(await opened.start(flow))
        assert len(provider.asked) == 2

    stage.play(story)


def test_work_that_is_sent_back_is_not_answered_from_the_cache(tmp_path: Path) -> None:
    async def story() -> None:
        provider = scripted.Scripted(
            {"ask": [{"text": "bad"}, {"text": "good"}], "check": [{"text": "bad"}, {"text": "good"}]}
        )
        check = ask(
            "check",
            inputs={"text": {"type": "string", "from": "ask.text"}},
            post_gates=[{"name": "fine", "type": "expr", "expression": "outputs.text == 'good'"}],
            on_gate_fail=[{"when_gate": "fine", "route_to": "ask", "max_bounces": 1}],
        )
        async with engine(tmp_path, provider) as opened:
            done = await opened.wait(await opened.start(stage.workflow(ask(cache=True), check)))
            assert (done["ending"], done["outputs"]) == ("ok", {"text": "good"})
            assert [request.node for request in provider.asked] == ["ask", "check", "ask", "check"]
            assert "An earlier answer was refused." in provider.asked[2].messages[1].text

    stage.play(story)


def test_work_that_is_sent_back_and_fails_on_the_way_knows_why_and_leaves_nothing_to_the_cache(tmp_path: Path) -> None:
    async def story() -> None:
        slow = errors.AttemptFailed("slow down", code="PROVIDER_RATE_LIMITED")
        asked: list[scripted.Script] = [{"text": "bad"}, slow, {"no": 1}, {"text": "good"}]
        check = ask(
            "check",
            inputs={"text": {"type": "string", "from": "ask.text"}},
            post_gates=[{"name": "fine", "type": "expr", "expression": "outputs.text != 'bad'", "error": "Be good."}],
            on_gate_fail=[{"when_gate": "fine", "route_to": "ask", "max_bounces": 1}],
        )
        provider = scripted.Scripted({"ask": asked, "check": [{"text": "bad"}, {"text": "good"}, {"text": "good"}]})
        flow = stage.workflow(ask(cache=True, retry={"max_attempts": 2}), check)
        async with engine(tmp_path, provider) as opened:
            done = await opened.wait(await opened.start(flow))
            assert done["ending"] == "ok"
            prompts = [prompt.text(request.messages) for request in provider.asked if request.node == "ask"]
            assert ["Be good." in one for one in prompts] == [False, True, True, True]
            again = await opened.wait(await opened.start(flow))
            nodes = cast("dict[str, JsonObject]", again["nodes"])
            assert nodes["ask"]["outputs"] == {"text": "bad"}  # what its inputs alone ask for

    stage.play(story)


def test_what_a_review_takes_counts_and_its_question_is_kept(tmp_path: Path) -> None:
    async def story() -> None:
        verdicts = '{"verdicts": [{"criterion": 1, "passed": true, "reason": "yes"}]}'
        used = protocol.Usage(tokens_in=100, tokens_out=10)
        provider = scripted.Scripted(
            {
                "ask": [protocol.Answer(text='{"text": "a"}', usage=used, cost_nanousd=5)],
                "ask:review": [protocol.Answer(text=verdicts, usage=used, cost_nanousd=7)],
            }
        )
        gate: Json = {"name": "review", "type": "llm_review", "port": "text", "criteria": ["Says something."]}
        async with engine(tmp_path, provider) as opened:
            run_id = await opened.start(stage.workflow(ask(post_gates=[gate])))
            done = await opened.wait(run_id)
            budget = cast("dict[str, JsonObject]", done["budget"])
            assert done["ending"] == "ok"
            assert (budget["tokens"]["used"], budget["costUsd"]["used"]) == (220, 12e-9)
            assert "1. Says something." in (await kept(opened, run_id))["ask", 1, "review.review.prompt.txt"]

    stage.play(story)


def test_a_budget_is_reserved_before_the_question(tmp_path: Path) -> None:
    async def story() -> None:
        provider = scripted.Scripted([{"text": "a"}])
        flow = stage.workflow(ask(max_tokens=500), budgets={"max_tokens": 499})
        async with engine(tmp_path, provider) as opened:
            done = await opened.wait(await opened.start(flow))
            assert (done["ending"], provider.asked) == ("budget_exceeded", [])

    stage.play(story)


@pytest.mark.parametrize("reviewed", [False, True])
def test_a_prompt_that_is_longer_than_the_budget_is_not_sent(tmp_path: Path, reviewed: bool) -> None:
    async def story() -> None:
        long = "word " * 4_000
        provider = scripted.Scripted({"ask": [{"text": long if reviewed else "a"}], "ask:review": ["{}"]})
        gate: Json = {"name": "review", "type": "llm_review", "port": "text", "criteria": ["Is short."]}
        flow = stage.workflow(
            ask(
                inputs={"topic": {"type": "string", "from": "inputs.topic"}},
                max_tokens=50,
                retry={"max_attempts": 3},
                post_gates=[gate] if reviewed else [],
            ),
            inputs={"topic": "string"},
            budgets={"max_tokens": 7_000 if reviewed else 3_000},
        )
        async with engine(tmp_path, provider) as opened:
            run_id = await opened.start(flow, {"topic": "bees" if reviewed else long})
            done = await opened.wait(run_id)
            assert (done["ending"], [one.node for one in provider.asked]) == (
                "budget_exceeded",
                ["ask"] if reviewed else [],
            )
            assert "max_tokens is" in str(stage.error(done)["message"])
            made = cast("list[JsonObject]", (await opened.receipts(run_id))["receipts"])
            assert [one["status"] for one in made] == ["failed"]

    stage.play(story)


class Crowd:
    """Answers when told to; every answer took `taken` tokens. `most` is how many it was giving at once."""

    def __init__(self, taken: int) -> None:
        self._taken = taken
        self.may_answer = asyncio.Event()
        self.asked = self.now = self.most = 0

    async def complete(self, request: protocol.Request, on_text: Callable[[str], None]) -> protocol.Answer:
        self.asked += 1
        self.now += 1
        self.most = max(self.most, self.now)
        await self.may_answer.wait()
        self.now -= 1
        return protocol.Answer(text='{"text": "good"}', usage=protocol.Usage(tokens_in=self._taken))


@pytest.mark.parametrize(
    ("budget", "taken", "ending", "asked", "most"),
    [
        (6_000, 4_000, "budget_exceeded", 1, 1),  # a second one would pass the limit
        (9_000, 4_000, "budget_exceeded", 2, 2),
        (9_000, 10, "ok", 3, 2),  # the third waits until it is known how little the others took
        (20_000, 4_000, "ok", 3, 3),
    ],
)
def test_prompts_that_are_longer_than_was_reserved_do_not_pass_the_limit_together(
    tmp_path: Path, budget: int, taken: int, ending: str, asked: int, most: int
) -> None:
    async def story() -> None:
        provider = Crowd(taken)
        topic: Json = {"topic": {"type": "string", "from": "inputs.topic"}}
        blocks = [ask(key, inputs=topic, max_tokens=50, timeout_ms=5_000) for key in ("a", "b", "c")]
        flow = stage.workflow(*blocks, inputs={"topic": "string"}, budgets={"max_tokens": budget})
        async with engine(tmp_path, provider) as opened:
            run_id = await opened.start(flow, {"topic": "word " * 4_000})
            while provider.now < most:  # noqa: ASYNC110 -- the provider counts, and tells nobody
                await asyncio.sleep(0.01)
            await asyncio.sleep(0.1)  # one more would be asked by now
            provider.may_answer.set()
            done = await opened.wait(run_id)
            used = cast("dict[str, JsonObject]", done["budget"])["tokens"]["used"]
            assert (done["ending"], provider.asked, provider.most) == (ending, asked, most)
            assert cast("int", used) <= budget

    stage.play(story)


def test_a_workflow_whose_models_are_missing_is_not_started(tmp_path: Path) -> None:
    gone = config.ProviderConfig(name="gone", kind="recorded", recordings="nowhere")
    models = config.Config(providers={"gone": gone}, experts={"x": config.ExpertConfig(name="x", provider="gone")})
    gate: Json = {"type": "llm_review", "port": "text", "criteria": ["Says something."], "expert": "x"}

    async def story() -> None:
        code = stage.block("code", inputs=TEXT, outputs=TEXT, post_gates=[gate])
        for flow, given, expected in (
            (stage.workflow(ask()), None, "PROVIDER_MISSING"),
            (stage.workflow(ask(expert="y")), models, "EXPERT_UNKNOWN"),
            (stage.workflow(ask()), models, "EXPERT_MISSING"),
            (stage.workflow(ask(expert="x")), models, "PROVIDER_MISSING"),
            (stage.workflow(code), models, "PROVIDER_MISSING"),
        ):
            async with engine(tmp_path, None, memory.MemoryStore(), models=given) as opened:
                with pytest.raises(openskelo.InvalidInput) as refused:
                    await opened.start(flow, {"text": "a"} if flow.inputs else {})
                assert refused.value.code == expected
                assert await opened.store.list_runs() == []

    stage.play(story)


def test_a_run_whose_models_are_gone_is_left_as_it_was(tmp_path: Path) -> None:
    async def story() -> None:
        wait: Json = {"id": "wait", "mode": "approval", "approval": {"prompt": "Go on?"}}
        flow = stage.workflow(ask(), {**wait, "after": ["ask"]}, ask("again", after=["wait"]))
        async with engine(tmp_path, scripted.Scripted([{"text": "a"}])) as opened:
            run_id = await opened.start(flow)
            asked = stage.approvals(await opened.wait(run_id))[0]
        async with engine(tmp_path, None) as opened:
            for go_on in (opened.resume(run_id), opened.answer(str(asked["id"]), status="approved")):
                with pytest.raises(openskelo.InvalidInput, match="again needs a model"):
                    await go_on
            assert (await opened.show(run_id))["status"] == "paused"
        async with engine(tmp_path, scripted.Scripted([{"text": "b"}])) as opened:
            await opened.answer(str(asked["id"]), status="approved")
            assert (await opened.wait(run_id))["ending"] == "ok"

    stage.play(story)


class Remembering:
    """Answers with the model that it was asked for."""

    async def complete(self, request: protocol.Request, on_text: Callable[[str], None]) -> protocol.Answer:
        return protocol.Answer(
            text=f'{{"text": "{request.parameters["model"]} at {request.parameters["temperature"]}"}}'
        )


def test_a_run_asks_the_expert_it_was_started_with(tmp_path: Path) -> None:
    experts = "experts: {{writer: {{provider: kept, model: {model}, temperature: {warm}, max_tokens: 50}}}}\n"
    settings = "providers: {{kept: {{kind: recorded, recordings: said}}}}\n" + experts
    (tmp_path / "skelo.yaml").write_text(settings.format(model="old", warm=0.5))
    (tmp_path / "flow.yaml").write_text("blocks: [{id: ask, expert: writer, outputs: {text: string}}]\n")
    old = openskelo.load(tmp_path / "flow.yaml")
    (tmp_path / "skelo.yaml").write_text(settings.format(model="new", warm=0.7))
    new = openskelo.load(tmp_path / "flow.yaml")

    async def story() -> None:
        project = openskelo.project_at(tmp_path)
        assert project.models is not None
        async with await openskelo.Engine.open(project, provider=None) as opened:
            router = opened.performer.provider()
            assert router is not None
            recorder = recorded.Recorded(tmp_path / "said", Remembering())
            (tmp_path / "said").mkdir()
            for flow in (old, new):
                run_id = await opened.start(flow)
                failed = await opened.wait(run_id)
                assert stage.error(failed)["code"] == "RECORDING_MISSING"
                (way,) = protocol.plan(router, _request(flow))
                await recorder.complete(way.request, lambda _: None)
                done = await opened.wait(await opened.start(flow))
                model = "old at 0.5" if flow is old else "new at 0.7"
                assert (done["ending"], done["outputs"]) == ("ok", {"text": model})

    stage.play(story)
    assert old.hash != new.hash


def _request(flow: openskelo.Workflow) -> protocol.Request:
    """The question of the only node of `flow`."""
    from openskelo.executors.ai import model_call
    from openskelo.executors.attempt import port_contract, running_attempt

    node = flow.nodes["ask"]
    of = running_attempt.AttemptRequest(
        run_id="r",
        workflow_name=flow.name,
        node=node,
        visit=1,
        attempt=1,
        inputs={},
        now=0,
    )
    schema = port_contract.PortContract(node.outputs, "output", None).schema
    return model_call.make_request(
        node, prompt.PromptTemplate(node, schema).write(running_attempt.RunningAttempt(request=of, inputs={})), schema
    )


# -- a key that is not set --------------------------------------------------------------------------------------------

#: Starts a run whose model's server never answers.
KILLED = """
import asyncio, sys
from pathlib import Path
import openskelo
from tests.engine import stage
from tests.engine import test_models as story

async def main():
    async with await openskelo.Engine.open(story.keyed(Path(sys.argv[1]), sys.argv[2])) as engine:
        await engine.wait(await engine.start(stage.workflow(story.ask())))

asyncio.run(main())
"""


def keyed(root: Path, base_url: str) -> openskelo.Project:
    """A project whose one model needs the key in MODEL_KEY."""
    main = config.ProviderConfig(
        name="main", kind="openai", base_url=base_url, api_key="${env:MODEL_KEY}", model="m", timeout_ms=60_000
    )
    models = config.Config(
        providers={"main": main},
        experts={"main": config.ExpertConfig(name="main", provider="main")},
        default_expert="main",
    )
    return openskelo.Project(root=root, data_dir=root / ".skelo", models=models)


@pytest.mark.slow
def test_an_order_that_takes_up_a_killed_run_without_its_key_pauses_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reason = "PROVIDER_MISSING ask: main needs a key, and the environment variable MODEL_KEY is not set"

    async def story(base_url: str) -> None:
        monkeypatch.delenv("MODEL_KEY", raising=False)
        async with await openskelo.Engine.open(keyed(tmp_path, base_url)) as opened:
            (row,) = await opened.store.list_runs()
            await opened.change(row.run_id, mode="INTERACTIVE")
            document = await opened.wait(row.run_id)
            assert (document["status"], document["ending"]) == ("paused", None)
            assert str(document.get("pauseReason")).startswith(reason)
        monkeypatch.setenv("MODEL_KEY", loopback.KEY)
        async with await openskelo.Engine.open(keyed(tmp_path, base_url)) as opened:
            await opened.resume(row.run_id)
            document = await opened.wait(row.run_id)
            assert (document["ending"], document["outputs"]) == ("ok", {"text": "good"})
            assert (await verify.verify_run(opened.store, row.run_id)).intact

    release = threading.Event()
    acts = (loopback.Hang(release=release), loopback.Say(text='{"text": "good"}'))
    with loopback.Loopback(openai_chat.OpenAI(), acts).running() as server:
        monkeypatch.setenv("MODEL_KEY", loopback.KEY)
        with subprocess.Popen([sys.executable, "-c", KILLED, str(tmp_path), server.base_url]) as child:
            while not server.asked:
                time.sleep(0.02)
                assert child.poll() is None
            child.kill()
        release.set()
        stage.play(lambda: story(server.base_url))
        assert len(server.asked) == 2
