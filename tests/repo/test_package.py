"""What is built from this repository is complete: every file the package reads is inside, and its version is one."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import openskelo
from tests.repo import tracked


@pytest.mark.slow
def test_the_wheel_holds_every_file_of_the_package(tmp_path: Path) -> None:
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)],
        cwd=tracked.ROOT,
        check=True,
        capture_output=True,
    )
    (wheel,) = tmp_path.glob("*.whl")
    source = tracked.ROOT / "src"
    wanted = {path.relative_to(source).as_posix() for path in tracked.files("src/*")}
    with zipfile.ZipFile(wheel) as built:
        packed = set(built.namelist())
    assert wheel.name == f"openskelo-{openskelo.__version__}-py3-none-any.whl"
    assert "openskelo/py.typed" in wanted
    assert wanted - packed == set()
    assert "openskelo/server/web/index.html" in packed, "the dashboard is built by `make setup`"
    assert {name for name in packed if name.endswith("/licenses/LICENSE")}
