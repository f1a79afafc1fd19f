"""Code meets a store through its Protocols, and an engine through its Protocol.

No code outside of `stores` asks which store it has or imports one. Only the server's `app` takes the whole store of an
engine, and hands each part what it needs. Only the factory and the public names name the local engine.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

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


def _imports(root: Path, module: str) -> Iterator[str]:
    """Yield each file that imports the module or something below it, or names it in a text, for a later import."""
    for path in sorted(root.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            match node:
                case ast.ImportFrom(module=str(name), names=aliases):
                    names = [name, *(f"{name}.{alias.name}" for alias in aliases)]
                case ast.Import(names=aliases):
                    names = [alias.name for alias in aliases]
                case ast.Constant(value=str(name)):
                    names = [name]
                case _:
                    names = []
            if any(name == module or name.startswith(f"{module}.") for name in names):
                yield path.relative_to(root).as_posix()
                break


def _takes_whole_store(root: Path) -> Iterator[str]:
    """Yield each file with `history.store` in its code."""
    for path in sorted(root.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            match node:
                case ast.Attribute(attr="store", value=ast.Attribute(attr="history") | ast.Name(id="history")):
                    yield path.relative_to(root).as_posix()
                    break
                case _:
                    pass


def test_only_the_stores_and_their_factory_import_a_kind_of_store() -> None:
    places = [name for name in _imports(ROOT, "openskelo.stores.sqlite") if not name.startswith("stores/")]
    assert places == []


def test_only_the_factory_and_the_public_names_name_the_local_engine() -> None:
    assert list(_imports(ROOT, "openskelo.engine.local")) == ["__init__.py", "engine/api.py"]


@pytest.mark.parametrize(("package", "allowed"), [("cli", []), ("server", ["app.py"])])
def test_the_command_line_and_the_server_do_not_take_the_whole_store(package: str, allowed: list[str]) -> None:
    assert list(_takes_whole_store(ROOT / package)) == allowed


def test_every_import_and_every_whole_store_is_found(tmp_path: Path) -> None:
    texts = ("from a import b", "import a.b.c", "from a.b import c", "x = 'a.b'", "from a import c")
    for number, text in enumerate(texts):
        (tmp_path / f"{number}.py").write_text(text)
    assert list(_imports(tmp_path, "a.b")) == ["0.py", "1.py", "2.py", "3.py"]
    (tmp_path / "5.py").write_text("f(engine.history.store)")
    (tmp_path / "6.py").write_text("f(history.store.read_events)")
    assert list(_takes_whole_store(tmp_path)) == ["5.py", "6.py"]
