"""Extensions: each is one file, has the name of its file, and importing it imports nothing heavy."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from openskelo import extensions, gates, ops
from openskelo.handlers import builtin
from openskelo.ops import checkers, tools, transforms
from openskelo.providers import kinds

CATALOGS: dict[str, Mapping[str, object]] = {
    "handler": builtin.HANDLERS,
    "gate": gates.GATES,
    "op": ops.OPS,
    "provider": kinds.KINDS,
    "checker": checkers.CHECKERS,
    "tool": tools.TOOLS,
    "transform": transforms.TRANSFORMS,
}


@pytest.mark.parametrize("kind", CATALOGS)
def test_every_definition_has_the_name_of_its_file(kind: str) -> None:
    catalog = CATALOGS[kind]
    assert len(catalog) > 1
    assert [getattr(definition, "name") for definition in catalog.values()] == list(catalog)  # noqa: B009
    assert list(catalog) == sorted(catalog)


def test_a_file_is_all_it_takes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "some_shapes"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "round_table.py").write_text("SHAPE = 'round'\n")
    (package / "class_.py").write_text("SHAPE = 'square'\n")
    (package / "broken.py").write_text("SHAPE = 3\n")
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    shapes = extensions.Catalog("some_shapes", "SHAPE", str, prefix="my:", separator="-")
    assert list(shapes) == ["my:broken", "my:class", "my:round-table"]
    assert (shapes["my:round-table"], shapes["my:class"]) == ("round", "square")
    assert shapes.get("my:other") is None
    assert "my:broken" in shapes
    with pytest.raises(TypeError, match=r"some_shapes\.broken has no constant SHAPE of type str"):
        shapes["my:broken"]


def test_listing_names_imports_no_module_and_definitions_import_nothing_heavy() -> None:
    heavy = ("asyncio", "httpx", "httpx2", "pydantic", "pydantic_ai", "xllamacpp", "rich", "sqlite3")
    program = (
        "import sys\n"
        "from tests.test_extensions import CATALOGS\n"
        "names = [list(catalog) for catalog in CATALOGS.values()]\n"
        "assert 'openskelo.handlers.builtin.csv_read' not in sys.modules\n"
        "before = set(sys.modules)\n"
        "print(sum(len(list(catalog.values())) for catalog in CATALOGS.values()) > 5)\n"
        f"print(sorted(set({heavy!r}) & (set(sys.modules) - before)))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["True", "[]"]
