"""What commands print: documents for programs, lines and tables for people, errors for both."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence
from datetime import datetime

from openskelo import errors
from openskelo.cli import exits, ink
from openskelo.kernel.json import Json


def document(value: Json) -> None:
    """One JSON document on stdout."""
    _write(_encode(value, indented=True))


def raw_line(line: bytes) -> None:
    """Bytes that are already a line of JSON, exactly as stored."""
    _write(line)


def say(text: str = "") -> None:
    """A line for people on stdout. Clean the parts that come from data."""
    sys.stdout.write(text + "\n")


def note(text: str = "") -> None:
    """A line of progress or advice on stderr."""
    sys.stderr.write(text + "\n")
    sys.stderr.flush()


def report(error: errors.OpenSkeloError, *, as_json: bool) -> int:
    """Tell the user about an error and give the exit code that goes with it."""
    if isinstance(error, errors.InvalidWorkflow):
        from openskelo.cli import problems  # noqa: PLC0415 - needed for this error only

        problems.show(error.problems, as_json=as_json)
    elif as_json:
        document({"error": {"code": error.code, "message": error.message, "hint": error.hint}})
    else:
        paint = ink.Ink(sys.stderr).paint
        note(f"{paint('error', 'red', 'bold')}: {error.code} {ink.clean(error.message)}")
        if error.hint:
            note("  " + ink.clean(error.hint).replace("\n", "\n  "))
    return exits.of_error(error)


def table(headers: Sequence[str], rows: Sequence[Sequence[str]], *, flexible: int = -1) -> None:
    """Columns on stdout. On a terminal the `flexible` column is cut so that lines fit; in a pipe nothing is."""
    cells = [list(map(ink.one_line, row)) for row in rows]
    widths = [max(map(ink.width, column)) for column in zip(headers, *cells, strict=True)]
    if sys.stdout.isatty():
        spare = shutil.get_terminal_size().columns - sum(widths) - 2 * (len(widths) - 1)
        widths[flexible] = max(8, widths[flexible] + min(0, spare))
    painter = ink.Ink(sys.stdout)
    say(
        "  ".join(
            painter.paint(ink.pad(text, size), "dim") for text, size in zip(headers, widths, strict=True)
        ).rstrip()
    )
    for row in cells:
        cut = (ink.one_line(text, size) for text, size in zip(row, widths, strict=True))
        say("  ".join(_tinted(text, size, painter) for text, size in zip(cut, widths, strict=True)).rstrip())


def moment(ms: int) -> str:
    """A recorded time, in the reader's zone."""
    return datetime.fromtimestamp(ms / 1000).astimezone().strftime("%Y-%m-%d %H:%M:%S")


def duration(seconds: float) -> str:
    """A length of time as people say it."""
    if seconds < 0.0005:
        return "0 s"
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 60:
        return f"{seconds:.1f} s".replace(".0 s", " s")
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes:02d} min" if minutes else f"{hours} h"
    return f"{minutes} min {rest:02d} s" if rest else f"{minutes} min"


def dollars(usd: float, digits: int = 15) -> str:
    """An amount of money with so many digits that say something, never in powers of ten: models take small amounts."""
    return f"{float(f'{usd:.{digits}g}'):.9f}".rstrip("0").rstrip(".")


def count(number: int, noun: str) -> str:
    """A number of things: `1 event`, `2 events`."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def size(count: int) -> str:
    """A number of bytes as people say it."""
    left = float(count)
    for unit in ("bytes", "KiB", "MiB"):
        if left < 1024:
            return f"{left:.0f} {unit}" if unit == "bytes" else f"{left:.1f} {unit}"
        left /= 1024
    return f"{left:.1f} GiB"


def compact(value: Json, limit: int | None = None) -> str:
    """A JSON value on one line for people, cut at `limit` columns."""
    return ink.one_line(_encode(value, indented=False).decode(), limit)


def _tinted(text: str, size: int, painter: ink.Ink) -> str:
    return painter.ending(text) + " " * max(0, size - ink.width(text))


def _encode(value: Json, *, indented: bool) -> bytes:
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
