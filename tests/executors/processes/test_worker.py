"""A handler that does odd things in the worker process: only the one that was asked answers, and once."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from openskelo.kernel import definition, outcome
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


def test_a_worker_does_not_import_asyncio_before_a_handler_needs_it() -> None:
    program = "import sys, openskelo.executors.processes.worker\nprint('asyncio' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


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


@pytest.mark.parametrize(
    "harm",
    ["sys.stdout = None", "sys.stdout = open(os.devnull, 'w'); sys.stdout.close()", "sys.stdout.close()"],
)
def test_the_next_handler_finds_the_standard_streams_as_the_first_one_did(tmp_path: Path, harm: str) -> None:
    (tmp_path / "handlers").mkdir()
    harmed = f"    if ctx.inputs['x']:\n        {harm}\n    else:\n        print('heard')\n    return {{'y': 1}}\n"
    (tmp_path / "handlers" / "it.py").write_text(f"import os, sys\n\ndef handler(ctx):\n{harmed}")
    tasks = [workshop.task_of(NODE, {"x": value}) for value in (True, False)]
    found = workshop.perform(workshop.project(tmp_path), *tasks)
    assert [one.outcome.outputs for one in found] == [{"value": {"y": 1}}, {"value": {"y": 1}}]
    assert workshop.log_of(found[1]) == "heard\n"


def test_a_mapping_that_cannot_be_read_fails_its_attempt_and_leaves_the_worker(tmp_path: Path) -> None:
    (tmp_path / "handlers").mkdir()
    (tmp_path / "handlers" / "it.py").write_text(
        "import os, collections\n\n"
        "class Closed(collections.UserDict):\n"
        "    def __iter__(self):\n"
        "        raise RuntimeError('the cursor is closed')\n\n"
        "def handler(ctx):\n"
        "    return {'y': Closed() if ctx.inputs['x'] == 1 else os.getpid()}\n"
    )
    tasks = [workshop.task_of(NODE, {"x": value}) for value in (0, 1, 0)]
    first, broken, last = workshop.perform(workshop.project(tmp_path), *tasks)
    assert broken.outcome.failure == outcome.Failure(
        code="HANDLER_RETURN", message="RuntimeError: the cursor is closed", happened="yes"
    )
    assert first.outcome.outputs is not None
    assert first.outcome.outputs == last.outcome.outputs
