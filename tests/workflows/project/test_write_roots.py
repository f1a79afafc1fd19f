"""The folders that data may write to hold no code: which may be declared, and what is not loaded from them."""

from __future__ import annotations

import os
import sysconfig
from pathlib import Path

import pytest

from openskelo import errors
from openskelo.executors.handlers import module_loader
from openskelo.workflows import load
from openskelo.workflows.project import project_file
from tests.executors import workshop
from tests.workflows import marking

FLOW = """\
name: flow
blocks:
  - id: a
    mode: deterministic
    deterministic: {handler: HANDLER}
"""
CODE = "def handler(ctx):\n    return {}\n"


def project(root: Path, settings: str = "") -> Path:
    (root / "handlers").mkdir(parents=True)
    (root / "out").mkdir()
    (root / "handlers" / "it.py").write_text(CODE)
    (root / "skelo.yaml").write_text(settings)
    return root


def problems_of(root: Path, handler: str, *, file: str = "flow.yaml") -> list[marking.Place]:
    (root / file).write_text(FLOW.replace("HANDLER", handler))
    return marking.errors(load.check(root / file)[1])


@pytest.mark.parametrize(
    ("declared", "reason"),
    [
        (".", "it holds the project itself"),
        ("..", "it holds the project itself"),
        ("/", "it holds the project itself"),
        (".skelo/sub", "the project's runs are there"),
        ("sub/.git", "it is part of the project's own data"),
        (sysconfig.get_path("purelib"), "Python loads code from there"),
        (f"{sysconfig.get_path('stdlib')}/json", "Python loads code from there"),
        (str(Path(sysconfig.get_path("purelib")).parent), "Python loads code from there"),
    ],
)
def test_a_folder_that_holds_code_or_the_projects_data_is_no_write_root(
    declared: str, reason: str, tmp_path: Path
) -> None:
    root = project(tmp_path / "project", f"write_roots: [out, {declared}]\n")
    (problem,) = project_file.check(root)[1]
    assert (problem.code, problem.line, problem.column) == ("WRITE_ROOT_INVALID", 1, 20)
    assert problem.message == f"data may not be written to {declared!r}: {reason}"


@pytest.mark.parametrize("declared", ["out", "notes/new", "../elsewhere", "~/somewhere"])
def test_any_other_folder_may_be_a_write_root(declared: str, tmp_path: Path) -> None:
    root = project(tmp_path / "project", f"write_roots: {declared}\n").resolve()
    expected = Path(os.path.realpath(root / Path(declared).expanduser()))
    assert project_file.project_at(root).write_roots == (expected,)


def test_a_project_that_declares_no_write_root_has_out(tmp_path: Path) -> None:
    root = project(tmp_path / "project").resolve()
    assert project_file.project_at(root).write_roots == (root / "out",)


def test_a_handler_in_a_write_root_is_a_problem(tmp_path: Path) -> None:
    root = project(tmp_path / "project")
    (root / "out" / "it.py").write_text(CODE)
    (root / "handlers" / "link.py").symlink_to(root / "out" / "it.py")
    assert problems_of(root, "handlers/it.py") == []
    assert problems_of(root, "out/it.py") == [("CODE_IN_WRITE_ROOT", 5, 30)]
    assert problems_of(root, "handlers/link.py") == [("CODE_IN_WRITE_ROOT", 5, 30)]


def test_a_tool_in_a_write_root_is_a_problem(tmp_path: Path) -> None:
    root = project(tmp_path / "project", "write_roots: [made]\ntools: {it: made/it.py}\n")
    (root / "made").mkdir()
    (root / "made" / "it.py").write_text(CODE)
    assert marking.errors(project_file.check(root)[1]) == [("CODE_IN_WRITE_ROOT", 2, 13)]


@pytest.mark.parametrize("path", ["out/it.py", "handlers/link.py", "out/it.sh"])
def test_a_handler_that_appears_in_a_write_root_is_not_run(path: str, tmp_path: Path) -> None:
    root = project(tmp_path / "project")
    for name in ("it.py", "it.sh"):
        (root / "out" / name).write_text(CODE)
        (root / "out" / name).chmod(0o755)
    (root / "handlers" / "link.py").symlink_to(root / "out" / "it.py")
    with pytest.raises(errors.AttemptFailed) as refused:
        module_loader.Sources(workshop.project(root)).locate(path)
    assert (refused.value.code, refused.value.retryable) == ("CODE_IN_WRITE_ROOT", False)
    assert "data may write to" in refused.value.message


def test_a_workflow_in_a_write_root_is_a_problem_also_when_another_file_uses_it(tmp_path: Path) -> None:
    root = project(tmp_path / "project")
    assert problems_of(root, "handlers/it.py", file="out/flow.yaml") == [("CODE_IN_WRITE_ROOT", 1, 1)]
    (root / "outer.yaml").write_text("name: outer\nblocks: [{id: a, uses: out/flow.yaml}]\n")
    assert marking.errors(load.check(root / "outer.yaml")[1]) == [("CODE_IN_WRITE_ROOT", 2, 24)]


@pytest.mark.parametrize("folder", [".skelo/workspaces/r/n/tree", "runs/blobs", ".hidden", "link"])
def test_no_workflow_in_the_data_dir_or_a_hidden_folder_is_used(folder: str, tmp_path: Path) -> None:
    root = project(tmp_path / "project", "data_dir: runs\n")
    (root / "link").symlink_to(root / "runs")
    (root / "runs").mkdir()
    (root / folder).mkdir(parents=True, exist_ok=True)
    (root / folder / "inner.yaml").write_text("blocks: [{id: a}]\n")
    (root / "outer.yaml").write_text(f"name: outer\nblocks: [{{id: a, uses: {folder}/inner.yaml}}]\n")
    assert marking.errors(load.check(root / "outer.yaml")[1]) == [("USES_OUTSIDE", 2, 24)]


def test_no_workflow_in_a_data_dir_that_only_the_command_names_is_used(tmp_path: Path) -> None:
    root = project(tmp_path / "project")
    (root / "elsewhere").mkdir()
    (root / "elsewhere" / "inner.yaml").write_text("blocks: [{id: a}]\n")
    (root / "outer.yaml").write_text("name: outer\nblocks: [{id: a, uses: elsewhere/inner.yaml}]\n")
    assert load.check(root / "outer.yaml")[0] is not None
    found = load.check(root / "outer.yaml", data_dir=root / "elsewhere")[1]
    assert marking.errors(found) == [("USES_OUTSIDE", 2, 24)]


@pytest.mark.parametrize("folder", ["out/prompts", ".skelo/workspaces/r/n/tree", ".hidden"])
def test_no_part_of_a_prompt_is_read_where_data_may_write(folder: str, tmp_path: Path) -> None:
    root = project(tmp_path / "project")
    (root / folder).mkdir(parents=True)
    (root / folder / "task.md").write_text("Say it.")
    text = f"name: w\nblocks: [{{id: a, block_dir: {folder}}}]\n"
    (root / "w.yaml").write_text(text)
    assert marking.errors(load.check(root / "w.yaml")[1]) == [("BLOCK_DIR_INVALID", 2, 29)]
