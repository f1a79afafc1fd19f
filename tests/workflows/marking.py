"""Texts with marks: `‸` stands where a Problem is expected, and is taken out before the text is read."""

from __future__ import annotations

from pathlib import Path

from openskelo.kernel.json import JsonObject
from openskelo.workflows import load
from openskelo.workflows.text import problems

MARK = "‸"

Place = tuple[str, int, int]


def embedded(max_tokens: int = 512) -> JsonObject:
    """What the loader pins for an ai block of a project that names no models."""
    expert: JsonObject = {"expert": "default", "provider": "local", "kind": "local", "model": ""}
    return {"pinned": {"experts": [{**expert, "max_tokens": max_tokens}]}}


def unmarked(text: str) -> tuple[str, list[tuple[int, int]]]:
    """The text without its marks, and the line and column of each."""
    places: list[tuple[int, int]] = []
    clean = ""
    *parts, last = text.split(MARK)
    for part in parts:
        clean += part
        places.append((clean.count("\n") + 1, len(clean) - clean.rfind("\n")))
    return clean + last, places


def check(text: str, folder: Path, *, name: str = "flow.yaml") -> tuple[problems.Problem, ...]:
    """All Problems of a file with this text."""
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return load.check(path)[1]


def errors(found: tuple[problems.Problem, ...]) -> list[Place]:
    """Code, line and column of each error."""
    return [(one.code, one.line, one.column) for one in found if one.severity == "error"]


def warnings(found: tuple[problems.Problem, ...]) -> list[Place]:
    """Code, line and column of each warning."""
    return [(one.code, one.line, one.column) for one in found if one.severity == "warning"]


def expected(codes: str, text: str) -> tuple[str, list[Place]]:
    """The clean text, and the places of the codes (in the order of the marks)."""
    clean, places = unmarked(text)
    named = codes.split()
    assert len(named) == len(places), "a mark for each code"
    return clean, [(code, line, column) for code, (line, column) in zip(named, places, strict=True)]
