"""Runs whose reviewer cannot be asked: nothing is bounced, nothing stalls, and work that is done is not done again."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

import orjson
import pytest

import openskelo
from openskelo import errors
from openskelo.executors.handlers import invocation
from openskelo.handlers import context
from openskelo.history import verify
from openskelo.kernel.json import Json, JsonObject
from openskelo.providers import config, scripted
from openskelo.workflows import live_graph
from tests.engine import stage, test_models
from tests.providers.servers import loopback, openai_chat

REVIEW: dict[str, Json] = {"name": "kind", "type": "llm_review", "port": "text", "criteria": ["is kind"]}
TEXT: dict[str, Json] = {"text": "string"}
DOWN = loopback.Fail(status=500, message="out of order")
LIMITED = loopback.Fail(status=429, message="slow down", headers={"retry-after": "1"})
TRIED: dict[str, Json] = {"max_attempts": 3, "backoff": "none", "delay_ms": 1, "max_delay_ms": 200}


def verdict(passed: bool) -> loopback.Say:
    """The reviewer's answer."""
    said = {"verdicts": [{"criterion": 1, "passed": passed, "reason": "because"}]}
    return loopback.Say(text=orjson.dumps(said).decode())


def reviewed(*acts: loopback.Act) -> loopback.Loopback:
    return loopback.Loopback(openai_chat.OpenAI(), acts)


@asynccontextmanager
async def engine(
    root: Path, base_url: str, monkeypatch: pytest.MonkeyPatch, **handlers: invocation.Handler
) -> AsyncGenerator[openskelo.Engine]:
    """An engine whose one model is at `base_url`; every run that it leaves behind must verify."""
    monkeypatch.setenv("REVIEWER_KEY", loopback.KEY)
    reviewer = config.ProviderConfig(
        name="reviewer", kind="openai", base_url=base_url, api_key="${env:REVIEWER_KEY}", model="m", timeout_ms=2000
    )
    models = config.Config(
        providers={"reviewer": reviewer},
        experts={"judge": config.ExpertConfig(name="judge", provider="reviewer")},
        default_expert="judge",
    )
    project = openskelo.Project(root=root, data_dir=root / ".skelo", models=models)
    async with await openskelo.Engine.open(project, handlers=handlers) as opened:
        yield opened
        for row in await opened.store.list_runs():
            proof = await verify.verify_run(opened.store, row.run_id)
            assert proof.intact, proof.problems


class Worker:
    """A handler that counts how often it is called, and keeps what it was told."""

    def __init__(self, text: str = "hello") -> None:
        self.text = text
        self.told: list[Json] = []

    async def __call__(self, ctx: context.Context) -> JsonObject:
        self.told.append(ctx.feedback)
        return {"text": self.text}


def looping(**more: Json) -> openskelo.Workflow:
    """`draft`, and a `check` whose reviewer sends it back."""
    back: dict[str, Json] = {"when_gate": "kind", "route_to": "draft", "max_bounces": 2}
    return stage.workflow(
        stage.block("draft", outputs=TEXT),
        stage.block(
            "check",
            inputs={"text": {"type": "string", "from": "draft.text"}},
            outputs=TEXT,
            post_gates=[REVIEW],
            on_gate_fail=[back],
            **more,
        ),
    )


async def failed(opened: openskelo.Engine, run_id: str) -> list[dict[str, Any]]:
    """The data of a run's failed attempts."""
    facts = [event async for event in opened.follow(run_id, until_end=False)]
    return [cast("dict[str, Any]", fact["data"]) for fact in facts if fact["type"] == "attempt.failed"]


def test_a_reviewer_that_is_down_is_asked_again_and_nothing_bounces(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    draft, check = Worker(), Worker()

    async def story(base_url: str) -> None:
        async with engine(tmp_path, base_url, monkeypatch, draft=draft, check=check) as opened:
            began = asyncio.get_running_loop().time()
            run_id = await opened.start(looping(retry=TRIED))
            done = await opened.wait(run_id)
            assert (done["ending"], done["outputs"]) == ("ok", {"text": "hello"})
            assert asyncio.get_running_loop().time() - began >= 0.2  # as the server asked, up to the cap
            counted = [
                (stage.node(done, key)["visits"], stage.node(done, key)["attempts"]) for key in ("draft", "check")
            ]
            assert counted == [(1, 1), (1, 3)]
            assert "node.bounced" not in await stage.types(opened, run_id)
            first, second = await failed(opened, run_id)
            assert (first["error"]["code"], first["next"]) == ("PROVIDER_UNAVAILABLE", "retry")
            assert (second["error"]["code"], second["next"]) == ("PROVIDER_RATE_LIMITED", "retry")
            assert first["verdicts"][0]["passed"] is None

    with reviewed(DOWN, LIMITED, verdict(True)).running() as server:
        stage.play(lambda: story(server.base_url))
        assert len(server.asked) == 3
    assert (draft.told, check.told) == ([None], [None])  # the work was done once; only the review was tried again


def test_a_no_after_an_outage_sends_the_work_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    draft, check = Worker(), Worker()

    async def story(base_url: str) -> None:
        async with engine(tmp_path, base_url, monkeypatch, draft=draft, check=check) as opened:
            run_id = await opened.start(looping(retry=TRIED))
            done = await opened.wait(run_id)
            assert done["ending"] == "ok"
            assert [stage.node(done, key)["visits"] for key in ("draft", "check")] == [2, 2]
            assert (await stage.types(opened, run_id)).count("node.bounced") == 1

    with reviewed(DOWN, verdict(False), verdict(True)).running() as server:
        stage.play(lambda: story(server.base_url))
    told = cast("dict[str, Any]", draft.told[1])
    assert (told["from"], told["error"]["code"], told["bounce"]) == ("check", "POST_GATE_FAILED", 1)
    assert len(check.told) == 2  # once a visit


def test_a_reviewer_that_stays_down_ends_the_run_with_its_own_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is no loop that stalls, either: it says the same each time, but nothing about the work."""

    async def story(base_url: str) -> None:
        async with engine(tmp_path, base_url, monkeypatch, draft=Worker(), check=Worker()) as opened:
            run_id = await opened.start(looping(retry={**TRIED, "max_attempts": 5, "stall_after": 2}))
            done = await opened.wait(run_id)
            error = stage.error(done)
            assert (done["ending"], error["code"], error.get("node")) == ("failed", "PROVIDER_UNAVAILABLE", "check")
            assert str(error["message"]).startswith("gate 'kind': the reviewer could not be asked: reviewer: ")
            types = await stage.types(opened, run_id)
            assert (types.count("attempt.failed"), "node.bounced" in types, "run.stalled" in types) == (5, False, False)

    with reviewed(*[DOWN] * 5).running() as server:
        stage.play(lambda: story(server.base_url))


@pytest.mark.parametrize(("status", "code"), [(401, "PROVIDER_AUTH"), (404, "PROVIDER_BAD_REQUEST")])
def test_a_reviewer_that_is_set_up_wrong_fails_the_block_at_once_and_sends_nothing_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, status: int, code: str
) -> None:
    draft, check = Worker(), Worker()

    async def story(base_url: str) -> None:
        async with engine(tmp_path, base_url, monkeypatch, draft=draft, check=check) as opened:
            run_id = await opened.start(looping(retry=TRIED))
            done = await opened.wait(run_id)
            error = stage.error(done)
            assert (done["ending"], error["code"], error.get("node")) == ("failed", code, "check")
            (fact,) = await failed(opened, run_id)
            assert (fact["next"], fact["outputs"]) == ("fail", {"value": {"text": "hello"}})
            assert "node.bounced" not in await stage.types(opened, run_id)

    with reviewed(loopback.Fail(status=status)).running() as server:
        stage.play(lambda: story(server.base_url))
        assert len(server.asked) == 1
    assert (draft.told, check.told) == ([None], [None])


def test_a_reviewer_without_a_key_pauses_the_run_and_the_work_is_not_done_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    check = Worker()

    async def write(ctx: context.Context) -> JsonObject:
        monkeypatch.delenv("REVIEWER_KEY")
        return await check(ctx)

    one = stage.block("check", outputs=TEXT, effect="once", post_gates=[REVIEW], retry=TRIED)

    async def story(base_url: str) -> None:
        async with engine(tmp_path, base_url, monkeypatch, check=write) as opened:
            run_id = await opened.start(stage.workflow(one))
            paused = await opened.wait(run_id)
            assert (paused["status"], stage.approvals(paused)) == ("paused", [])
            assert str(paused.get("pauseReason")).startswith(
                "PROVIDER_MISSING check: gate 'kind': the reviewer could not"
            )
            monkeypatch.setenv("REVIEWER_KEY", loopback.KEY)
            await opened.resume(run_id)
            done = await opened.wait(run_id)
            assert (done["ending"], done["outputs"]) == ("ok", {"text": "hello"})

    with reviewed(verdict(True)).running() as server:
        stage.play(lambda: story(server.base_url))
        assert len(server.asked) == 1
    assert check.told == [None]


def test_before_the_work_it_is_waited_for_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check = Worker()
    one = stage.block("check", inputs=TEXT, outputs=TEXT, pre_gates=[REVIEW], retry=TRIED)

    async def story(base_url: str) -> None:
        async with engine(tmp_path, base_url, monkeypatch, check=check) as opened:
            done = await opened.wait(await opened.start(stage.workflow(one), {"text": "hi"}))
            assert (done["ending"], stage.node(done, "check")["attempts"]) == ("ok", 2)

    with reviewed(DOWN, verdict(True)).running() as server:
        stage.play(lambda: story(server.base_url))
    (told,) = cast("list[dict[str, Any]]", check.told)
    assert told["error"]["code"] == "PROVIDER_UNAVAILABLE"
    assert "the reviewer could not be asked" in told["error"]["message"]
    assert [one["passed"] for one in told["verdicts"]] == [None]


def test_a_models_answer_is_paid_for_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asks: dict[str, Json] = {
        "id": "write",
        "prompt": "Say something.",
        "outputs": TEXT,
        "post_gates": [REVIEW],
        "retry": TRIED,
        "cache": True,
    }

    async def story(base_url: str) -> None:
        async with engine(tmp_path, base_url, monkeypatch) as opened:
            run_id = await opened.start(stage.workflow(asks))
            done = await opened.wait(run_id)
            assert (done["ending"], done["outputs"]) == ("ok", {"text": "good"})
            tokens = cast("dict[str, JsonObject]", done["budget"])["tokens"]["used"]
            assert tokens == 2 * (11 + 5)  # one answer, one review; an outage costs nothing
            again = await opened.wait(await opened.start(stage.workflow(asks)))
            assert (again["ending"], again["outputs"]) == ("ok", {"text": "good"})  # from the cache

    answer = loopback.Say(text='{"text": "good"}')
    with reviewed(answer, DOWN, verdict(True)).running() as server:
        stage.play(lambda: story(server.base_url))
        assert len(server.asked) == 3


def test_what_nobody_has_judged_is_not_had_from_the_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check = Worker()
    one = stage.block("check", outputs=TEXT, post_gates=[REVIEW], cache=True)

    async def story(base_url: str) -> None:
        async with engine(tmp_path, base_url, monkeypatch, check=check) as opened:
            for ending in ("failed", "ok"):
                assert (await opened.wait(await opened.start(stage.workflow(one))))["ending"] == ending

    with reviewed(DOWN, verdict(True)).running() as server:
        stage.play(lambda: story(server.base_url))
    assert len(check.told) == 2


WRONG_KEY = loopback.Fail(status=401, message="wrong key")


@pytest.mark.parametrize("size", [10, 40_000])
@pytest.mark.parametrize("effect", ["pure", "once"])
def test_a_fork_from_the_block_has_its_work_judged_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, effect: str, size: int
) -> None:
    """The key was put right in between: the run has ended, so that it goes on as a fork."""
    draft, check = Worker(), Worker("x" * size)

    async def story(base_url: str) -> None:
        async with engine(tmp_path, base_url, monkeypatch, draft=draft, check=check) as opened:
            taken: dict[str, Json] = {"text": {"type": "string", "from": "draft.text"}}
            one = stage.block("check", inputs=taken, outputs=TEXT, post_gates=[REVIEW], effect=effect)
            run_id = await opened.start(stage.workflow(stage.block("draft", outputs=TEXT), one))
            assert (await opened.wait(run_id))["ending"] == "failed"
            forked = await opened.fork(run_id, node="check")
            done = await opened.wait(forked)
            assert (done["ending"], done["outputs"]) == ("ok", {"text": "x" * size})
            begun = (await stage.types(opened, forked))[:4]
            assert begun == ["run.created", "node.kept", "node.unjudged", "attempt.started"]

    with reviewed(WRONG_KEY, verdict(True)).running() as server:
        stage.play(lambda: story(server.base_url))
        assert len(server.asked) == 2
    assert (len(draft.told), len(check.told)) == (1, 1)


def test_a_no_to_what_a_fork_took_over_is_a_no(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    draft, check = Worker(), Worker()

    async def story(base_url: str) -> None:
        async with engine(tmp_path, base_url, monkeypatch, draft=draft, check=check) as opened:
            run_id = await opened.start(looping())
            assert (await opened.wait(run_id))["ending"] == "failed"
            done = await opened.wait(await opened.fork(run_id, node="check"))
            assert (done["ending"], stage.node(done, "check")["visits"]) == ("ok", 2)

    with reviewed(WRONG_KEY, verdict(False), verdict(True)).running() as server:
        stage.play(lambda: story(server.base_url))
    assert (len(draft.told), len(check.told)) == (2, 2)  # each once more, after the bounce


def one_block(**more: Json) -> openskelo.Workflow:
    return stage.workflow(stage.block("check", inputs=TEXT, outputs=TEXT, **{"post_gates": [REVIEW], **more}))


@pytest.mark.parametrize(
    ("changed", "times"),
    [
        ({}, 1),
        ({"inputs": {"text": "hi"}}, 2),
        ({"workflow": one_block(post_gates=[{**REVIEW, "criteria": ["is very kind"]}], retry=TRIED)}, 1),
        ({"workflow": one_block(deterministic={"handler": "local:check", "config": {"loudly": True}})}, 2),
        ({"workflow": one_block(post_gates=[REVIEW, {"type": "latency", "max_ms": 60_000}])}, 2),
        ({"workflow": one_block(approval={"prompt": "Go on?"})}, 2),
        ({"workflow": one_block(effect="pure")}, 2),
    ],
    ids=["as it was", "set", "another reviewer", "other work", "judges the doing", "a person first", "other effect"],
)
def test_a_fork_that_would_do_other_work_does_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, changed: dict[str, Any], times: int
) -> None:
    check = Worker()

    async def story(base_url: str) -> None:
        async with engine(tmp_path, base_url, monkeypatch, check=check) as opened:
            run_id = await opened.start(one_block(), {"text": "hi"})
            assert (await opened.wait(run_id))["ending"] == "failed"
            forked = await opened.fork(run_id, node="check", **changed)
            done = await opened.wait(forked)
            for asked in stage.approvals(done):
                await opened.answer(str(asked["id"]), status="approved")
                done = await opened.wait(forked)
            assert done["ending"] == "ok"

    with reviewed(WRONG_KEY, verdict(True)).running() as server:
        stage.play(lambda: story(server.base_url))
    assert len(check.told) == times


@pytest.mark.parametrize(("changed", "times"), [(False, 1), (True, 2)], ids=["as it was", "changed inside"])
def test_what_another_file_gave_is_judged_alone_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, changed: bool, times: int
) -> None:
    """The gate stands at the end of a block that `uses` a file."""
    draft = Worker()

    def written(config: str) -> openskelo.Workflow:
        inner = f"{{id: draft, mode: deterministic, outputs: {{text: string}}, deterministic: {{{config}}}}}"
        (tmp_path / "inner.yaml").write_text(f"name: inner\nblocks: [{inner}]\n")
        outer = {"name": "outer", "blocks": [{"id": "all", "uses": "./inner.yaml", "post_gates": [REVIEW]}]}
        (tmp_path / "outer.yaml").write_text(orjson.dumps(outer).decode())
        return openskelo.load(tmp_path / "outer.yaml")

    async def story(base_url: str) -> None:
        named = f'providers: {{reviewer: {{kind: openai, base_url: "{base_url}", model: m}}}}'
        (tmp_path / "skelo.yaml").write_text(f"{named}\nexperts: {{judge: {{provider: reviewer}}}}\n")
        async with engine(tmp_path, base_url, monkeypatch, draft=draft) as opened:
            run_id = await opened.start(written("handler: 'local:draft'"))
            assert (await opened.wait(run_id))["ending"] == "failed"
            other = written("handler: 'local:draft', config: {loudly: true}") if changed else None
            done = await opened.wait(await opened.fork(run_id, node="all", workflow=other))
            assert (done["ending"], done["outputs"]) == ("ok", {"text": "hello"})

    with reviewed(WRONG_KEY, verdict(True)).running() as server:
        stage.play(lambda: story(server.base_url))
    assert len(draft.told) == times


def test_a_fork_without_the_cache_does_the_work_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check = Worker()

    async def story(base_url: str) -> None:
        async with engine(tmp_path, base_url, monkeypatch, check=check) as opened:
            run_id = await opened.start(one_block(), {"text": "hi"})
            assert (await opened.wait(run_id))["ending"] == "failed"
            handlers = {"check": check}
            async with await openskelo.Engine.open(opened.project, handlers=handlers, cache=False) as anew:
                assert (await anew.wait(await anew.fork(run_id, node="check")))["ending"] == "ok"

    with reviewed(WRONG_KEY, verdict(True)).running() as server:
        stage.play(lambda: story(server.base_url))
    assert len(check.told) == 2


@pytest.mark.parametrize("size", [10, 40_000])
@pytest.mark.parametrize("effect", ["pure", "once"])
def test_another_engine_goes_on_with_the_review_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, effect: str, size: int
) -> None:
    """What waits for its verdict is in the log: inline, or as a blob."""
    first, second = Worker("x" * size), Worker("other")
    slowly: dict[str, Json] = {"max_attempts": 2, "backoff": "none", "delay_ms": 600}
    one = stage.block("check", outputs=TEXT, post_gates=[REVIEW], retry=slowly, effect=effect)

    async def story(base_url: str) -> None:
        async with engine(tmp_path, base_url, monkeypatch, check=first) as opened:
            run_id = await opened.start(stage.workflow(one))
            while "attempt.failed" not in await stage.types(opened, run_id):  # noqa: ASYNC110 -- a log
                await asyncio.sleep(0.01)
            await opened.suspend(by="ann")
        async with engine(tmp_path, base_url, monkeypatch, check=second) as opened:
            await opened.resume(run_id)
            done = await opened.wait(run_id)
            assert (done["ending"], done["outputs"]) == ("ok", {"text": "x" * size})

    with reviewed(DOWN, verdict(True)).running() as server:
        stage.play(lambda: story(server.base_url))
    assert (len(first.told), len(second.told)) == (1, 0)


def test_a_replay_does_the_work_and_not_only_the_review(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = tmp_path / "said.py"
    source.write_text("def handler(ctx):\n    return {'text': 'hello'}\n")
    one = stage.block(
        "check",
        outputs=TEXT,
        post_gates=[REVIEW],
        retry=TRIED,
        effect="pure",
        deterministic={"handler": "said.py"},
    )

    async def story(base_url: str) -> None:
        async with engine(tmp_path, base_url, monkeypatch) as opened:
            named = f'providers: {{reviewer: {{kind: openai, base_url: "{base_url}", model: m}}}}'
            (tmp_path / "skelo.yaml").write_text(f"{named}\nexperts: {{judge: {{provider: reviewer}}}}\n")
            flow = openskelo.from_document(
                {"name": "staged", "blocks": [{**one, "post_gates": [{**REVIEW, "expert": "judge"}]}]}, root=tmp_path
            )
            run_id = await opened.start(flow)
            assert (await opened.wait(run_id))["ending"] == "ok"
            assert await replayed(opened, run_id) == ["unchecked", "same"]
        source.write_text("def handler(ctx):\n    return {'text': 'changed'}\n")
        async with engine(tmp_path, base_url, monkeypatch) as opened:
            assert await replayed(opened, run_id) == ["unchecked", "different"]

    with reviewed(DOWN, verdict(True)).running() as server:
        stage.play(lambda: story(server.base_url))


async def replayed(opened: openskelo.Engine, run_id: str) -> list[Json]:
    """How each attempt of a run came out when it was replayed."""
    report = await opened.replay(run_id)
    return [step.result for step in report.steps]


def test_a_turn_of_a_live_graph_is_taken_again(tmp_path: Path) -> None:
    """Its answer also says where it goes, which is not kept; nobody is asked, and the graph goes on."""
    review: JsonObject = {**REVIEW, "port": "message"}
    down = errors.AttemptFailed("out of order", code="PROVIDER_UNAVAILABLE")
    said: JsonObject = {"verdicts": [{"criterion": 1, "passed": True, "reason": "because"}]}
    provider = scripted.Scripted({"ann": [{"message": "one"}, {"message": "two"}], "ann:kind": [down, said]})

    async def story() -> None:
        async with test_models.engine(tmp_path, provider) as opened:
            run_id = await opened.start(live_graph.empty("talk"))
            graph = opened.graph(run_id)
            key = await graph.add_node("Ann", config={"post_gates": [review], "retry": TRIED})
            await graph.say(key, "hello")
            done = await opened.wait(run_id)
            assert stage.node(done, key)["outputs"] == {"message": "two"}
            (fact,) = await failed(opened, run_id)
            assert (fact["error"]["code"], fact["next"], "outputs" in fact) == ("PROVIDER_UNAVAILABLE", "retry", False)

    stage.play(story)
    assert [asked.node for asked in provider.asked] == ["ann", "ann:kind", "ann", "ann:kind"]
