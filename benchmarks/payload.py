"""What real steps carry: a durable chain whose values have 200 B, 20 KB, 50 KB and 200 KB, each different."""

from __future__ import annotations

import asyncio
import functools
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import orjson

import openskelo
from benchmarks import flows, measure, raw, report
from openskelo.kernel.json import JsonObject

STEPS = 300
SIZES = (200, 20_000, 50_000, 200_000)
#: The peers of `benchmarks/peers`, in an environment of their own (`make bench-peers`).
PEERS = ("langgraph", "burr", "dbos")
PEERS_PYTHON = Path(__file__).resolve().parent.parent / ".venv-peers" / "bin" / "python"


def figures(plan: measure.Plan) -> Iterator[report.Figure]:
    """Yield, for each size, the step against 1.5 x a raw append and sync of the same bytes, plus 2.3 F.

    Every subject runs in a fresh process, so that no size profits from what another one has left in memory.
    """
    steps = plan.count(STEPS)
    for size in SIZES:
        yield _figure(plan, steps, size)


def figures_against_peers(plan: measure.Plan) -> Iterator[report.Figure]:
    """Yield, for each size, the step against the same step of each peer."""
    if not PEERS_PYTHON.exists():
        yield report.Figure(
            name="peers", what="peers", value=None, unit="x the peer", note="`make bench-peers` installs them"
        )
        return
    for size in SIZES:
        yield from _against_peers(plan, plan.count(STEPS), size)


def _figure(plan: measure.Plan, steps: int, size: int) -> report.Figure:
    raw_seconds: list[float] = []
    line_seconds: list[float] = []

    def baseline() -> float:
        with plan.fresh() as folder:
            raw_seconds.append(raw.synced_appends(folder, steps, b"x" * size))
            line_seconds.append(raw.synced_appends(folder, steps))
        return 1.5 * raw_seconds[-1] + 2.3 * line_seconds[-1]

    found = measure.bracketed(plan, baseline=baseline, subject=lambda: _ours(plan, steps, size))
    raw_us, line_us = (statistics.median(seconds) * 1e6 for seconds in (raw_seconds, line_seconds))
    return report.Figure(
        name="payload",
        what=f"durable chain of {steps}, {_named(size)} a step",
        value=found.ratio,
        unit="x 1.5 raw + 2.3 F",
        bar=1,
        rounds=found.ratios,
        made=found.made,
        note=f"{found.subject * 1e6:.0f} us a step, allowed {found.baseline * 1e6:.0f} us; "
        f"raw {raw_us:.0f} us, F {line_us:.0f} us",
    )


def _against_peers(plan: measure.Plan, steps: int, size: int) -> Iterator[report.Figure]:
    """Yield ours against each peer, in turns. The bar is to be faster, without a tolerance."""
    for peer in PEERS:
        found = measure.bracketed(
            plan,
            baseline=functools.partial(_peer, plan, peer, steps, size),
            subject=lambda: _ours(plan, steps, size),
        )
        yield report.Figure(
            name="peers",
            what=f"durable chain of {steps}, {_named(size)} a step, against {peer}",
            value=found.ratio,
            unit=f"x {peer}",
            bar=1,
            tolerance=0,
            rounds=found.ratios,
            made=found.made,
            note=f"{found.subject * 1e6:.0f} us a step, {peer} {found.baseline * 1e6:.0f} us",
        )


def _named(size: int) -> str:
    return f"{size // 1000} KB" if size >= 1000 else f"{size} B"


def _ours(plan: measure.Plan, steps: int, size: int) -> float:
    return _seconds(plan, [sys.executable, "-m", "benchmarks.payload"], steps, size)


def _peer(plan: measure.Plan, peer: str, steps: int, size: int) -> float:
    return _seconds(plan, [str(PEERS_PYTHON), "-m", f"benchmarks.peers.{peer}_chain"], steps, size)


def _seconds(plan: measure.Plan, argv: list[str], steps: int, size: int) -> float:
    """Return the seconds a step that a fresh process reports."""
    with plan.fresh() as folder:
        environment = {**os.environ, "HOME": str(folder)}
        done = subprocess.run(
            [*argv, str(folder), str(steps), str(size)],
            cwd=Path(__file__).resolve().parent.parent,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
    if done.returncode != 0:
        raise RuntimeError(f"{argv[2]} gave {done.returncode}: {done.stderr[-500:]}")
    return float(orjson.loads(done.stdout.strip().rpartition("\n")[2])["seconds"]) / steps


async def _run(folder: Path, steps: int, size: int) -> float:
    """Return the seconds from the first call of the handler to the last one: so many whole steps.

    What `wait` does after the last step is no part of it: it reads the outputs of all nodes for the run's document.
    """
    calls: list[float] = []

    async def vary(ctx: openskelo.Context) -> JsonObject:
        """Return the value with another number at its beginning: no step may find its value stored already."""
        calls.append(time.perf_counter())
        text = str(ctx.inputs["n"])
        return {"n": f"{int(text[:8]) + 1:08d}{text[8:]}"}

    flow = flows.chain(steps + 1, kind="string", handler="local:vary")
    async with await flows.engine(folder, handlers={"vary": vary}) as engine:
        await flows.run(engine, flows.chain(1, kind="string", handler="local:vary"), "00000000")
        calls.clear()
        await flows.run(engine, flow, "0" * 8 + "x" * (size - 8))
    return calls[-1] - calls[0]


if __name__ == "__main__":
    taken = asyncio.run(_run(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])))
    print(orjson.dumps({"seconds": taken}).decode())
