"""A path that leads nowhere is answered with its neighbour, spelled as the author spells it."""

from __future__ import annotations

from pathlib import Path

import pytest

from openskelo.workflows import load
from openskelo.workflows.text import problems as text_problems


@pytest.mark.parametrize(
    ("said", "hint"),
    [
        ("helo.yaml", "did you mean 'hello.yaml'?"),
        ("hello", "did you mean 'hello.yaml'?"),
        ("./steps/slugs.yaml", "did you mean './steps/slug.yaml'?"),
        ("zzz.yaml", None),
        ("nowhere/hello.yaml", None),
        ("", None),
        ("a\0b", None),
    ],
)
def test_the_neighbour_is_named(said: str, hint: str | None, tmp_path: Path) -> None:
    (tmp_path / "steps").mkdir()
    for name in ("hello.yaml", "release.yaml", "steps/slug.yaml"):
        (tmp_path / name).touch()
    assert text_problems.similar_path(tmp_path / said, said) == hint


def test_a_name_with_only_the_same_ending_is_not_similar(tmp_path: Path) -> None:
    (tmp_path / "slogan.yaml").touch()
    assert text_problems.similar_path(tmp_path / "nothing.yaml", "nothing.yaml") is None


def test_a_folder_is_no_neighbour_of_a_file(tmp_path: Path) -> None:
    (tmp_path / "prompts").mkdir()
    assert text_problems.similar_path(tmp_path / "prompt", "prompt") is None
    assert text_problems.similar_path(tmp_path / "prompt", "prompt/", accept=Path.is_dir) == "did you mean 'prompts'?"


def test_files_and_folders_that_a_workflow_names_are_suggested(tmp_path: Path) -> None:
    (tmp_path / "prompts" / "slogan").mkdir(parents=True)
    (tmp_path / "inner.yaml").touch()
    (tmp_path / "flow.yaml").write_text(
        "name: flow\nblocks:\n"
        "  - {id: ask, block_dir: prompts/slogen, outputs: {text: string}}\n"
        "  - {id: part, uses: ./iner.yaml}\n"
    )
    _, problems = load.check(tmp_path / "flow.yaml")
    assert {problem.code: problem.hint for problem in problems if problem.code.endswith("_NOT_FOUND")} == {
        "BLOCK_DIR_NOT_FOUND": "did you mean 'prompts/slogan'?",
        "USES_NOT_FOUND": "did you mean './inner.yaml'?",
    }
