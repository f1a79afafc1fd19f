"""Real agent programs, each installed once for all tests of a session."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
from pathlib import Path

import pytest

#: `make test-agents` names the data dir with the programs of the vendors; without them there is nothing to collect.
collect_ignore = [] if os.environ.get("SKELO_TEST_AGENTS") else ["vendors"]


@pytest.fixture(scope="session")
def qwen(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    """Return the path of Qwen Code."""
    return install("qwen", tmp_path_factory, worker_id) / ".bin" / "qwen"


@pytest.fixture(scope="session")
def opencode(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    """Return the path of OpenCode: the program itself, because its package wants to run a script to find it."""
    modules = install("opencode", tmp_path_factory, worker_id)
    return min(modules.glob("opencode-*/bin/opencode"), key=lambda path: len(str(path)))  # not the one for old CPUs


def install(name: str, tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    """Install the npm package of the lock file in the folder `name` beside this file; return its `node_modules`."""
    base = tmp_path_factory.getbasetemp()
    folder = (base if worker_id == "master" else base.parent) / name  # workers share the folder above their own
    with Path(f"{folder}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "installed").exists():
            _install(Path(__file__).with_name(name), folder)
            (folder / "installed").touch()
    return folder / "node_modules"


def _install(locked: Path, folder: Path) -> None:
    if shutil.which("npm") is None:
        pytest.fail("the tests of real agents need Node 20 or newer with npm: install nodejs and npm")
    shutil.copytree(locked, folder, dirs_exist_ok=True)
    command = ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        pytest.fail(f"npm could not install {locked.name} for the tests: {done.stderr[-1000:]}")
