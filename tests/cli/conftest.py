"""The real `skelo`, run as a process in a temporary folder."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests import forked_skelo

SKELO = Path(sys.executable).parent / "skelo"


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What a process left behind."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        """Standard output as the one JSON document it must be."""
        return json.loads(self.out)


@dataclass(frozen=True, slots=True, kw_only=True)
class Skelo:
    """Runs commands in one folder."""

    folder: Path

    def __call__(
        self, *words: str, stdin: str = "", env: Mapping[str, str] | None = None, folder: Path | None = None
    ) -> Result:
        done = run_skelo(words, stdin=stdin, env=env or {}, folder=folder or self.folder)
        assert "Traceback" not in done.stderr, done.stderr
        return Result(code=done.returncode, out=done.stdout, err=done.stderr)

    def write(self, name: str, text: str) -> Path:
        """A file in the folder."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path


def run_skelo(
    words: Sequence[str], *, stdin: str, env: Mapping[str, str], folder: Path
) -> subprocess.CompletedProcess[str]:
    """`skelo` to its end: forked, or by a new interpreter where that could make a difference."""
    environment = clean_environment() | dict(env)
    if not any(name.startswith(forked_skelo.READ_AT_START) for name in env):
        return forked_skelo.run(words, folder=folder, stdin=stdin, env=environment)
    return subprocess.run(
        [SKELO, *words],
        cwd=folder,
        input=stdin,
        capture_output=True,
        text=True,
        env=environment,
        timeout=60,
        check=False,
    )


def clean_environment() -> dict[str, str]:
    """The environment without anything that changes what `skelo` does."""
    return {key: value for key, value in os.environ.items() if not key.startswith("SKELO_") and key != "NO_COLOR"}


@pytest.fixture
def skelo(tmp_path: Path) -> Skelo:
    """`skelo` in an empty folder that is a project of its own."""
    project = tmp_path / "project"
    project.mkdir()
    (project / "skelo.yaml").write_text("name: test\nwrite_roots: [out]\n")
    return Skelo(folder=project)
