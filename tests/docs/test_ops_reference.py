"""The page of what steps reach lists every built-in with its arguments."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import get_args

from openskelo.handlers import project_registry
from openskelo.kernel.json import JsonObject
from openskelo.ops import functions
from tests.docs import page


def _arguments(section: str) -> dict[str, set[str]]:
    """The names in the second cell of each row, by the name in the first."""
    rows = re.findall(r"^\| `([^`]+)` \| ([^|]*) \|", section, flags=re.MULTILINE)
    return {name: set(re.findall(r"`([a-z_]+)`", cell)) for name, cell in rows}


def _taken(rules: JsonObject | None) -> set[str]:
    found = None if rules is None else rules.get("properties")
    assert isinstance(found, Mapping)
    return set(found)


def test_every_built_in_is_listed_with_its_arguments() -> None:
    sections = page.sections(page.text("ops.md"))
    assert _arguments(sections["Tools"]) == {name: _taken(one.args) for name, one in functions.TOOLS.items()}
    assert _arguments(sections["Transforms"]) == {name: _taken(one.args) for name, one in functions.TRANSFORMS.items()}
    assert _arguments(sections["Checkers"]) == {name: _taken(one.args) for name, one in functions.CHECKERS.items()}


def test_every_resolver_is_listed() -> None:
    listed = page.rows(page.sections(page.text("ops.md"))["Contexts"])
    assert listed == list(get_args(project_registry.ContextKind))
