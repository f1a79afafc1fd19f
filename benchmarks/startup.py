"""Start-up: whole processes of the command line against a Python that does nothing."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks import measure, report

SKELO = Path(sys.executable).parent / "skelo"

FILE = """\
name: three
blocks:
  - id: first
    mode: deterministic
    outputs: {text: string}
    deterministic: {handler: "builtin:transform", config: {map: {text: "'hello'"}}}
  - id: second
    mode: deterministic
    inputs: {text: {type: string, from: first.text}}
    outputs: {text: string}
    deterministic: {handler: "builtin:transform", config: {map: {text: "inputs.text + ','"}}}
  - id: third
    mode: deterministic
    inputs: {text: {type: string, from: second.text}}
    outputs: {text: string}
    deterministic: {handler: "builtin:transform", config: {map: {text: "inputs.text + ' world'"}}}
"""


def figures(plan: measure.Plan) -> Iterator[report.Figure]:
    """Times `python -c pass`: the help, and a run of three steps in a new data dir and in one that has been used."""
    with plan.fresh() as folder:
        (folder / "three.yaml").write_text(FILE)
        yield _figure(plan, folder, "skelo --help", ["--help"], bar=10)
        yield _figure(plan, folder, "skelo run, 3 steps, new data dir", ["run", "three.yaml"], bar=30, fresh=True)
        yield _figure(plan, folder, "skelo run, 3 steps, used data dir", ["run", "three.yaml"], bar=30)


def _figure(
    plan: measure.Plan, folder: Path, what: str, words: list[str], bar: float, *, fresh: bool = False
) -> report.Figure:
    def subject() -> float:
        if fresh:
            shutil.rmtree(folder / ".skelo", ignore_errors=True)
        return _seconds([str(SKELO), *words], folder)

    subject()  # the first process of its kind compiles modules and reads files that later ones find in memory
    found = measure.bracketed(plan, baseline=lambda: _seconds([sys.executable, "-c", "pass"], folder), subject=subject)
    return report.Figure(
        name="startup",
        what=what,
        value=found.ratio,
        unit="x python",
        bar=bar,
        rounds=found.ratios,
        made=found.made,
        note=f"{found.subject * 1e3:.0f} ms, python {found.baseline * 1e3:.0f} ms",
    )


def _seconds(argv: list[str], folder: Path) -> float:
    """As people start it: modules are compiled once, by the first process, and then kept."""
    environment = {name: text for name, text in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    started = time.perf_counter()
    done = subprocess.run(argv, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    taken = time.perf_counter() - started
    if done.returncode != 0:
        raise RuntimeError(f"{argv[1:]} gave {done.returncode}: {done.stderr[-500:]}")
    return taken
