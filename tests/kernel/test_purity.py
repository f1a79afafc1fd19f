"""The kernel has no clock, no chance, no loop of its own and no way to the outside."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import openskelo.kernel

ALLOWED = {
    "__future__",
    "collections",
    "collections.abc",
    "functools",
    "hashlib",
    "heapq",
    "itertools",
    "msgspec",
    "operator",
    "typing",
}
FILES = sorted(Path(openskelo.kernel.__file__).parent.rglob("*.py"))


def imported(path: Path) -> Iterator[str]:
    """Every module that the file imports, wherever in it."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path.name} imports relatively"
            yield str(node.module)


def test_the_kernel_imports_pure_modules_only() -> None:
    found = {name for path in FILES for name in imported(path)}
    assert "heapq" in found  # the walk sees what is there
    ours = {name for name in found if name == "openskelo" or name.startswith("openskelo.")}
    assert found - ours <= ALLOWED
    assert {name for name in ours if not name.startswith("openskelo.kernel")} <= {
        "openskelo",
        "openskelo.errors",
        "openskelo.structs",
    }


def test_the_kernel_opens_prints_and_evaluates_nothing() -> None:
    calls = {
        node.func.id
        for path in FILES
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    }
    assert "len" in calls
    assert calls.isdisjoint({"open", "print", "input", "eval", "exec", "compile", "__import__", "id", "hash"})
