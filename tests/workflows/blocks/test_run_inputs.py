"""What expressions read as `run.inputs.NAME` is an input that is used, and one that has to be there."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.workflows import marking

_INPUTS = "inputs: {xs: {type: array}, k: integer}\n"
_GATE = "post_gates: [{type: expr, expression: "


@pytest.mark.parametrize(
    "block",
    [
        "{id: a, foreach: {items: run.inputs.xs}, when: run.inputs.k > 2}",
        "{id: a, prompt: 'about {{ run.inputs.xs }} and {{ run . inputs . k }}'}",
        "{id: a, when: size(run.inputs) > 1}",
        f"{{id: a, foreach: {{items: run.inputs.xs}}, {_GATE}'run.inputs[\"k\"] > 1'}}]}}",
        "{id: a, mode: approval, approval: {prompt: '{{ run.inputs.xs }}, {{ run.inputs.k }}?'}}",
    ],
)
def test_an_input_that_is_read_of_the_run_is_used(tmp_path: Path, block: str) -> None:
    assert marking.check(f"{_INPUTS}blocks: [{block}]\n", tmp_path) == ()


@pytest.mark.parametrize(
    "block",
    [
        "{id: a, foreach: {items: run.inputs.‸xss}}",
        "{id: a, prompt: 'about {{ run.inputs.‸xss }}'}",
        f"{{id: a, {_GATE}run.inputs.‸kk > 1}}]}}",
    ],
)
def test_an_input_that_the_workflow_does_not_have_is_a_problem(tmp_path: Path, block: str) -> None:
    text, wanted = marking.expected("UNKNOWN_INPUT", f"{_INPUTS}blocks: [{block}]\n")
    assert marking.errors(marking.check(text, tmp_path)) == wanted


def test_words_in_quotes_read_nothing(tmp_path: Path) -> None:
    found = marking.check("blocks: [{id: a, when: \"'run.inputs.xs' != ''\"}]\n", tmp_path)
    assert marking.errors(found) == []


def test_a_file_of_a_prompt_is_looked_at_too(tmp_path: Path) -> None:
    folder = tmp_path / "asking"
    folder.mkdir()
    (folder / "task.md").write_text("Say {{ run.inputs.k }}, {{ run.inputs.nothing }}.\n")
    text, wanted = marking.expected("UNKNOWN_INPUT", "inputs: {k: integer}\nblocks: [{id: a, block_dir: ‸asking}]\n")
    found = marking.check(text, tmp_path)
    assert (marking.errors(found), marking.warnings(found)) == (wanted, [])
