"""Code meets a store through its Protocols: no `isinstance` of a concrete store outside the package `stores`."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import openskelo
from openskelo.stores import memory
from openskelo.stores.sqlite import sqlite_store

ROOT = Path(openskelo.__file__).parent
STORES = frozenset(
    store.__name__ for store in (memory.MemoryStore, sqlite_store.SqliteStore, sqlite_store.ReadonlySqliteStore)
)


def _type_checks(root: Path) -> Iterator[str]:
    """Yield `file:line` of each test for a concrete store: isinstance, issubclass, type(...) or a class pattern."""
    for path in sorted(root.rglob("*.py")):
        name = str(path.relative_to(root))
        if name.startswith("stores/"):
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if _is_type_check(node) and STORES & set(_names(node)):
                yield f"{name}:{getattr(node, 'lineno', 0)}"


def _is_type_check(node: ast.AST) -> bool:
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Name) and node.func.id in ("isinstance", "issubclass")
    if isinstance(node, ast.Compare):
        return any(isinstance(part, ast.Is | ast.IsNot | ast.Eq | ast.NotEq) for part in node.ops)
    return isinstance(node, ast.MatchClass)


def _names(node: ast.AST) -> Iterator[str]:
    for part in ast.walk(node):
        if isinstance(part, ast.Name):
            yield part.id
        elif isinstance(part, ast.Attribute):
            yield part.attr


def test_no_code_outside_the_stores_asks_which_store_it_has() -> None:
    assert list(_type_checks(ROOT)) == []


def test_every_way_to_ask_is_found(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(
        "isinstance(store, sqlite_store.SqliteStore)\n"
        "type(store) is MemoryStore\n"
        "match store:\n    case memory.MemoryStore():\n        pass\n"
    )
    assert list(_type_checks(tmp_path)) == ["a.py:1", "a.py:2", "a.py:4"]
