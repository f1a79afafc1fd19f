"""A handler that forks in the worker process: only the one that was asked answers, and once."""

from __future__ import annotations

from pathlib import Path

import pytest

from openskelo.kernel import definition
from openskelo.kernel.json import Json
from tests.executors import workshop

FORKING = """
import os, sys, time

def handler(ctx):
    if not ctx.inputs["x"]:
        return {"y": "next"}
    child = os.fork()
    if child == 0:
        END
    _, status = os.waitpid(child, 0)
    return {"y": os.waitstatus_to_exitcode(status)}
"""
NODE = definition.Node(
    key="it",
    mode="deterministic",
    handler="handlers/it.py",
    inputs=(workshop.port("x"),),
    outputs=(workshop.port("y"),),
    timeout_ms=10_000,
)


@pytest.mark.parametrize(
    ("end", "status", "printed"),
    [
        ("return {'y': 'of the copy'}", 0, ""),
        ("sys.exit()", 0, ""),
        ("sys.exit(3)", 3, ""),
        ("sys.exit('no more')", 1, "no more"),
        ("raise ValueError('broken')", 1, "ValueError: broken"),
        ("raise KeyboardInterrupt", 1, "KeyboardInterrupt"),
        ("os._exit(4)", 4, ""),
    ],
)
def test_a_copy_of_the_worker_ends_as_a_program_would_and_answers_nobody(
    tmp_path: Path, end: str, status: int, printed: str
) -> None:
    (tmp_path / "handlers").mkdir()
    (tmp_path / "handlers" / "it.py").write_text(FORKING.replace("END", end))
    tasks = [workshop.task_of(NODE, {"x": value}) for value in (True, False, True, False)]
    found = workshop.perform(workshop.project(tmp_path), *tasks)
    expected: list[Json] = [{"value": {"y": value}} for value in (status, "next", status, "next")]
    assert [one.outcome.outputs for one in found] == expected
    said = workshop.log_of(found[0]).strip() if found[0].outcome.artifacts else ""
    assert said.rpartition("\n")[2] == printed
