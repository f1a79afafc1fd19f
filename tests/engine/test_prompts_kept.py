"""The prompt of an attempt is durable before the model is asked, so that a crash does not lose it."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import cast

import pytest

import openskelo
from openskelo.history import verify
from openskelo.kernel.json import Json, JsonObject
from openskelo.providers import protocol, scripted
from tests.engine import stage

FLOW: dict[str, Json] = {
    "name": "asks",
    "blocks": [{"id": "ask", "prompt": "Say something.", "outputs": {"text": "string"}}],
}
REVIEWED: dict[str, Json] = {
    "name": "reviewed",
    "blocks": [
        {
            "id": "work",
            "mode": "deterministic",
            "inputs": {"text": {"type": "string", "default": "Bees buzz."}},
            "outputs": {"text": "string"},
            "deterministic": {"handler": "builtin:pass"},
            "post_gates": [{"name": "kind", "type": "llm_review", "port": "text", "criteria": ["is kind"]}],
        }
    ],
}
FLOWS = {"asks": FLOW, "reviewed": REVIEWED}
PROMPTS = ("prompt.full.txt", "prompt.blocks.json")
#: Starts a run whose model never answers, and says so when the model is asked.
CHILD = """
import asyncio, sys
from pathlib import Path
import openskelo
from tests.engine import test_prompts_kept as story

class Silent:
    async def complete(self, request, on_text):
        print("asked", flush=True)
        await asyncio.Event().wait()

async def main():
    project = openskelo.Project(root=Path(sys.argv[1]), data_dir=Path(sys.argv[1]) / ".skelo")
    async with await openskelo.Engine.open(project, provider=Silent()) as engine:
        run_id = await engine.start(openskelo.from_document(story.FLOWS[sys.argv[2]]))
        print(run_id, flush=True)
        await engine.wait(run_id)

asyncio.run(main())
"""


async def kept(engine: openskelo.Engine, run_id: str) -> list[tuple[int, str]]:
    """The attempt and the name of every artifact, in the order of the log."""
    found: list[tuple[int, str]] = []
    async for event in engine.follow(run_id, until_end=False):
        if event["type"] == "artifact.created":
            data = cast("JsonObject", event["data"])
            found.append((cast("int", data["attempt"]), str(cast("JsonObject", data["artifact"])["name"])))
    return found


def _project(root: Path) -> openskelo.Project:
    return openskelo.Project(root=root, data_dir=root / ".skelo")


def kill(root: Path, flow: str) -> str:
    """Kill a process whose run asks a model; return the run's id."""
    argv = [sys.executable, "-c", CHILD, str(root), flow]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        said = {child.stdout.readline().strip(), child.stdout.readline().strip()}
        os.kill(child.pid, signal.SIGKILL)
    (run_id,) = said - {"asked"}
    return run_id


@pytest.mark.slow
def test_the_prompt_of_a_review_that_a_kill_cut_is_in_the_record(tmp_path: Path) -> None:
    run_id = kill(tmp_path, "reviewed")

    async def story() -> None:
        verdicts: JsonObject = {"verdicts": [{"criterion": 1, "passed": True, "reason": "it is"}]}
        provider = scripted.Scripted({"work:kind": [verdicts]})
        async with await openskelo.Engine.open(_project(tmp_path), provider=provider) as engine:
            assert await kept(engine, run_id) == [(1, "review.kind.prompt.txt")]
            await engine.resume(run_id)
            assert (await engine.wait(run_id))["ending"] == "ok"
            assert await kept(engine, run_id) == [(attempt, "review.kind.prompt.txt") for attempt in (1, 2)]
            assert (await verify.verify_run(engine.store, run_id)).intact

    stage.play(story)


@pytest.mark.slow
def test_the_prompt_of_an_attempt_that_a_kill_cut_is_in_the_record(tmp_path: Path) -> None:
    run_id = kill(tmp_path, "asks")

    async def story() -> None:
        provider = scripted.Scripted({"ask": [{"text": "Bees buzz."}]})
        async with await openskelo.Engine.open(_project(tmp_path), provider=provider) as engine:
            assert await kept(engine, run_id) == [(1, name) for name in PROMPTS]
            await engine.resume(run_id)
            document = await engine.wait(run_id)
            assert (document["status"], stage.node(document, "ask")["attempts"]) == ("completed", 2)
            assert await kept(engine, run_id) == [(attempt, name) for attempt in (1, 2) for name in PROMPTS]
            assert (await verify.verify_run(engine.store, run_id)).intact

    stage.play(story)


class Watching:
    """Answers, and notes how many artifacts and commits there are when it is asked."""

    def __init__(self) -> None:
        self.engine: openskelo.Engine | None = None
        self.seen: list[int] = []

    async def complete(self, request: protocol.Request, on_text: protocol.OnText) -> protocol.Answer:
        assert self.engine is not None
        (row,) = await self.engine.store.list_runs()
        self.seen.append(len(await kept(self.engine, row.run_id)))
        return protocol.Answer(text='{"text": "Bees"}', served_by="watching")


def test_prompts_of_items_that_start_together_share_one_commit(tmp_path: Path) -> None:
    async def story() -> None:
        watching = Watching()
        fields: JsonObject = {"prompt": "Say ${{ item }}.", "outputs": {"text": "string"}}
        flow = openskelo.from_document(
            {
                "name": "asks",
                "blocks": [{"id": "ask", "foreach": {"items": "[1, 2, 3, 4]", "concurrency": 4}, **fields}],
            }
        )
        async with await openskelo.Engine.open(_project(tmp_path), provider=watching) as engine:
            watching.engine = engine
            run_id = await engine.start(flow)
            assert (await engine.wait(run_id))["status"] == "completed"
            entries = await engine.store.read_feed(after=0, limit=100)
            with_prompts = [entry for entry in entries if any(b'"prompt.full.txt"' in line for line in entry.lines)]
            assert (len(with_prompts), watching.seen) == (1, [8, 8, 8, 8])
            assert len(await kept(engine, run_id)) == 8

    stage.play(story)


def test_a_run_that_is_cancelled_while_the_model_answers_has_its_prompt_once(tmp_path: Path) -> None:
    async def story() -> None:
        asked = asyncio.Event()

        class Silent:
            async def complete(self, request: protocol.Request, on_text: protocol.OnText) -> protocol.Answer:
                del request, on_text
                asked.set()
                await asyncio.Event().wait()
                raise AssertionError

        async with await openskelo.Engine.open(_project(tmp_path), provider=Silent()) as engine:
            run_id = await engine.start(openskelo.from_document(FLOW))
            await asked.wait()
            await engine.cancel(run_id)
            assert (await engine.wait(run_id))["ending"] == "cancelled"
            assert await kept(engine, run_id) == [(1, name) for name in PROMPTS]

    stage.play(story)
