"""diff_applies_cleanly, on real repositories."""

from __future__ import annotations

from pathlib import Path

import pytest

from openskelo.handlers import project_registry
from openskelo.kernel.json import Json
from tests.executors import workshop
from tests.executors.ops import bench


def check(root: Path, patch: Json, **more: Json) -> bench.Done:
    args: dict[str, Json] = {"checker_id": "diff_applies_cleanly", "input_ref": patch, **more}
    return bench.perform(workshop.project(root), "verify", args)


def test_a_patch_that_applies_holds_and_leaves_the_tree_as_it_was(tmp_path: Path) -> None:
    bench.repository(tmp_path, file="old\n")
    done = check(tmp_path, bench.patch("file", "old", "new"))
    assert (done.value, done.holds) == ({"ok": True, "files": ["file"]}, True)
    assert (tmp_path / "file").read_text() == "old\n"
    assert bench.git(tmp_path, "status", "--porcelain", "--untracked-files=no") == ""


def test_a_patch_of_other_lines_does_not_hold_and_says_where(tmp_path: Path) -> None:
    bench.repository(tmp_path, file="old\n")
    done = check(tmp_path, bench.patch("file", "older", "new"))
    reason = "error: patch failed: file:1\nerror: file: patch does not apply"
    assert (done.value, done.holds) == ({"ok": False, "reason": reason, "files": []}, False)


def test_the_working_tree_counts_not_the_commit(tmp_path: Path) -> None:
    bench.repository(tmp_path, file="old\n")
    (tmp_path / "file").write_text("changed\n")
    assert check(tmp_path, bench.patch("file", "changed", "new")).holds is True
    assert check(tmp_path, bench.patch("file", "old", "new")).holds is False


@pytest.mark.parametrize(
    ("patch", "reason"),
    [
        ("", "it is empty"),
        (" \n", "it is empty"),
        ({"a": 1}, "it is not a text that could be a patch"),
        ("no patch at all\n", 'error: No valid patches in input (allow with "--allow-empty")'),
        ("--- a/../up\n+++ b/../up\n@@ -0,0 +1 @@\n+a\n", "error: invalid path '../up'"),
    ],
)
def test_what_is_no_patch_of_this_repository_does_not_hold(tmp_path: Path, patch: Json, reason: str) -> None:
    bench.repository(tmp_path, file="old\n")
    assert check(tmp_path, patch).value == {"ok": False, "reason": reason, "files": []}


def test_the_project_names_the_repository(tmp_path: Path) -> None:
    bench.repository(tmp_path / "code", file="old\n")
    assert check(tmp_path, bench.patch("file", "old", "new"), repo="code").holds is True
    fixed = project_registry.Function(
        name="applies", kind="builtin", target="diff_applies_cleanly", config={"repo": "code"}, needs_input=True
    )
    where = workshop.project(tmp_path, registry=project_registry.Registry(checkers={"applies": fixed}))
    args: dict[str, Json] = {"checker_id": "applies", "input_ref": bench.patch("file", "old", "new")}
    assert bench.perform(where, "verify", args).value == {"ok": True, "files": ["file"]}


def test_a_folder_inside_of_a_repository_is_not_taken_for_one(tmp_path: Path) -> None:
    # git apply would ignore paths outside of the folder, and find nothing wrong with them.
    bench.repository(tmp_path, file="old\n")
    (tmp_path / "inner").mkdir()
    done = check(tmp_path, bench.patch("file", "old", "new"), repo="inner")
    assert (done.code, done.holds) == ("GIT_FAILED", None)


@pytest.mark.parametrize(("repo", "code"), [("missing", "GIT_FAILED"), ("..", "DET_PATH_INVALID")])
def test_a_repository_that_cannot_be_is_a_failure_and_no_verdict(tmp_path: Path, repo: str, code: str) -> None:
    root = tmp_path / "project"
    bench.repository(root, file="old\n")
    done = check(root, bench.patch("file", "old", "new"), repo=repo)
    assert (done.code, done.value) == (code, None)


def test_git_that_is_not_installed_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bench.repository(tmp_path, file="old\n")
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    done = check(tmp_path, bench.patch("file", "old", "new"))
    assert done.failure is not None
    assert (done.code, done.failure.retryable) == ("GIT_MISSING", False)
    assert done.failure.message == "git is not installed, or not on the PATH (install git)"
