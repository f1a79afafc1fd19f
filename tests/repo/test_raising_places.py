"""An error that many callers meet is raised in one place, so that its words, its code and its hint stay the same."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import openskelo

ROOT = Path(openskelo.__file__).parent


def _raising_functions(root: Path, text: str) -> Iterator[str]:
    """Yield `file function` for each function that raises an error with the text in its arguments."""
    for path in sorted(root.rglob("*.py")):
        for function in ast.walk(ast.parse(path.read_text())):
            if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
                continue
            for node in ast.walk(function):
                if isinstance(node, ast.Raise) and any(text in part for part in _texts(node)):
                    yield f"{path.relative_to(root)} {function.name}"


def _texts(node: ast.AST) -> Iterator[str]:
    """Yield the strings, and the names that are called, in a statement."""
    for part in ast.walk(node):
        if isinstance(part, ast.Constant) and isinstance(part.value, str):
            yield part.value
        elif isinstance(part, ast.Name):
            yield part.id
        elif isinstance(part, ast.Attribute):
            yield part.attr


@pytest.mark.parametrize(
    ("text", "places"),
    [
        ("there is no run", ["errors.py require_run"]),
        ("no runs are kept in", ["stores/factory.py require_store"]),
        # An agent that no person can answer is told the same as one whose question was withdrawn.
        ("APPROVAL_CLOSED", ["errors.py require_open", "executors/agent_turns/call_questions.py _ask"]),
    ],
)
def test_it_is_raised_in_one_place(text: str, places: list[str]) -> None:
    assert list(_raising_functions(ROOT, text)) == places


def test_every_raising_place_is_found(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(
        'def f(x):\n    raise NotFound(f"there is no run {x}")\n\n\nasync def g():\n    raise errors.closed()\n'
    )
    assert list(_raising_functions(tmp_path, "there is no run")) == ["a.py f"]
    assert list(_raising_functions(tmp_path, "closed")) == ["a.py g"]
