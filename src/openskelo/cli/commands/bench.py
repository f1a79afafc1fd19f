"""`skelo bench`: measure a durable step as a ratio to a raw append and sync on the same disk."""

from __future__ import annotations

import argparse
import asyncio
import os
import statistics
import tempfile
import time
from pathlib import Path

from openskelo import errors
from openskelo.cli import exit_codes, output, project_context
from openskelo.engine import api as engine_api
from openskelo.handlers import context
from openskelo.kernel.json import Json, JsonObject
from openskelo.project import Project
from openskelo.workflows import load

_ROUNDS = 5


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--steps", metavar="N", type=int, default=200, help="length of the chain (default: 200)")
    parser.epilog = (
        "F is one raw append of 400 bytes with fdatasync on the data dir's disk, measured in the same run. "
        "Median of 5. The full set is `make bench` in the source tree."
    )


def run(args: argparse.Namespace) -> int:
    if not 1 <= args.steps <= 100_000:
        raise errors.InvalidInput("--steps is from 1 to 100000", code="USAGE")
    where = project_context.from_args(args)
    base = where.data_dir if where.data_dir.is_dir() else where.root
    try:
        raw, steps = asyncio.run(_measure(base, args.steps))
    except OSError as error:
        raise errors.StoreError(f"cannot measure in {base}: {error}", code="STORE_IO") from error
    if args.json:
        output.document(
            {
                "steps": args.steps,
                "rawUs": round(raw * 1e6, 1),
                "stepUs": round(steps * 1e6, 1),
                "ratio": round(steps / raw, 2),
            }
        )
    else:
        output.say(f"raw append and sync (F)  {raw * 1e6:8.1f} us")
        output.say(f"durable step             {steps * 1e6:8.1f} us   {steps / raw:.2f} F")
    return exit_codes.COMPLETED


async def _measure(base: Path, steps: int) -> tuple[float, float]:
    raws: list[float] = []
    chains: list[float] = []
    for _ in range(_ROUNDS):
        with tempfile.TemporaryDirectory(prefix="skelo-bench-", dir=base) as folder:
            raws.append(_raw(Path(folder), steps))
            chains.append(await _chain(Path(folder), steps))
    return statistics.median(raws), statistics.median(chains)


def _raw(folder: Path, count: int) -> float:
    line = b"x" * 399 + b"\n"
    descriptor = os.open(folder / "raw", os.O_CREAT | os.O_WRONLY | os.O_APPEND)
    try:
        started = time.perf_counter()
        for _ in range(count):
            os.write(descriptor, line)
            _sync(descriptor)
        return (time.perf_counter() - started) / count
    finally:
        os.close(descriptor)


def _sync(descriptor: int) -> None:
    """fdatasync where there is one (macOS has only fsync)."""
    getattr(os, "fdatasync", os.fsync)(descriptor)


async def _chain(folder: Path, steps: int) -> float:
    workflow = load.from_document(_document(steps))
    project = Project(root=folder, data_dir=folder / "data")

    async def step(ctx: context.Context) -> JsonObject:
        return {"n": ctx.inputs["n"]}

    async with engine_api.open_engine(project, handlers={"step": step}) as engine:
        started = time.perf_counter()
        run_id = await engine.start(workflow, {"n": 1}, by="bench")
        document = await engine.wait(run_id)
        taken = time.perf_counter() - started
    if document.get("ending") != "ok":
        raise errors.StoreError(f"the chain ended {document.get('ending')}", code="BENCH_FAILED")
    return taken / steps


def _document(steps: int) -> JsonObject:
    blocks: list[Json] = [
        {
            "id": f"s{number}",
            "mode": "deterministic",
            "inputs": {"n": {"type": "integer", "from": f"s{number - 1}.n" if number else "inputs.n"}},
            "outputs": {"n": "integer"},
            "deterministic": {"handler": "local:step"},
        }
        for number in range(steps)
    ]
    return {"name": "bench", "inputs": {"n": "integer"}, "blocks": blocks}
