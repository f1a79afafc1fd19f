"""`make test` on a machine without Chromium or bubblewrap: what it says, what it still checks, and how it ends.

The Makefile and its scripts are real. The tools that they call write down how they were called.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from tests.repo import tracked

TOOLS = (".venv/bin/ruff", ".venv/bin/pyright", ".venv/bin/lint-imports", ".venv/bin/python", ".venv/bin/coverage")
STUB = '#!/bin/sh\necho "$(basename "$0") $*" >> "$CALLS"\n'
SYSTEM = (
    "sh",
    "make",
    "find",
    "grep",
    "sed",
    "tr",
    "fold",
    "basename",
    "dirname",
    "touch",
    "cat",
    "env",
    "uname",
    "expr",
)


def tree(folder: Path, *, user: int) -> dict[str, str]:
    """Make a tree whose checks are stubs, on a machine without Chromium; return the environment for its commands."""
    root, path = folder / "tree", folder / "path"
    for name in ("scripts", ".venv/bin", "requirements", "src/openskelo/providers"):
        (root / name).mkdir(parents=True)
    path.mkdir()
    shutil.copy(tracked.ROOT / "Makefile", root)
    for name in ("bubblewrap.sh", "chromium.sh", "compiler.sh"):
        shutil.copy(tracked.ROOT / "scripts" / name, root / "scripts")
    (root / "scripts" / "web.sh").write_text("true\n")
    for name in ("requirements/dev.lock", ".venv/.locked", "pyproject.toml", "src/openskelo/providers/model.lock"):
        (root / name).touch()
        os.utime(root / name, (1, 1))
    for second, name in enumerate((".venv/.locked", ".venv/.installed", ".venv/.model"), start=2):
        (root / name).touch()
        os.utime(root / name, (second, second))  # each newer than what it is made from
    for tool in (*(root / name for name in TOOLS), *(path / name for name in ("npm", "node", "cc", "bwrap"))):
        tool.write_text(STUB)
    (root / ".venv/bin/python").write_text(STUB.replace("$*", "$1 browser=${SKELO_NO_BROWSER:-yes}"))
    (path / "id").write_text(f"#!/bin/sh\necho {user}\n")
    (path / "apt-get").write_text(
        f'{STUB}case "$*" in *simulate*) echo "Inst chromium (1)"; echo "Inst libx (2)";; esac\n'
    )
    for tool in (*(root / ".venv/bin").iterdir(), *path.iterdir()):
        tool.chmod(0o755)
    for name in SYSTEM:
        found = shutil.which(name)
        assert found is not None
        (path / name).symlink_to(found)
    return {"PATH": str(path), "CALLS": str(folder / "calls")}


def run(folder: Path, *command: str, env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, cwd=folder / "tree", env=env, capture_output=True, text=True, check=False, timeout=60
    )


def test_without_chromium_everything_else_is_checked_and_then_it_fails(tmp_path: Path) -> None:
    env = tree(tmp_path, user=1000)
    done = run(tmp_path, "make", "test", env=env)
    called = [line.split()[0] for line in (tmp_path / "calls").read_text().splitlines()]
    assert set(called) == {"ruff", "pyright", "lint-imports", "python", "npm", "coverage"}
    assert (tmp_path / "calls").read_text().splitlines()[-1] == "python scripts/run_tests.py browser=1"
    assert done.returncode != 0
    assert done.stderr.count("need Chromium, and there is none. How to get it:\n  Debian: apt install chromium") == 2
    assert "Everything else passed." in done.stderr


def test_root_is_told_which_debian_packages_are_about_to_be_installed(tmp_path: Path) -> None:
    env = tree(tmp_path, user=0)
    done = run(tmp_path, "sh", "scripts/chromium.sh", env=env)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.split("\n", 1)[0].endswith("About to install these Debian packages:")
    assert done.stdout.splitlines()[1].split() == ["chromium", "libx"]
    assert (tmp_path / "calls").read_text().splitlines() == [
        "apt-get install --simulate --no-install-recommends chromium",
        "apt-get install -y --no-install-recommends chromium",
    ]


def test_a_chromium_that_is_there_is_enough(tmp_path: Path) -> None:
    env = tree(tmp_path, user=1000)
    (tmp_path / "path" / "chromium").symlink_to(tmp_path / "path" / "node")
    done = run(tmp_path, "make", "test", env=env)
    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "calls").read_text().splitlines()[-1] == "python scripts/run_tests.py browser=yes"


def test_without_bubblewrap_root_is_told_that_it_is_installed(tmp_path: Path) -> None:
    env = tree(tmp_path, user=0)
    (tmp_path / "path" / "bwrap").unlink()
    done = run(tmp_path, "sh", "scripts/bubblewrap.sh", env=env)
    assert (done.returncode, done.stderr) == (0, "")
    assert "About to install the Debian package bubblewrap." in done.stdout
    assert (tmp_path / "calls").read_text() == "apt-get install -y --no-install-recommends bubblewrap\n"


def test_without_a_compiler_root_is_told_which_packages_are_installed(tmp_path: Path) -> None:
    env = tree(tmp_path, user=0)
    (tmp_path / "path" / "cc").unlink()
    done = run(tmp_path, "sh", "scripts/compiler.sh", env=env)
    assert (done.returncode, done.stderr) == (0, "")
    assert "About to install the Debian packages gcc and libc6-dev." in done.stdout
    assert (tmp_path / "calls").read_text().splitlines() == [
        "apt-get update",
        "apt-get install -y --no-install-recommends gcc libc6-dev",
    ]


def test_without_bubblewrap_an_ordinary_user_is_told_how_to_get_it(tmp_path: Path) -> None:
    env = tree(tmp_path, user=1000)
    (tmp_path / "path" / "bwrap").unlink()
    done = run(tmp_path, "sh", "scripts/bubblewrap.sh", env=env)
    assert done.returncode == 1
    assert "apt install bubblewrap" in done.stderr
