"""The schema for editors: its golden copy is current, good files pass, and mistakes it can see do not."""

from __future__ import annotations

from pathlib import Path

import pytest

import openskelo
from openskelo.values.schema import validator
from openskelo.workflows.blocks import editor_schema
from openskelo.workflows.text import source
from tests.workflows import test_block_mistakes, test_load, test_wiring_mistakes
from tests.workflows.marking import MARK

GOLDEN = Path(openskelo.__file__).parent / "workflows" / "schema" / "blocks.schema.json"
ROOT = Path(__file__).parents[3]

#: Mistakes of form that would make the schema harder to read than they are to find.
EXEMPT = frozenset(
    {"gates: a gate type of earlier days", "gates: bounds the wrong way round"}
    | {"gates: a command without a name", "gates: an argument that no program can be given"}
)
#: What only the loader can know: what ties blocks, expressions, files, other schemas.
BEYOND = frozenset(
    {"DUPLICATE_ID", "WRONG_MODE", "HANDLER_UNKNOWN", "HANDLER_NOT_FOUND", "HANDLER_OUTSIDE", "HANDLER_INVALID"}
    | {
        "DET_CONFIG_INVALID",
        "UNKNOWN_PORT",
        "OUTPUT_MISSING",
        "TYPE_MISMATCH",
        "CONFLICT",
        "ESTIMATE_INVALID",
        "EXPR_INVALID",
    }
    | {"EXPR_TYPE", "NAME_INVALID", "TEMPLATE_INVALID", "UNKNOWN_BLOCK", "SCHEMA_INVALID", "DEFAULT_INVALID"}
    | {"TWO_EDGES", "CYCLE", "UNKNOWN_INPUT", "INPUT_CONFLICT", "REGEX_INVALID", "DUPLICATE_GATE", "UNKNOWN_GATE"}
    | {"COMMANDS_NOT_ALLOWED", "GATE_TOO_EARLY", "ROUTE_FORWARD", "BOUNCE_OVER_ONCE", "URL_INVALID"}
)


def _valid(text: str) -> bool:
    value = source.parse(text.replace(MARK, "").encode(), file="f.yaml").value
    return validator.compile(editor_schema.schema()).check(value) == ()


def test_the_golden_file_is_current() -> None:
    assert editor_schema.text() == GOLDEN.read_text(encoding="utf-8"), editor_schema.text.__doc__


@pytest.mark.parametrize("text", [test_load.SEED, test_load.EVERYTHING], ids=["the seed's", "everything"])
def test_good_files_pass(text: str) -> None:
    assert _valid(text)


def test_every_example_passes() -> None:
    files = [path for folder in ("examples", "src/openskelo/cli/starter") for path in (ROOT / folder).rglob("*.yaml")]
    blocks = [path for path in files if path.read_text().find("\nblocks:") >= 0]
    assert len(blocks) >= 2
    assert [path.name for path in blocks if not _valid(path.read_text())] == []


def test_mistakes_of_form_are_caught() -> None:
    cases = {**test_block_mistakes.CASES}
    for group, found in test_wiring_mistakes.GROUPS.items():
        cases.update({f"{group}: {name}": case for name, case in found.items()})
    visible = {name: text for name, (code, text) in cases.items() if code not in BEYOND and name not in EXEMPT}
    assert len(visible) >= 60
    assert [name for name, text in visible.items() if _valid(text)] == []
