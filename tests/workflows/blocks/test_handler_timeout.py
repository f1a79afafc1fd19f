"""The time limit of a handler: its block's, its file's, its project's, else five minutes."""

from __future__ import annotations

from pathlib import Path

import pytest

from openskelo.workflows import load
from tests.workflows import marking

BLOCK = "outputs: {n: integer}"
PYTHON = "mode: deterministic, deterministic: {handler: handlers/n.py:sync}"
ASYNC = "mode: deterministic, deterministic: {handler: handlers/n.py:later}"
PROGRAM = "mode: deterministic, deterministic: {handler: handlers/n.sh}"
BUILTIN = 'mode: deterministic, deterministic: {handler: "builtin:transform", config: {map: {n: "1"}}}'
LOCAL = 'mode: deterministic, deterministic: {handler: "local:n"}'
APPROVAL = "mode: approval, approval: {prompt: Count., form: {n: integer}}"


def limit(folder: Path, block: str, *, defaults: str = "{}", project: str = "{}") -> int | None:
    """Return the time limit of the block `a` in a project with these settings."""
    handlers = folder / "handlers"
    handlers.mkdir()
    (handlers / "n.py").write_text("def sync(ctx): ...\nasync def later(ctx): ...\n", encoding="utf-8")
    (handlers / "n.sh").write_text("#!/bin/sh\n", encoding="utf-8")
    (handlers / "n.sh").chmod(0o755)
    (folder / "skelo.yaml").write_text(project, encoding="utf-8")
    text = f"defaults: {defaults}\nblocks:\n  - {{id: a, {BLOCK}, {block}}}\n"
    assert marking.errors(marking.check(text, folder)) == []
    return load.load(folder / "flow.yaml").nodes["a"].timeout_ms


@pytest.mark.parametrize("handler", [PYTHON, ASYNC, PROGRAM, BUILTIN])
def test_a_handler_is_stopped_after_five_minutes_by_default(handler: str, tmp_path: Path) -> None:
    assert limit(tmp_path, handler) == 300_000


@pytest.mark.parametrize("block", ["prompt: Count.", APPROVAL, LOCAL])
def test_other_work_has_no_default_limit(block: str, tmp_path: Path) -> None:
    assert limit(tmp_path, block, project="handler_timeout_ms: 4000") is None


def test_the_project_overrides_the_default(tmp_path: Path) -> None:
    assert limit(tmp_path, PYTHON, project="handler_timeout_ms: 4000") == 4000


def test_the_file_overrides_the_project(tmp_path: Path) -> None:
    assert limit(tmp_path, PYTHON, defaults="{timeout_ms: 3000}", project="handler_timeout_ms: 4000") == 3000


def test_the_block_overrides_the_file(tmp_path: Path) -> None:
    block = f"{PYTHON}, timeout_ms: 2000"
    assert limit(tmp_path, block, defaults="{timeout_ms: 3000}", project="handler_timeout_ms: 4000") == 2000


def test_a_used_file_has_the_limit_of_the_project(tmp_path: Path) -> None:
    (tmp_path / "skelo.yaml").write_text("handler_timeout_ms: 4000", encoding="utf-8")
    (tmp_path / "inner.yaml").write_text(f"blocks:\n  - {{id: a, {BLOCK}, {BUILTIN}}}\n", encoding="utf-8")
    (tmp_path / "flow.yaml").write_text("blocks:\n  - {id: sub, uses: inner.yaml}\n", encoding="utf-8")
    assert load.load(tmp_path / "flow.yaml").nodes["sub/a"].timeout_ms == 4000


@pytest.mark.parametrize("value", ["0", "604800001", "soon", "null"])
def test_a_limit_that_is_no_time_is_a_problem(value: str, tmp_path: Path) -> None:
    text = f"handler_timeout_ms: {value}\n"
    (tmp_path / "skelo.yaml").write_text(text, encoding="utf-8")
    found = marking.check(f"blocks:\n  - {{id: a, {BLOCK}, {BUILTIN}}}\n", tmp_path)
    assert [(problem.file.endswith("skelo.yaml"), problem.line) for problem in found] == [(True, 1)]
