"""Prints what commands output: JSON documents for programs, lines and tables for people, errors for both.

Text for people has colours on a terminal only. The standard streams are protected first, so that a closed stream, a
full disk or an odd character does not stop a command.
"""

from __future__ import annotations

import io
import os
import shutil
import sys
import unicodedata
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, TextIO, cast

from openskelo import errors
from openskelo.cli import exit_codes
from openskelo.kernel.json import Json

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

    from openskelo.workflows.text.problems import Problem


def document(value: Json | Mapping[str, object]) -> None:
    """Print one JSON document on stdout."""
    _write(_encode(value, indented=True))


def raw_line(line: bytes) -> None:
    """Print a line of JSON exactly as it is stored."""
    _write(line)


def say(text: str = "") -> None:
    """Print a line for people on stdout. The caller cleans the parts that come from data."""
    sys.stdout.write(text + "\n")


def note(text: str = "") -> None:
    """Print a line of progress or advice on stderr."""
    sys.stderr.write(text + "\n")
    sys.stderr.flush()


def report(error: errors.OpenSkeloError, *, as_json: bool) -> int:
    """Print an error and return its exit code."""
    if isinstance(error, errors.InvalidWorkflow):
        show_problems(error.problems, as_json=as_json)
    elif as_json:
        document({"error": {"code": error.code, "message": error.message, "hint": error.hint}})
    else:
        paint = Painter(sys.stderr).paint
        note(f"{paint('error', 'red', 'bold')}: {error.code} {clean(error.message)}")
        if error.hint:
            note("  " + clean(error.hint).replace("\n", "\n  "))
    return exit_codes.of_error(error)


def table(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table on stdout. On a terminal the last column is cut so that lines fit; in a pipe nothing is."""
    cells = [list(map(one_line, row)) for row in rows]
    widths = [max(map(width, column)) for column in zip(headers, *cells, strict=True)]
    if sys.stdout.isatty():
        spare = shutil.get_terminal_size().columns - sum(widths) - 2 * (len(widths) - 1)
        widths[-1] = max(8, widths[-1] + min(0, spare))
    painter = Painter(sys.stdout)
    say("  ".join(painter.paint(pad(text, size), "dim") for text, size in zip(headers, widths, strict=True)).rstrip())
    for row in cells:
        cut = (one_line(text, size) for text, size in zip(row, widths, strict=True))
        say("  ".join(_colour_status(text, size, painter) for text, size in zip(cut, widths, strict=True)).rstrip())


def moment(ms: int) -> str:
    """Return a recorded time in the local time zone."""
    return datetime.fromtimestamp(ms / 1000).astimezone().strftime("%Y-%m-%d %H:%M:%S")


def duration(seconds: float) -> str:
    """Return a duration for people."""
    if seconds < 0.0005:
        return "0 s"
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 60:
        return f"{seconds:.1f} s".replace(".0 s", " s")
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        if minutes:
            return f"{hours} h {minutes:02d} min"
        return f"{hours} h"
    if rest:
        return f"{minutes} min {rest:02d} s"
    return f"{minutes} min"


def dollars(usd: float, digits: int = 15) -> str:
    """Return an amount of money with its significant digits, never in powers of ten: model calls cost little."""
    return f"{float(f'{usd:.{digits}g}'):.9f}".rstrip("0").rstrip(".")


def count(number: int, noun: str) -> str:
    """Return a number with its noun: `1 event`, `2 events`."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def size(count: int) -> str:
    """Return a number of bytes for people."""
    amount = float(count)
    for unit in ("bytes", "KiB", "MiB"):
        if amount < 1024:
            if unit == "bytes":
                return f"{amount:.0f} {unit}"
            return f"{amount:.1f} {unit}"
        amount /= 1024
    return f"{amount:.1f} GiB"


def compact(value: Json, limit: int | None = None) -> str:
    """Return a JSON value on one line for people, cut at `limit` columns."""
    return one_line(_encode(value, indented=False).decode(), limit)


def _colour_status(text: str, size: int, painter: Painter) -> str:
    return painter.ending(text) + " " * max(0, size - width(text))


def _encode(value: Json | Mapping[str, object], *, indented: bool) -> bytes:
    import orjson  # noqa: PLC0415 - errors in plain text do without it

    options = orjson.OPT_INDENT_2 if indented else 0
    try:
        return orjson.dumps(value, option=options)
    except TypeError:
        import json  # noqa: PLC0415 - only for lone surrogates (file names) and huge integers, which orjson refuses

        text = json.dumps(value, indent=2 if indented else None)
        return text.encode()


def _write(line: bytes) -> None:
    sys.stdout.flush()
    sys.stdout.buffer.write(line + b"\n")
    sys.stdout.buffer.flush()


# -- Problems ---------------------------------------------------------------------------------------------------------
#
# The Problems of a workflow: `FILE:LINE:COL: CODE message` for people, a list for programs.


def show_problems(problems: Sequence[errors.ProblemLike], *, as_json: bool) -> None:
    """Print Problems that stopped a command."""
    from openskelo.structs import replace  # noqa: PLC0415 - not on the path of --help
    from openskelo.workflows.text.problems import Problem  # noqa: PLC0415

    own_problems = [problem for problem in problems if isinstance(problem, Problem)]
    if as_json:
        document({"problems": [problem_document(problem) for problem in own_problems]})
        return
    # Problems of a document in memory all have the same line and column: print equal ones once.
    distinct = list({replace(problem, path=""): problem for problem in own_problems}.values())
    for problem in distinct:
        print_problem(problem)
    note(count_problems(distinct))


def print_problem(problem: Problem, *, in_file: bool = True) -> None:
    """Print one Problem on stderr with its hint; one that is not in a file has a path instead of a position."""
    paint = Painter(sys.stderr).paint
    place = f"{problem.file}:{problem.line}:{problem.column}:" if in_file else f"{problem.path or '/'}:"
    colour = "yellow" if problem.severity == "warning" else "red"
    word = "warning " if problem.severity == "warning" else ""
    hint = f" ({one_line(problem.hint)})" if problem.hint else ""
    message = one_line(problem.message)
    note(f"{paint(clean(place), 'bold')} {word}{paint(problem.code, colour)} {message}{paint(hint, 'dim')}")


def problem_document(problem: Problem) -> dict[str, Json]:
    """Return a Problem as JSON."""
    return {**problem.document(), "severity": problem.severity}


def count_problems(problems: Sequence[Problem]) -> str:
    """Return the number of Problems as a sentence."""
    return f"{count(len(problems), 'problem')} found, nothing was started"


# -- the standard streams ---------------------------------------------------------------------------------------------


class _TolerantFile(io.FileIO):
    """A file that drops what cannot be written, such as on a full disk, and keeps the error in `failure`.

    A closed pipe still raises BrokenPipeError.
    """

    failure: OSError | None = None

    def write(self, data: ReadableBuffer, /) -> int:
        if self.failure is None:
            try:
                return super().write(data)
            except BrokenPipeError:
                raise
            except OSError as error:
                self.failure = error
        return memoryview(data).nbytes


def protect_streams() -> None:
    """Replace closed standard streams by the null device, and make stdout and stderr tolerate write errors."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        stream: TextIO | None = getattr(sys, name)
        if stream is None:
            flags = os.O_RDONLY if name == "stdin" else os.O_WRONLY
            os.dup2(os.open(os.devnull, flags), number)
            setattr(sys, name, os.fdopen(number, "r" if name == "stdin" else "w"))
        elif name != "stdin" and isinstance(stream, io.TextIOWrapper):
            text = cast("io.TextIOWrapper", stream)
            text.reconfigure(errors="backslashreplace")
            if type(_raw(text)) is io.FileIO and text.fileno() == number:
                setattr(sys, name, _tolerant(text, number))


def reserve_stdout() -> None:
    """Let only this process write to standard output; programs that it starts write to standard error instead.

    The output of a command may be one JSON document. A program that an async handler starts inherits descriptor 1, and
    would write into the document.
    """
    if isinstance(_raw(sys.stdout), _TolerantFile) and sys.stdout.fileno() == 1:
        own_descriptor = os.dup(1)  # not inherited by programs
        sys.stdout = sys.__stdout__ = _tolerant(cast("io.TextIOWrapper", sys.stdout), own_descriptor)
        os.dup2(2, 1)


def write_failure() -> OSError | None:
    """Return the error that kept something from standard output, or None; call it after a flush."""
    raw = _raw(sys.stdout)
    return raw.failure if isinstance(raw, _TolerantFile) else None


def _raw(stream: TextIO) -> object:
    return getattr(stream.buffer, "raw", stream.buffer)  # without a buffer (python -u) they are the same


def _tolerant(stream: io.TextIOWrapper, descriptor: int) -> io.TextIOWrapper:
    """Return a stream with the settings of `stream` that writes to `descriptor`."""
    raw = _TolerantFile(descriptor, "w", closefd=False)
    return io.TextIOWrapper(
        raw if stream.buffer is _raw(stream) else io.BufferedWriter(raw),
        encoding=stream.encoding,
        errors=stream.errors,
        newline="\n",
        line_buffering=stream.line_buffering,
        write_through=stream.write_through,
    )


# -- colour and width of text on a terminal; no colour in a pipe or with NO_COLOR --------------------------------------


_CODES = {
    "bold": "1",
    "dim": "2",
    "red": "31",
    "green": "32",
    "yellow": "33",
    "blue": "34",
    "magenta": "35",
    "cyan": "36",
}

#: The colour of each badge.
_BADGE_COLOURS = {"AI": "magenta", "AGENT": "blue", "DET": "green", "HUMAN": "yellow", "DAG": "cyan"}


def badge(mode: str) -> str:
    """Return the short label of a kind of work: AI, DET, HUMAN, …; the mode itself if it is an unknown one."""
    from openskelo.kernel import definition  # noqa: PLC0415 -- `skelo model install` prints before anything is installed

    return definition.work_kind(mode).badge or mode


def badge_colour(mode: str) -> str:
    """Return the colour of a kind of work, empty if it has none."""
    return _BADGE_COLOURS.get(badge(mode), "")


def coloured(stream: TextIO) -> bool:
    """True if colour may be written to this stream."""
    return stream.isatty() and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"


class Painter:
    """Colours text for one stream, if the stream shows colours."""

    def __init__(self, stream: TextIO) -> None:
        self._on = coloured(stream)

    def paint(self, text: str, *styles: str) -> str:
        """Return `text` in these styles (`bold`, `red`, …)."""
        if not self._on or not styles:
            return text
        return f"\x1b[{';'.join(_CODES[style] for style in styles)}m{text}\x1b[0m"

    def badge(self, mode: str) -> str:
        """Return the badge of a mode (AI, DET, HUMAN, DAG) in its colour, five characters wide."""
        return self.paint(f"{badge(mode):<5}", badge_colour(mode) or "bold")

    def ending(self, word: str) -> str:
        """Return a status or an ending in green, red or yellow."""
        if word in ("ok", "succeeded", "completed", "passed", "same", "approved"):
            return self.paint(word, "green")
        if word in ("failed", "denied", "escalated", "budget_exceeded", "cancelled", "altered", "different"):
            return self.paint(word, "red")
        if word in ("paused", "blocked", "waiting", "uncertain", "unfinished"):
            return self.paint(word, "yellow")
        return word


def clean(text: str) -> str:
    """Return a text that is safe on a terminal: control characters become visible, newlines and tabs stay."""
    if text.isprintable():
        return text
    return "".join(
        char if char in "\n\t" or unicodedata.category(char) not in ("Cc", "Cf", "Cs") else f"\\u{ord(char):04x}"
        for char in text
    )


def one_line(text: str, limit: int | None = None) -> str:
    """Return a clean text on one line, cut with … at `limit` columns."""
    flat = " ".join(clean(text).split())
    if limit is None or width(flat) <= limit:
        return flat
    clean_text = ""
    for char in flat:
        if width(clean_text) + width(char) > limit - 1:
            break
        clean_text += char
    return clean_text + "…"


def width(text: str) -> int:
    """Return the number of columns of `text` on a terminal."""
    if text.isascii():
        return len(text)
    return sum(map(_char_width, text))


def _char_width(char: str) -> int:
    if unicodedata.combining(char):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def pad(text: str, columns: int) -> str:
    """Return `text` padded with spaces to `columns`."""
    return text + " " * max(0, columns - width(text))
