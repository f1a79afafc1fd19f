"""The server's own log on stderr, for people or as JSON lines; values of declared secrets are masked in both."""

from __future__ import annotations

import itertools
import logging
import sys
import traceback
from collections.abc import Mapping
from typing import Literal, TextIO

import orjson

from openskelo.contract import envelope
from openskelo.handlers import secret
from openskelo.kernel.json import Json

Form = Literal["text", "json"]
#: Who logs a line for each request that is made or answered.
QUIET = ("uvicorn", "httpx", "httpcore", "httpx2", "httpcore2", "opentelemetry")


def configure(form: Form, secrets: Mapping[str, str] | None, stream: TextIO | None = None) -> None:
    """Write what this process logs to the stream (stderr), from INFO on; what is `QUIET` from WARNING on."""
    handler = logging.StreamHandler(stream or sys.stderr)
    hidden = secret.values(secrets)
    handler.setFormatter(JsonLines(hidden) if form == "json" else Plain(hidden))
    root = logging.getLogger()
    for before in root.handlers[:]:
        root.removeHandler(before)
    root.addHandler(handler)
    root.setLevel(logging.INFO)
    for name in QUIET:
        logging.getLogger(name).setLevel(logging.WARNING)


class Plain(logging.Formatter):
    """One line for people: level, who says it, what."""

    def __init__(self, hidden: tuple[str, ...]) -> None:
        super().__init__("%(levelname)s %(name)s %(message)s")
        self._hidden = hidden

    def format(self, record: logging.LogRecord) -> str:
        """The record as text, traceback included."""
        return secret.mask(super().format(record), self._hidden)


class JsonLines(logging.Formatter):
    """One JSON object a line: `ts`, `level`, `logger`, `message`, and `error` with its traceback for a defect."""

    def __init__(self, hidden: tuple[str, ...]) -> None:
        super().__init__()
        self._hidden = hidden

    def format(self, record: logging.LogRecord) -> str:
        """The record as one line."""
        document: dict[str, Json] = {
            "ts": envelope.timestamp(int(record.created * 1000)),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": self._clean(record.getMessage()),
        }
        if record.exc_info is not None and record.exc_info[1] is not None:
            error = record.exc_info[1]
            document["error"] = self._clean(f"{type(error).__name__}: {error}")
            document["traceback"] = self._clean("".join(traceback.format_exception(error)))
        elif record.exc_text:  # another process has logged it
            document["error"] = self._clean(_error_in(record.exc_text))
            document["traceback"] = self._clean(record.exc_text)
        return orjson.dumps(document).decode()

    def _clean(self, text: str) -> str:
        return secret.mask(text, self._hidden).encode("utf-8", "replace").decode()


def _error_in(trace: str) -> str:
    """What a traceback ends with: the kind of the error, and what it says."""
    lines = trace.rpartition("Traceback (most recent call last):")[2].splitlines()
    return "\n".join(itertools.dropwhile(lambda line: not line or line.startswith(" "), lines))
