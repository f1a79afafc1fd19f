"""How often a durable chain syncs: counted by strace, from outside, over a whole process.

`python -m benchmarks.syncs FOLDER STEPS` is that process.
"""

from __future__ import annotations

import asyncio
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from benchmarks import flows, measure, report

STEPS = 1000
CALLS = "fsync,fdatasync,sync_file_range,msync"


def figures(plan: measure.Plan) -> Iterator[report.Figure]:
    """Syncs a step. Opening and closing the data dir and SQLite's checkpoints are in it: nothing is left out."""
    steps = plan.count(STEPS)
    what = f"syncs in a durable chain of {steps}"
    tracer = shutil.which("strace")
    if tracer is None:
        yield report.Figure(name="syncs", what=what, value=None, unit="a step", bar=1.15, note="install strace")
        return
    with plan.fresh() as folder:
        table = folder / "strace"
        argv = [tracer, "-f", "-c", "-e", f"trace={CALLS}", "-o", str(table)]
        argv += [sys.executable, "-m", "benchmarks.syncs", str(folder), str(steps)]
        done = subprocess.run(argv, capture_output=True, text=True, check=False)
        counted = _counted(table) if table.exists() else 0
    if done.returncode != 0 or not counted:
        note = (done.stderr.strip().splitlines() or ["strace saw no sync"])[-1]
        yield report.Figure(name="syncs", what=what, value=None, unit="a step", bar=1.15, note=note)
        return
    yield report.Figure(
        name="syncs", what=what, value=counted / steps, unit="a step", bar=1.15, note=f"{counted} syncs in all"
    )


def _counted(table: Path) -> int:
    """The calls in strace's summary: the fourth column of each line that ends in one of our system calls."""
    rows = [line.split() for line in table.read_text().splitlines()]
    return sum(int(row[3]) for row in rows if len(row) > 4 and row[-1] in CALLS.split(","))


async def _run(folder: Path, steps: int) -> None:
    async with await flows.engine(folder) as engine:
        await flows.run(engine, flows.chain(steps))


if __name__ == "__main__":
    asyncio.run(_run(Path(sys.argv[1]), int(sys.argv[2])))
