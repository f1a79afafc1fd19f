"""The real `skelo` on a pseudo-terminal, with a user who types."""

from __future__ import annotations

import os
import pty
import select
import signal
import time
from collections.abc import Mapping
from pathlib import Path

from tests import forked_skelo
from tests.cli.conftest import clean_environment

_SCREEN = {"TERM": "xterm", "COLUMNS": "80", "LINES": "24", "NO_COLOR": "1"}


class Terminal:
    """`skelo` on a pseudo-terminal, 80 columns wide."""

    def __init__(self, folder: Path, *words: str, env: Mapping[str, str] | None = None) -> None:
        self._main, child = pty.openpty()
        self.seen = ""
        self._read = 0
        environment = clean_environment() | _SCREEN | dict(env or {})
        self.process = forked_skelo.start(words, folder=folder, env=environment, terminal=child)
        os.close(child)

    def until(self, text: str) -> None:
        """Read until `text` appears after what was read before."""
        deadline = time.monotonic() + 100
        while (at := self.seen.find(text, self._read)) < 0:
            assert time.monotonic() < deadline, self.seen
            ready, _, _ = select.select([self._main], [], [], 0.2)
            if ready:
                self.seen += os.read(self._main, 65536).decode()
        self._read = at + len(text)

    def type(self, line: str) -> None:
        os.write(self._main, line.encode() + b"\n")

    def interrupt(self) -> None:
        """Ctrl-C."""
        self.process.send_signal(signal.SIGINT)

    def end(self) -> int:
        """Read the rest and give the exit code."""
        while True:
            try:
                chunk = os.read(self._main, 65536)
            except OSError:
                break
            if not chunk:
                break
            self.seen += chunk.decode()
        os.close(self._main)
        return self.process.wait(timeout=20)
