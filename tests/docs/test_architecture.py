"""The map of the code, and the pages on extending it, name files and functions that exist."""

from __future__ import annotations

import ast
import functools
import json
import keyword
import re
from pathlib import Path

import pytest

from tests.repo import tracked

_PAGE = tracked.ROOT / "docs" / "architecture.md"
_SOURCE = tracked.ROOT / "src" / "openskelo"
#: A file in the last cell of a row, and the names that follow it before the next file.
_PLACES = re.findall(
    r"`((?:[a-z_]+/)+[a-z_]+\.py)`((?: `[a-z_]+`)*)",
    "\n".join(line for line in _PAGE.read_text("utf-8").splitlines() if line.startswith("|")),
)


@pytest.mark.parametrize(("file", "names"), sorted(set(_PLACES)))
def test_a_named_file_has_the_functions_that_the_map_names(file: str, names: str) -> None:
    path = _SOURCE / file
    assert path.is_file(), f"{file} has moved: name its new place in docs/architecture.md"
    tree = ast.parse(path.read_text("utf-8"))
    defined = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}
    missing = set(re.findall(r"`(\w+)`", names)) - defined
    assert not missing, f"{file} no longer defines {sorted(missing)}: name what does in docs/architecture.md"


_ROUTES = re.findall(r"`(GET|POST|PATCH|PUT|DELETE) (/[^`\s]*)`", _PAGE.read_text("utf-8"))


def test_the_map_names_routes_of_the_server() -> None:
    paths = json.loads((tracked.ROOT / "tests" / "server" / "openapi.json").read_text("utf-8"))["paths"]
    assert _ROUTES
    unknown = [f"{method} {path}" for method, path in _ROUTES if method.lower() not in paths.get(path, {})]
    assert unknown == [], "name routes of tests/server/openapi.json in docs/architecture.md"


_PAGES = sorted((tracked.ROOT / "docs" / "extending").glob("*.md"))
#: An example of a page, with the file that a reader would write it into.
_EXAMPLE = re.compile(r"(`[^`]+`:\n\n)?```.*?```", re.DOTALL)


@functools.cache
def _names() -> frozenset[str]:
    """Return every name that the code and its tests define, use or spell as a string."""
    found: set[str] = set()
    for path in (*_SOURCE.rglob("*.py"), *(tracked.ROOT / "tests").rglob("*.py")):
        found.add(path.stem)
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            match node:
                case (
                    ast.FunctionDef(name=name)
                    | ast.AsyncFunctionDef(name=name)
                    | ast.ClassDef(name=name)
                    | ast.Name(id=name)
                    | ast.Attribute(attr=name)
                    | ast.arg(arg=name)
                    | ast.Constant(value=str(name))
                ):
                    found.add(name)
                case _:
                    pass
    return frozenset(found)


def _missing(text: str) -> set[str]:
    """Return what a page names between backticks that is neither a file nor a name of the code."""
    spans = set(re.findall(r"`([^`\n]+)`", _EXAMPLE.sub("", text)))
    paths = {span for span in spans if re.fullmatch(r"[a-z_/.-]*/[a-z_/.-]*|[a-z_]+\.py", span)}
    missing = {span for span in paths if not _exists(span)}
    for span in spans - paths:
        named = re.fullmatch(r"([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)(?:\(.*\))?", span)
        parts = [] if named is None or span.endswith(".txt") else named[1].split(".")
        if any(part not in _names() and not keyword.iskeyword(part) for part in parts):
            missing.add(span)
    return missing


def _exists(name: str) -> bool:
    return any((root / name).exists() for root in (tracked.ROOT, _SOURCE)) or any(_SOURCE.rglob(name.lstrip("/")))


@pytest.mark.parametrize("page", _PAGES, ids=lambda page: page.name)
def test_a_page_on_extending_names_what_is_there(page: Path) -> None:
    assert _missing(page.read_text("utf-8")) == set()


def test_what_is_gone_is_found() -> None:
    text = "See `src/openskelo/nowhere.py`, `executors/api.py`, `zzz_gone.f(x)`, `gates.passed()` and `async def f()`."
    assert _missing(text) == {"src/openskelo/nowhere.py", "zzz_gone.f(x)"}
