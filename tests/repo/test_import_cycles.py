"""No module of the package imports itself through others, imports in functions and for the type checker included."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import openskelo

ROOT = Path(openskelo.__file__).parent


def _modules(root: Path) -> Mapping[str, Path]:
    """Return the files of a package by the dotted name of their module."""
    named: dict[str, Path] = {}
    for path in sorted(root.rglob("*.py")):
        parts = (root.name, *path.relative_to(root).with_suffix("").parts)
        named[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return named


def _imports(name: str, path: Path, modules: Mapping[str, Path]) -> Iterator[str]:
    """Yield the modules of the package that a module imports, anywhere in its text.

    `from package import module` imports the module; the package itself only if the name is not a module of it.
    """
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in modules)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                above = package.split(".")[: len(package.split(".")) - node.level + 1]
                base = ".".join([*above, *([base] if base else [])])
            for alias in node.names:
                member = f"{base}.{alias.name}"
                if member in modules:
                    yield member
                elif base in modules:
                    yield base


def find_cycle(root: Path) -> list[str]:
    """Return the modules of an import cycle, the first one again at the end; empty if there is none."""
    modules = _modules(root)
    graph = {name: set(_imports(name, path, modules)) for name, path in modules.items()}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(reversed(error.args[1]))
    return []


def test_no_module_imports_itself_through_others() -> None:
    assert " -> ".join(find_cycle(ROOT)) == ""


@pytest.mark.parametrize(
    "text",
    [
        "from package import a",
        "def late():\n    import package.a\n",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from package.a import b\n",
        "from . import a",
        "from .a import b",
    ],
)
def test_a_cycle_is_found_however_it_is_imported(tmp_path: Path, text: str) -> None:
    root = tmp_path / "package"
    root.mkdir()
    (root / "__init__.py").write_text("")
    (root / "a.py").write_text("import package.b\n")
    (root / "b.py").write_text(text)
    assert set(find_cycle(root)) == {"package.a", "package.b"}


def test_a_package_may_import_its_modules(tmp_path: Path) -> None:
    root = tmp_path / "package"
    root.mkdir()
    (root / "__init__.py").write_text("from package import a\nfrom package.b import thing\n")
    (root / "a.py").write_text("from package import b\n")
    (root / "b.py").write_text("thing = 1\n")
    assert find_cycle(root) == []
