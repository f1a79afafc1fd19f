"""What it costs to ask models: the engine's part of an ai block, and a hundred questions at once."""

from __future__ import annotations

import asyncio
import contextlib
import subprocess
import sys
import time
from collections.abc import Callable, Generator, Iterator
from pathlib import Path

import openskelo
from benchmarks import measure, raw, report
from openskelo.kernel.json import Json, JsonObject
from openskelo.providers import config, protocol, remote_api
from openskelo.providers.kinds import openai

STEPS = 300
AT_ONCE = 100
#: How long the server on this machine thinks about every question, and how long all of them may take together.
THINKS, WITHIN = 10.0, 11.0


class _Instant:
    """A model that needs no time: what is left is ours."""

    async def complete(self, request: protocol.Request, on_text: Callable[[str], None]) -> protocol.Answer:
        on_text('{"n":1}')
        return protocol.Answer(text='{"n":1}', usage=protocol.Usage(tokens_in=len(request.messages), tokens_out=5))


def figures(plan: measure.Plan) -> Iterator[report.Figure]:
    """F for an ai block with its two prompt artifacts; seconds for questions that are asked at once."""
    steps = plan.count(STEPS)
    flow = _chain(steps)

    def baseline() -> float:
        with plan.fresh() as folder:
            return raw.synced_appends(folder, steps)

    def subject() -> float:
        with plan.fresh() as folder:
            return asyncio.run(_run(folder, flow, _Instant())) / steps

    found = measure.bracketed(plan, baseline=baseline, subject=subject)
    yield report.Figure(
        name="models",
        what=f"durable chain of {steps} ai blocks, prompts kept",
        value=found.ratio,
        unit="F a block",
        bar=4.0,
        rounds=found.ratios,
        made=found.made,
        note=f"{found.subject * 1e6:.0f} us a block, F = {found.baseline * 1e6:.0f} us",
    )
    yield _at_once(plan)


def _at_once(plan: measure.Plan) -> report.Figure:
    thinks = 1.0 if plan.quick else THINKS
    what = f"{AT_ONCE} ai blocks at once, each of {thinks:g} s"
    if not remote_api.installed(openai.API):
        return report.Figure(
            name="models", what=what, value=None, unit="s", bar=WITHIN, note="install the extra openai"
        )
    with plan.fresh() as folder, _server(thinks) as port:
        (folder / "warm").mkdir()
        models = _models(port)
        asyncio.run(_run(folder / "warm", _wide(1), None, models))  # the client is imported once in a life
        seconds = asyncio.run(_run(folder, _wide(AT_ONCE), None, models))
    return report.Figure(name="models", what=what, value=seconds, unit="s", bar=WITHIN)


def _models(port: int) -> config.Config:
    slow = config.ProviderConfig(
        name="slow", kind="openai", model="slow", base_url=f"http://127.0.0.1:{port}/v1", concurrency=AT_ONCE
    )
    experts = {"default": config.ExpertConfig(name="default", provider="slow", max_tokens=20)}
    return config.Config(providers={"slow": slow}, experts=experts, default_expert="default")


@contextlib.contextmanager
def _server(thinks: float) -> Generator[int]:
    command = [sys.executable, "-m", "benchmarks.slow_model", str(thinks)]
    root = Path(__file__).resolve().parent.parent
    with subprocess.Popen(command, cwd=root, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        assert server.stdin is not None
        try:
            yield int(server.stdout.readline())
        finally:
            server.stdin.close()


def _block(key: str, source: str) -> JsonObject:
    return {
        "id": key,
        "prompt": "Count one further than {{ inputs.n }}.",
        "inputs": {"n": {"type": "integer", "from": f"{source}.n"}},
        "outputs": {"n": {"type": "integer", "minimum": 0}},
        "max_tokens": 20,
    }


def _chain(steps: int) -> openskelo.Workflow:
    blocks = [_block(f"s{number}", "inputs" if number == 0 else f"s{number - 1}") for number in range(steps)]
    return _workflow(blocks)


def _wide(width: int) -> openskelo.Workflow:
    return _workflow([_block(f"s{number}", "inputs") for number in range(width)])


def _workflow(blocks: list[JsonObject]) -> openskelo.Workflow:
    listed: list[Json] = [*blocks]
    return openskelo.from_document(
        {"name": "bench", "inputs": {"n": "integer"}, "blocks": listed, "defaults": {"concurrency": AT_ONCE}}
    )


async def _run(
    folder: Path, flow: openskelo.Workflow, provider: protocol.Provider | None, models: config.Config | None = None
) -> float:
    """Seconds from the start to the end of one run, which has to end well."""
    project = openskelo.Project(root=folder, data_dir=folder / "data", models=models)
    async with await openskelo.Engine.open(project, provider=provider) as engine:
        started = time.perf_counter()
        document = await engine.wait(await engine.start(flow, {"n": 1}, by="bench"))
        seconds = time.perf_counter() - started
    if document["ending"] != "ok":
        raise RuntimeError(f"the run ended {document['ending']}: {document.get('error')}")
    return seconds
