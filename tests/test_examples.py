"""The examples are valid, and the demo does what it says: killed, resumed, approved, verified."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from openskelo.workflows import load
from tests.repo import tracked

BIN = Path(sys.executable).parent
WORKFLOWS = [
    str(path.relative_to(tracked.ROOT))
    for path in tracked.files("examples/*.yaml")
    if path.name != "skelo.yaml" and not path.name.endswith(".test.yaml")
]


@pytest.mark.parametrize("name", WORKFLOWS)
def test_example_has_no_problems(name: str) -> None:
    workflow, problems = load.check(tracked.ROOT / name)
    assert problems == ()
    assert workflow is not None


@pytest.mark.slow
def test_the_demo_survives_a_kill_and_proves_its_record(tmp_path: Path) -> None:
    project = tmp_path / "quickstart"
    shutil.copytree(
        tracked.ROOT / "examples" / "quickstart", project, ignore=shutil.ignore_patterns(".skelo", "out", "__pycache__")
    )
    done = subprocess.run(
        ["sh", str(tracked.ROOT / "scripts" / "demo.sh"), str(BIN), str(project), "digest.yaml"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    published = list((project / "out").iterdir())
    assert [path.read_text() for path in published] == [
        "# This week\n\n"
        "- The kernel decides, and nothing else does.\n"
        "- Every finished step leaves a receipt.\n"
        "- A person approves before anything is published.\n"
        "- Kill it whenever you like.\n"
    ]
