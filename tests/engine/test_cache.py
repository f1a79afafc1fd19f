"""Results of earlier runs are taken for the same work alone: the same code, and nobody who wants it done again."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import orjson
import pytest

import openskelo
from openskelo.kernel.json import Json, JsonObject
from tests.engine import stage

SCRIPT = '#!/bin/sh\necho \'{"said": "VALUE"}\'\n'
PLAIN = "def handler(ctx):\n    return {'said': 'VALUE'}\n"
IMPORTING = "from pack import words\n\n\ndef handler(ctx):\n    return {'said': words.said()}\n"


def write(root: Path, name: str, text: str) -> None:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)


def caching(root: Path, handler: str) -> openskelo.Workflow:
    work: JsonObject = {
        "id": "work",
        "mode": "deterministic",
        "deterministic": {"handler": handler},
        "outputs": {"said": "string"},
        "cache": True,
    }
    return openskelo.from_document({"name": "caching", "blocks": [work]}, root=root)


@pytest.mark.parametrize(
    ("handler", "unchanged", "name", "text"),
    [
        ("h/it.py", {}, "h/it.py", PLAIN),
        ("h/it.py", {}, "h/it.py", f"async {PLAIN}"),
        ("h/it.sh", {}, "h/it.sh", SCRIPT),
        (
            "h/it.py",
            {"h/it.py": IMPORTING, "pack/__init__.py": "", "pack/words.py": "from .most import said as said\n"},
            "pack/most.py",
            "def said():\n    return 'VALUE'\n",
        ),
    ],
)
def test_a_result_of_other_code_is_not_taken(
    tmp_path: Path, handler: str, unchanged: dict[str, str], name: str, text: str
) -> None:
    for other, content in unchanged.items():
        write(tmp_path, other, content)

    async def story() -> list[tuple[str, Json, bool]]:
        said: list[tuple[str, Json, bool]] = []
        async with stage.engine(tmp_path) as engine:
            for value in ("one", "one", "two", "two", "one"):
                write(tmp_path, name, text.replace("VALUE", value))
                run_id = await engine.start(caching(tmp_path, handler), {})
                document = await engine.wait(run_id)
                said.append((value, document["outputs"], "attempt.started" in await stage.types(engine, run_id)))
        return said

    assert stage.play(story) == [
        ("one", {"said": "one"}, True),
        ("one", {"said": "one"}, False),
        ("two", {"said": "two"}, True),
        ("two", {"said": "two"}, False),
        ("one", {"said": "one"}, False),
    ]


def test_a_handler_that_is_gone_is_missed_although_its_result_is_known(tmp_path: Path) -> None:
    write(tmp_path, "h/it.py", PLAIN)

    async def story() -> tuple[Json, Json]:
        async with stage.engine(tmp_path) as engine:
            flow = caching(tmp_path, "h/it.py")
            known = await engine.wait(await engine.start(flow, {}))
            (tmp_path / "h/it.py").unlink()
            missed = await engine.wait(await engine.start(flow, {}))
            return known["outputs"], str(missed.get("pauseReason")).split()[0]

    assert stage.play(story) == ({"said": "VALUE"}, "HANDLER_LOAD")


def test_the_node_that_a_fork_does_again_is_done_and_known_from_then_on(tmp_path: Path) -> None:
    calls = 0

    def ask(ctx: openskelo.Context) -> JsonObject:
        nonlocal calls
        calls += 1
        return {"said": calls}

    flow = stage.workflow(stage.block("ask", outputs={"said": "integer"}, cache=True))

    async def story() -> list[JsonObject]:
        async with stage.engine(tmp_path, ask=ask) as engine:
            first = await engine.start(flow, {})
            outputs = [(await engine.wait(first))["outputs"]]
            forked = await engine.fork(first, node="ask")
            outputs.append((await engine.wait(forked))["outputs"])
            again = await engine.start(flow, {})
            outputs.append((await engine.wait(again))["outputs"])
            return outputs

    assert stage.play(story) == [{"said": 1}, {"said": 2}, {"said": 2}]


def test_an_engine_without_cache_does_the_work_and_keeps_what_it_came_to(tmp_path: Path) -> None:
    asked: list[int] = []

    def ask(ctx: openskelo.Context) -> JsonObject:
        asked.append(len(asked))
        return {"said": len(asked)}

    flow = stage.workflow(stage.block("ask", outputs={"said": "integer"}, cache=True))
    project = openskelo.Project(root=tmp_path, data_dir=tmp_path / ".skelo")

    async def said(*, cache: bool) -> Json:
        async with await openskelo.Engine.open(project, handlers={"ask": ask}, cache=cache) as engine:
            return (await engine.wait(await engine.start(flow)))["outputs"]["said"]

    async def story() -> list[Json]:
        return [await said(cache=cache) for cache in (True, True, False, True)]

    assert stage.play(story) == [1, 1, 2, 2]


def test_a_run_that_began_without_cache_and_its_forks_take_nothing_from_it_whoever_goes_on(tmp_path: Path) -> None:
    asked: list[int] = []

    def ask(ctx: openskelo.Context) -> JsonObject:
        asked.append(len(asked))
        return {"said": len(asked)}

    flow = stage.workflow(
        stage.block("wait", mode="approval", approval={"prompt": "go on?"}),
        stage.block("ask", outputs={"said": "integer"}, cache=True, after=["wait"]),
    )
    project = openskelo.Project(root=tmp_path, data_dir=tmp_path / ".skelo")

    async def open_engine(*, cache: bool = True) -> openskelo.Engine:
        return await openskelo.Engine.open(project, handlers={"ask": ask}, cache=cache)

    async def answered(engine: openskelo.Engine, run_id: str) -> Json:
        document = await engine.wait(run_id)
        for open_one in cast("list[JsonObject]", document["approvals"]):
            await engine.answer(str(open_one["id"]), status="approved")
        return (await engine.wait(run_id))["outputs"]["said"]

    async def story() -> list[Json]:
        async with await open_engine() as engine:
            said = [await answered(engine, await engine.start(flow))]
            usual = await engine.start(flow)
            await engine.wait(usual)
        async with await open_engine(cache=False) as engine:
            anew = await engine.start(flow)
            await engine.wait(anew)
        async with await open_engine() as engine:
            for run_id in (usual, anew):
                await engine.resume(run_id)
                said.append(await answered(engine, run_id))
            said.append(await answered(engine, await engine.fork(anew, node="wait")))
            said.append(await answered(engine, await engine.start(flow)))
            facts = [fact async for fact in engine.follow(anew)]
            other = [fact async for fact in engine.follow(usual)]
        marks = [cast("JsonObject", told[0]["data"]).get("noCache") for told in (facts, other)]
        return [*said, *marks]

    assert stage.play(story) == [1, 1, 2, 3, 3, True, None]


@pytest.mark.parametrize("used", [False, True])
def test_work_that_is_sent_back_untold_is_done_anew_and_not_known_from_before(tmp_path: Path, used: bool) -> None:
    asked: list[int] = []

    def draft(ctx: openskelo.Context) -> JsonObject:
        asked.append(len(asked))
        return {"said": len(asked)}

    drafting = stage.block("draft", outputs={"said": "integer"}, cache=True)
    if used:
        (tmp_path / "inner.yaml").write_bytes(orjson.dumps({"name": "inner", "blocks": [drafting]}))
        drafting = {"id": "draft", "uses": "./inner.yaml"}
    judge = stage.block(
        "judge",
        deterministic={"handler": "builtin:pass"},
        inputs={"said": {"type": "integer", "from": "draft.said"}},
        outputs={"said": "integer"},
        post_gates=[{"name": "third", "type": "expr", "expression": "outputs.said == 3"}],
        on_gate_fail=[{"when_gate": "third", "route_to": "draft", "max_bounces": 5, "feedback": False}],
    )
    flow = openskelo.from_document({"name": "staged", "blocks": [drafting, judge]}, root=tmp_path)

    async def story() -> list[Json]:
        async with stage.engine(tmp_path, draft=draft) as engine:
            return [(await engine.wait(await engine.start(flow)))["outputs"] for _ in range(2)]

    assert stage.play(story) == [{"said": 3}, {"said": 3}]
    assert asked == [0, 1, 2]


def test_a_result_whose_file_is_gone_is_made_anew(tmp_path: Path) -> None:
    asked: list[int] = []

    def make(ctx: openskelo.Context) -> JsonObject:
        asked.append(len(asked))
        (tmp_path / "made.txt").write_text("made")
        return {"path": "made.txt"}

    flow = stage.workflow(stage.block("make", outputs={"path": "file"}, cache=True))

    async def story() -> list[Json]:
        outputs: list[Json] = []
        async with stage.engine(tmp_path, make=make) as engine:
            for run in range(4):
                if run == 2:
                    (tmp_path / "made.txt").unlink()
                outputs.append((await engine.wait(await engine.start(flow)))["outputs"])
        return outputs

    assert stage.play(story) == [{"path": "made.txt"}] * 4
    assert asked == [0, 1]
    assert (tmp_path / "made.txt").read_text() == "made"


@pytest.mark.parametrize("side", ["pre_gates", "post_gates"])
def test_a_result_that_a_gate_compares_with_its_run_is_judged_in_every_run(tmp_path: Path, side: str) -> None:
    ports: JsonObject = {"n": {"type": "integer", "from": "inputs.n"}}
    gates: list[Json] = [{"name": "enough", "type": "expr", "expression": "inputs.n >= run.inputs.least"}]
    given = stage.block("give", inputs=ports, outputs={"n": "integer"}, cache=True, **{side: gates})
    flow = stage.workflow(given, inputs={"n": "integer", "least": "integer"})

    async def give(ctx: openskelo.Context) -> JsonObject:
        return {"n": ctx.inputs["n"]}

    async def story() -> list[Json]:
        async with stage.engine(tmp_path, give=give) as engine:
            given = ({"n": 5, "least": least} for least in (3, 30))
            return [(await engine.wait(await engine.start(flow, one)))["ending"] for one in given]

    assert stage.play(story) == ["ok", "failed"]
