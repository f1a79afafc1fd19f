"""The examples in a Markdown page as things to do: write this file, run this command, run this Python.

The convention (CONTRIBUTING explains it to authors):

- A fence ```console holds commands: lines that begin with `$ `, continued by lines that begin with `> `. What follows
  a command, up to the next one, is what it prints; nothing there means that what it prints is not compared.
  A last line `(exit code N)` says that it exits with N instead of 0.
- A fence with `file=NAME` after its language is a file of that name, written before what follows.
- Any other fence ```python is a script.
- Other languages (```sh, ```text, ```yaml …) are for reading only.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_FENCE = re.compile(r"^(?P<ticks>`{3,})(?P<info>[^\n`]*)\n(?P<body>.*?)^(?P=ticks)[ ]*$", re.MULTILINE | re.DOTALL)
_EXIT = re.compile(r"\(exit code (\d+)\)")


@dataclass(frozen=True, slots=True, kw_only=True)
class File:
    """Text to be found in the page's folder from here on."""

    line: int
    name: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """A shell command, how it must exit and what it must print (None: not compared)."""

    line: int
    text: str
    exit_code: int
    printed: str | None


Step = File | Command


def steps(page: str) -> Iterator[Step]:
    """What a reader of the page does, in order."""
    for number, fence in enumerate(_FENCE.finditer(page), start=1):
        language, *options = fence["info"].split() or [""]
        line = page.count("\n", 0, fence.start()) + 2
        named = [option.removeprefix("file=") for option in options if option.startswith("file=")]
        if named:
            yield File(line=line, name=named[0], text=fence["body"])
        elif language == "console":
            yield from _commands(fence["body"], line)
        elif language == "python":
            script = f"example_{number}.py"
            yield File(line=line, name=script, text=fence["body"])
            yield Command(line=line, text=f"python {script}", exit_code=0, printed=None)


def _commands(body: str, first_line: int) -> Iterator[Command]:
    lines = body.splitlines()
    starts = [index for index, line in enumerate(lines) if line.startswith("$ ")]
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        stop = start + 1
        while stop < end and lines[stop].startswith("> "):
            stop += 1
        printed = _trimmed("\n".join(lines[stop:end]))
        exits = _EXIT.fullmatch(printed[-1]) if printed else None
        if exits:
            printed.pop()
        yield Command(
            line=first_line + start,
            text="\n".join(line[2:] for line in lines[start:stop]),
            exit_code=int(exits[1]) if exits else 0,
            printed="\n".join(printed) if printed else None,
        )


#: What differs from run to run: a page shows what one run printed, and another run prints others in their places.
_CHANGING = (
    r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}",
    r"\b[0-9a-f]{64}\b",
    r"\bsha256:[0-9a-f]+",
    r"\b\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\b",
    r"\b\d\d:\d\d:\d\d\b",
    r"\b\d{8}-\d{6}\b",
    r"\b[0-9a-f]{8}\b",
    r"\b\d+(?:\.\d+)? (?:ms|s)\b",
    r"by +\w+",  # the user who answers
)
_PART = re.compile("|".join([r"(\.\.\.)", *(f"({changing})" for changing in _CHANGING)]))


def fits(shown: str, printed: str) -> bool:
    """Whether what was printed is what the page shows: ids, hashes, times and users may be others, `...` stands for
    anything within a line, and alone for any lines. Space at the ends of lines and empty lines at the ends of the
    whole do not matter.
    """
    pattern = ""
    for line in _trimmed(shown):
        pattern += r"(?:[^\n]*\n)*?" if line.strip() == "..." else _line_pattern(line) + r"\n"
    return re.fullmatch(pattern, "".join(f"{line}\n" for line in _trimmed(printed))) is not None


def _line_pattern(line: str) -> str:
    pattern, end = "", 0
    for part in _PART.finditer(line):
        changing = r"[^\n]*?" if part.lastindex == 1 else _CHANGING[(part.lastindex or 0) - 2]
        pattern += re.escape(line[end : part.start()]) + changing
        end = part.end()
    return pattern + re.escape(line[end:])


def _trimmed(text: str) -> list[str]:
    return [line.rstrip() for line in text.strip("\n").splitlines()]
