"""A file in the other form, as Python asks for it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, cast

import pytest

import openskelo

SAY = {"id": "say", "op": "transform", "args": {"expr": "'Hello ' + input.name"}, "save_as": "text"}
END = {"id": "end", "op": "emit", "args": {"result_ref": "var:text"}}
PLAN = {"plan_id": "greet", "inputs": {"name": "Ada"}, "steps": [SAY, END]}


def written(folder: Path, document: object) -> Path:
    path = folder / "plan.json"
    path.write_text(json.dumps(document))
    return path


def test_a_plan_becomes_a_document_of_blocks(tmp_path: Path) -> None:
    document = cast("Any", openskelo.convert(written(tmp_path, PLAN), to="blocks"))
    assert openskelo.from_document(document).plan is None
    assert {block["id"] for block in document["blocks"]} >= {"say"}


def test_a_file_that_has_the_form_already_is_no_input(tmp_path: Path) -> None:
    with pytest.raises(openskelo.InvalidInput, match="is a plan already"):
        openskelo.convert(written(tmp_path, PLAN), to="plan")


def test_another_form_is_no_input(tmp_path: Path) -> None:
    with pytest.raises(openskelo.InvalidInput, match="'graph' is not a form of a workflow"):
        openskelo.convert(written(tmp_path, PLAN), to=cast("Any", "graph"))


def test_what_the_other_form_cannot_say_is_listed(tmp_path: Path) -> None:
    again = {"id": "again", "op": "branch", "args": {"cond": {"expr": "input.n > 1"}, "then": "say", "else": "end"}}
    looping = {**PLAN, "inputs": {"name": "Ada", "n": 1}, "steps": [SAY, again, END]}
    with pytest.raises(openskelo.InvalidWorkflow) as raised:
        openskelo.convert(written(tmp_path, looping), to="blocks")
    assert raised.value.problems
