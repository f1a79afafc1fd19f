"""How the Problems of a workflow are shown: `FILE:LINE:COL: CODE message` for people, a list for programs."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from openskelo import errors
from openskelo.cli import ink, output
from openskelo.frozen import replace
from openskelo.kernel.json import Json
from openskelo.workflows.problems import Problem


def show(problems: Sequence[errors.ProblemLike], *, as_json: bool) -> None:
    """Print Problems that stopped a command."""
    found = [problem for problem in problems if isinstance(problem, Problem)]
    if as_json:
        output.document({"problems": [as_document(problem) for problem in found]})
        return
    # What is wrong in a document that stands in no file is at the same place wherever it is: told once.
    told = list({replace(problem, path=""): problem for problem in found}.values())
    for problem in told:
        line(problem)
    output.note(count(told))


def line(problem: Problem, *, in_file: bool = True) -> None:
    """One Problem on stderr, its hint behind it; that of a document which is in no file is at a path."""
    paint = ink.Ink(sys.stderr).paint
    place = f"{problem.file}:{problem.line}:{problem.column}:" if in_file else f"{problem.path or '/'}:"
    colour = "yellow" if problem.severity == "warning" else "red"
    word = "warning " if problem.severity == "warning" else ""
    hint = f" ({ink.one_line(problem.hint)})" if problem.hint else ""
    message = ink.one_line(problem.message)
    output.note(f"{paint(ink.clean(place), 'bold')} {word}{paint(problem.code, colour)} {message}{paint(hint, 'dim')}")


def as_document(problem: Problem) -> dict[str, Json]:
    """One Problem as JSON."""
    return {**problem.document(), "severity": problem.severity}


def count(problems: Sequence[Problem]) -> str:
    """How many, in words."""
    return f"{output.count(len(problems), 'problem')} found, nothing was started"
