"""Repositories in every state: what is compared, what is refused, and that nothing in them is run or written."""

from __future__ import annotations

import contextlib
import subprocess
from pathlib import Path

import pytest

from openskelo import errors
from openskelo.values.path_scope import PROTECTED_PATHS, PathScope
from tests.agents import repository as agents_repository
from tests.checks.scope import check, git, outside, repository, write
from tests.repo import tracked


def test_without_commits_every_file_is_new(tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet")
    write(tmp_path, "src/a.py")
    write(tmp_path, "README.md")
    report = check(tmp_path)
    assert (report.base, len(report.changes), outside(report)) == ("", 2, ["README.md"])


def test_in_the_middle_of_a_merge_the_files_are_compared_with_the_commit(tmp_path: Path) -> None:
    root = repository(tmp_path)
    git(root, "switch", "--quiet", "-c", "other")
    write(root, "README.md", "theirs\n")
    write(root, "src/a.py", "theirs\n")
    git(root, "commit", "--quiet", "-am", "theirs")
    git(root, "switch", "--quiet", "main")
    write(root, "src/a.py", "ours\n")
    git(root, "commit", "--quiet", "-am", "ours")
    with contextlib.suppress(subprocess.CalledProcessError):
        git(root, "merge", "other")
    assert (root / ".git/MERGE_HEAD").exists()
    assert ([change.path for change in check(root).changes], outside(check(root))) == (
        ["README.md", "src/a.py"],
        ["README.md"],
    )


@pytest.fixture
def with_submodule(tmp_path: Path) -> Path:
    library = repository(tmp_path)
    root = tmp_path / "outer"
    root.mkdir()
    write(root, "src/a.py")
    git(root, "init", "--quiet")
    git(root, "submodule", "--quiet", "add", str(library), "src/library")
    git(root, "add", "--all")
    git(root, "commit", "--quiet", "-m", "one")
    return root


def test_a_submodule_at_its_commit_has_not_changed(with_submodule: Path) -> None:
    assert check(with_submodule).document()["changed"] == []


def test_a_submodule_that_is_not_checked_out_has_not_changed(with_submodule: Path) -> None:
    git(with_submodule, "submodule", "--quiet", "deinit", "--force", "src/library")
    assert check(with_submodule).document()["changed"] == []


def test_a_file_of_a_submodule_may_not_change_although_its_path_is_allowed(with_submodule: Path) -> None:
    git(with_submodule, "config", "submodule.src/library.ignore", "all")
    write(with_submodule / "src/library", "src/new.py")
    found = check(with_submodule, PathScope(allowed_paths=("**",))).outside
    assert [(one.file, one.why) for one in found] == [("src/library/src/new.py", "it is in a submodule")]


def test_a_submodule_may_not_move_to_another_commit(with_submodule: Path) -> None:
    git(with_submodule / "src/library", "commit", "--quiet", "--allow-empty", "-m", "two")
    found = check(with_submodule, PathScope(allowed_paths=("**",))).outside
    assert [(one.file, one.why) for one in found] == [("src/library", "it is a submodule at another commit")]


@pytest.mark.parametrize("damage", ["remove", "link", "no repository"])
def test_a_submodule_that_is_gone_or_replaced_is_found(with_submodule: Path, tmp_path: Path, damage: str) -> None:
    place = with_submodule / "src/library"
    if damage == "no repository":
        (place / ".git").unlink()
    else:
        place.rename(tmp_path / "moved")
    if damage == "link":
        place.symlink_to(tmp_path / "moved")
    assert outside(check(with_submodule, PathScope(allowed_paths=("**",), protected_paths=()))) == ["src/library"]


def test_a_linked_worktree_is_a_repository(tmp_path: Path) -> None:
    root = repository(tmp_path)
    git(root, "worktree", "add", "--quiet", str(tmp_path / "tree"))
    write(tmp_path / "tree", "README.md")
    assert (check(root).ok, outside(check(tmp_path / "tree"))) == (True, ["README.md"])


def test_a_repository_of_the_newer_format_is_compared(tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet", "--object-format=sha256")
    write(tmp_path, "src/a.py")
    write(tmp_path, "README.md")
    git(tmp_path, "add", "--all")
    git(tmp_path, "commit", "--quiet", "-m", "one")
    assert check(tmp_path).changes == ()
    write(tmp_path, "README.md", "other\n")
    assert outside(check(tmp_path)) == ["README.md"]


def test_large_files_null_bytes_and_links_that_lead_nowhere_are_compared(tmp_path: Path) -> None:
    root = repository(tmp_path)
    (root / "src/large").write_bytes(b"\0x" * 5 * 1024 * 1024)
    (root / "src/loop").symlink_to("loop")
    (root / "src/nowhere").symlink_to("gone")
    git(root, "add", "--all")
    git(root, "commit", "--quiet", "-m", "two")
    assert check(root).changes == ()
    (root / "src/large").write_bytes(b"\0x" * (5 * 1024 * 1024 - 1) + b"\0y")
    assert [(change.path, change.kind) for change in check(root).changes] == [("src/large", "modified")]


def test_nothing_that_the_repository_names_is_run_and_nothing_is_written(tmp_path: Path) -> None:
    root = repository(tmp_path)
    proof = tmp_path / "proof"
    agents_repository.plant(root / ".git", proof)
    write(root, "src/a.py")
    write(root, ".gitattributes", "* filter=evil diff=evil\n")
    before = {path: path.lstat().st_mtime_ns for path in (root, *root.rglob("*"))}
    assert outside(check(root)) == [".gitattributes"]
    assert {path: path.lstat().st_mtime_ns for path in (root, *root.rglob("*"))} == before
    assert not proof.exists()


def test_a_repository_that_cannot_be_written_is_checked(tmp_path: Path) -> None:
    root = repository(tmp_path)
    write(root, "README.md")
    folders = [path for path in (root, *root.rglob("*")) if path.is_dir()]
    for folder in folders:
        folder.chmod(0o555)
    try:
        assert outside(check(root)) == ["README.md"]
    finally:
        for folder in folders:
            folder.chmod(0o755)


@pytest.mark.parametrize(
    ("place", "error", "code"),
    [
        ("gone", errors.NotFound, "PATH_NOT_FOUND"),
        ("repo/README.md", errors.NotFound, "PATH_NOT_FOUND"),
        ("plain", errors.InvalidInput, "GIT_FAILED"),
        ("repo/src", errors.InvalidInput, "GIT_FAILED"),
        ("bare.git", errors.InvalidInput, "GIT_FAILED"),
        ("damaged", errors.InvalidInput, "GIT_FAILED"),
    ],
)
def test_what_is_no_repository_is_refused(
    tmp_path: Path, place: str, error: type[errors.OpenSkeloError], code: str
) -> None:
    root = repository(tmp_path)
    (tmp_path / "plain").mkdir()
    git(tmp_path, "clone", "--quiet", "--bare", str(root), "bare.git")
    git(tmp_path, "clone", "--quiet", str(root), "damaged")
    write(tmp_path, "damaged/.git/HEAD", "\0")
    with pytest.raises(error) as refused:
        check(tmp_path / place)
    assert (refused.value.code, bool(refused.value.hint or code == "PATH_NOT_FOUND")) == (code, True)


@pytest.mark.parametrize(
    ("base", "code"),
    [
        ("nothing", "REVISION_NOT_FOUND"),
        ("0" * 40, "REVISION_NOT_FOUND"),
        ("HEAD:README.md", "GIT_REVISION"),
        ("--output=x", "GIT_REVISION"),
        ("main..HEAD", "REVISION_NOT_FOUND"),
        ("", "GIT_REVISION"),
    ],
)
def test_a_base_that_is_no_commit_is_refused(tmp_path: Path, base: str, code: str) -> None:
    root = repository(tmp_path)
    with pytest.raises(errors.OpenSkeloError) as refused:
        check(root, base=base)
    assert refused.value.code == code


def test_a_head_that_leads_nowhere_is_no_empty_repository(tmp_path: Path) -> None:
    root = repository(tmp_path)
    git(root, "symbolic-ref", "HEAD", "refs/heads/gone")
    with pytest.raises(errors.NotFound) as refused:
        check(root)
    assert refused.value.code == "REVISION_NOT_FOUND"


def test_objects_that_are_missing_are_an_error_and_no_pass(tmp_path: Path) -> None:
    root = repository(tmp_path)
    tree = git(root, "rev-parse", "HEAD^{tree}")
    (root / ".git/objects" / tree[:2] / tree[2:]).unlink()
    with pytest.raises(errors.AttemptFailed) as refused:
        check(root)
    assert refused.value.code == "GIT_FAILED"


def test_wrong_patterns_are_found_before_anything_is_compared(tmp_path: Path) -> None:
    with pytest.raises(errors.InvalidInput) as refused:
        check(tmp_path / "gone", PathScope(allowed_paths=("/src",)))
    assert refused.value.code == "SCOPE_PATTERN"


def test_the_guide_lists_what_is_protected() -> None:
    page = (tracked.ROOT / "docs/guide/scope.md").read_text("utf-8")
    assert [pattern for pattern in PROTECTED_PATHS if f"`{pattern}`" not in page] == []
