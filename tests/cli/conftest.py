"""The real `skelo`, run as a process in a temporary folder."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

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
        done = subprocess.run(
            [SKELO, *words],
            cwd=folder or self.folder,
            input=stdin,
            capture_output=True,
            text=True,
            env=clean_environment() | dict(env or {}),
            timeout=60,
            check=False,
        )
        assert "Traceback" not in done.stderr, done.stderr
        return Result(code=done.returncode, out=done.stdout, err=done.stderr)

    def write(self, name: str, text: str) -> Path:
        """A file in the folder."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path


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
