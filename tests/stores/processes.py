"""Real processes for the tests of this folder: started by exec, always ended."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path

CHILD = Path(__file__).with_name("child.py")


@contextlib.contextmanager
def child(*arguments: str | Path) -> Generator[subprocess.Popen[str]]:
    """`child.py` with these arguments, killed at the latest when the block ends."""
    command = [sys.executable, str(CHILD), *map(str, arguments)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def say(process: subprocess.Popen[str]) -> str:
    """The next line that the process prints."""
    assert process.stdout is not None
    return process.stdout.readline().rstrip("\n")


def tell(process: subprocess.Popen[str], text: str) -> None:
    """Write a line to the process."""
    assert process.stdin is not None
    process.stdin.write(f"{text}\n")
    process.stdin.flush()
