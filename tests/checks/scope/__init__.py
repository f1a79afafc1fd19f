"""A git repository whose changes are checked against a scope."""

from __future__ import annotations

import asyncio
import subprocess
from pathlib import Path

from openskelo.checks import scope
from openskelo.checks.scope.report import Report
from openskelo.values.path_scope import PathScope

SCOPE = PathScope(allowed_paths=("src/**", "tests/**"), forbidden_paths=("src/secret/**",))


def git(folder: Path, *args: str) -> str:
    """Return what git prints."""
    command = ["git", "-c", "user.name=Ada", "-c", "user.email=ada@example.org", "-c", "protocol.file.allow=always"]
    return subprocess.run([*command, *args], cwd=folder, check=True, capture_output=True, text=True).stdout.strip()


def write(folder: Path, name: str, text: str = "changed\n") -> Path:
    """Return the path of a file that is written, with its folders."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def repository(folder: Path) -> Path:
    """Return the top of a new repository with a commit."""
    root = folder / "repo"
    root.mkdir()
    for name in ("src/a.py", "src/b.py", "src/secret/key.py", "tests/test_a.py", "README.md", "src/base.py"):
        write(root, name, f"{name}\n")
    write(root, "pyproject.toml", "[project]\n")
    write(root, ".gitignore", "*.log\nbuild/\n")
    (root / "src/link.py").symlink_to("a.py")
    git(root, "init", "--quiet", "--initial-branch=main")
    git(root, "add", "--all")
    git(root, "commit", "--quiet", "-m", "one")
    return root


def check(root: Path, allowed: PathScope = SCOPE, base: str = "HEAD", allowlist: Path | None = None) -> Report:
    """Return the report of the check."""
    return asyncio.run(scope.check(root, allowed, base=base, allowlist=allowlist))


def outside(report: Report) -> list[str]:
    """Return the files that are outside."""
    return [found.file for found in report.outside]
