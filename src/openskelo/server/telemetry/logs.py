"""The server's log on stderr, as text for people or as JSON lines; values of declared secrets are masked in both."""

from __future__ import annotations

import itertools
import logging
import sys
import traceback
from collections.abc import Mapping
from typing import Literal, TextIO, cast

import orjson

from openskelo import errors
from openskelo.executors.attempt import descriptor_wait
from openskelo.handlers import secrets as handlers_secrets
from openskelo.kernel.json import Json
from openskelo.record import envelope

Form = Literal["text", "json"]
#: Loggers that write a line for each request.
QUIET = ("uvicorn", "httpx", "httpcore", "httpx2", "httpcore2", "opentelemetry")


def configure(form: Form, secrets: Mapping[str, str] | None, stream: TextIO | None = None) -> None:
    """Send all logging of this process to the stream (stderr), from INFO on; `QUIET` loggers from WARNING on."""
    handler = logging.StreamHandler(stream or sys.stderr)
    secret_values = handlers_secrets.values(secrets)
    handler.addFilter(_Throttle())
    handler.setFormatter(JsonLines(secret_values) if form == "json" else Plain(secret_values))
    root = logging.getLogger()
    for old_handler in root.handlers[:]:
        root.removeHandler(old_handler)
    root.addHandler(handler)
    root.setLevel(logging.INFO)
    for name in QUIET:
        logging.getLogger(name).setLevel(logging.WARNING)


class _Throttle(logging.Filter):
    """Passes one line in a while about a lack of file descriptors: the event loop writes one for each connection."""

    def __init__(self) -> None:
        super().__init__()
        self._next_at = float("-inf")

    def filter(self, record: logging.LogRecord) -> bool:
        """True if the line is to be written."""
        error = None if record.exc_info is None else record.exc_info[1]
        if error is None or not errors.is_out_of_descriptors(error):
            return True
        if record.created < self._next_at:
            return False
        self._next_at = record.created + descriptor_wait.LOG_SECONDS
        return True


class Plain(logging.Formatter):
    """One line for people: level, logger, message."""

    def __init__(self, hidden: tuple[str, ...]) -> None:
        super().__init__("%(levelname)s %(name)s %(message)s")
        self._hidden = hidden

    def format(self, record: logging.LogRecord) -> str:
        """Return the record as text, with its traceback."""
        return handlers_secrets.mask(super().format(record), self._hidden)


class JsonLines(logging.Formatter):
    """One JSON object a line: `ts`, `level`, `logger`, `message`, the record's own `fields` if it has some, and `error`
    with its traceback for a defect.
    """

    def __init__(self, hidden: tuple[str, ...]) -> None:
        super().__init__()
        self._hidden = hidden

    def format(self, record: logging.LogRecord) -> str:
        """Return the record as one line."""
        document: dict[str, Json] = {
            "ts": envelope.timestamp(int(record.created * 1000)),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": self._clean(record.getMessage()),
        }
        for name, value in cast("Mapping[str, Json]", getattr(record, "fields", {})).items():
            document[name] = self._clean(value) if isinstance(value, str) else value
        if record.exc_info is not None and record.exc_info[1] is not None:
            error = record.exc_info[1]
            document["error"] = self._clean(f"{type(error).__name__}: {error}")
            document["traceback"] = self._clean("".join(traceback.format_exception(error)))
        elif record.exc_text:  # another process has logged it
            document["error"] = self._clean(_last_error(record.exc_text))
            document["traceback"] = self._clean(record.exc_text)
        return orjson.dumps(document).decode()

    def _clean(self, text: str) -> str:
        return handlers_secrets.mask(text, self._hidden).encode("utf-8", "replace").decode()


def _last_error(trace: str) -> str:
    """Return the end of a traceback: the error's type and message."""
    lines = trace.rpartition("Traceback (most recent call last):")[2].splitlines()
    return "\n".join(itertools.dropwhile(lambda line: not line or line.startswith(" "), lines))
