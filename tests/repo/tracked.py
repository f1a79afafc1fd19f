"""The files of this repository, as git knows them."""

from __future__ import annotations

import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent


def files(*patterns: str) -> list[Path]:
    """Tracked files (deleted ones left out) that match any of the git patterns, or all of them."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--", *patterns], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return [ROOT / name for name in listed.stdout.split("\0") if name and (ROOT / name).is_file()]


def text(path: Path) -> str:
    """A file's text; bytes that are no UTF-8 are kept as escapes, so that every file can be searched."""
    return path.read_text("utf-8", errors="backslashreplace")
