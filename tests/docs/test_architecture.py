"""The map of the code names files and functions that exist."""

from __future__ import annotations

import ast
import re

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
