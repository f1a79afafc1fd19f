"""Ways out of a scope: each is a change of a real repository that must not pass."""

from __future__ import annotations

import os
import shutil
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from openskelo.checks import scope as scope_check
from openskelo.values.path_scope import PathScope
from tests.checks.scope import SCOPE, check, git, outside, repository, write

#: A way out, and the paths that are reported.
WAYS: dict[str, tuple[Callable[[Path], object], list[str]]] = {}


def way(*found: str) -> Callable[[Callable[[Path], object]], Callable[[Path], object]]:
    """Register a way out under the name of its function."""

    def register(change: Callable[[Path], object]) -> Callable[[Path], object]:
        WAYS[change.__name__] = (change, list(found))
        return change

    return register


@way("README.md")
def modify_a_file(root: Path) -> None:
    write(root, "README.md")


@way("README.md")
def modify_and_stage_a_file(root: Path) -> None:
    write(root, "README.md")
    git(root, "add", "README.md")


@way("README.md")
def stage_a_change_and_hide_it_on_disk_by_the_index(root: Path) -> None:
    write(root, "README.md")
    git(root, "update-index", "--assume-unchanged", "README.md")


@way("README.md")
def skip_the_worktree(root: Path) -> None:
    git(root, "update-index", "--skip-worktree", "README.md")
    write(root, "README.md")


@way("README.md")
def keep_size_and_times(root: Path) -> None:
    before = (root / "README.md").stat()
    write(root, "README.md", "readme.MD\n")
    os.utime(root / "README.md", ns=(before.st_atime_ns, before.st_mtime_ns))


@way("evil.txt")
def leave_an_untracked_file(root: Path) -> None:
    write(root, "evil.txt")


@way("evil.txt")
def exclude_an_untracked_file(root: Path) -> None:
    write(root, ".git/info/exclude", "evil.txt\n")
    write(root, "evil.txt")


@way("evil.txt")
def exclude_by_a_setting(root: Path) -> None:
    git(root, "config", "core.excludesFile", str(write(root, "src/excluded", "evil.txt\n")))
    write(root, "evil.txt")


@way("src/secret/evil.py")
def ignore_a_new_file(root: Path) -> None:
    write(root, "src/.gitignore", "secret/\n")
    write(root, "src/secret/evil.py")


@way("README.md")
def delete_a_file(root: Path) -> None:
    (root / "README.md").unlink()


@way("README.md")
def delete_a_file_from_the_index(root: Path) -> None:
    git(root, "rm", "--quiet", "README.md")


@way("README.md")
def rename_out_of_a_forbidden_place(root: Path) -> None:
    git(root, "mv", "README.md", "src/readme.md")


@way("docs/a.py")
def rename_into_a_forbidden_place(root: Path) -> None:
    write(root, "docs/a.py", "src/a.py\n")
    (root / "src/a.py").unlink()


@way("src/Secret/key2.py")
def write_in_another_case(root: Path) -> None:
    write(root, "src/Secret/key2.py")


@way("SRC/a.py")
def write_an_allowed_folder_in_another_case(root: Path) -> None:
    write(root, "SRC/a.py")


@way("src/A.py")
def write_beside_a_file_of_the_same_name_in_another_case(root: Path) -> None:
    write(root, "src/A.py")


@way("src/Base.py")
def write_a_protected_name_in_another_case(root: Path) -> None:
    (root / "src/base.py").rename(root / "src/kept")
    write(root, "src/Base.py")
    write(root, "src/base.py", "src/base.py\n")


@way("src/b\uff41se.py")
def write_a_protected_name_in_wide_letters(root: Path) -> None:
    write(root, "src/b\uff41se.py")


@way("src/cafe\u0301.py")
def write_decomposed_unicode(root: Path) -> None:
    write(root, "src/cafe\u0301.py")


@way("src/a\u200b.py")
def write_an_invisible_character(root: Path) -> None:
    write(root, "src/a\u200b.py")


@way("src/yp.\u202efdp.py")
def write_a_name_that_reads_backwards(root: Path) -> None:
    write(root, "src/yp.\u202efdp.py")


@way("src/a.py ")
def end_with_a_space(root: Path) -> None:
    write(root, "src/a.py ")


@way("src/a.py.")
def end_with_a_dot(root: Path) -> None:
    write(root, "src/a.py.")


@way("src/..\\README.md")
def use_a_backslash(root: Path) -> None:
    write(root, "src/..\\README.md")


@way("src/a\nb.py")
def use_a_line_break(root: Path) -> None:
    write(root, "src/a\nb.py")


@way("src/\ufffd.py")
def use_bytes_that_are_no_text(root: Path) -> None:
    (root / os.fsdecode(b"src/\xff.py")).write_text("x")


@way("src/out")
def link_out_of_the_repository(root: Path) -> None:
    (root / "src/out").symlink_to("../../elsewhere")


@way("src/passwd")
def link_to_an_absolute_path(root: Path) -> None:
    (root / "src/passwd").symlink_to("/etc/passwd")


@way("src/here")
def link_to_an_absolute_path_in_the_repository(root: Path) -> None:
    (root / "src/here").symlink_to(root / "src/a.py")


@way("src/project")
def link_to_a_protected_file(root: Path) -> None:
    (root / "src/project").symlink_to("../pyproject.toml")


@way("src/everything")
def link_to_the_whole_repository(root: Path) -> None:
    (root / "src/everything").symlink_to("..")


@way("src/hooks")
def link_into_git(root: Path) -> None:
    (root / "src/hooks").symlink_to("../.git/hooks")


@way("src/two")
def link_to_a_link_that_leads_out(root: Path) -> None:
    (root / "build").mkdir()
    (root / "build/one").symlink_to("../..")  # ignored
    (root / "src/two").symlink_to("../build/one/x")


@way("src/one", "src/two")
def link_in_a_circle(root: Path) -> None:
    (root / "src/one").symlink_to("two")
    (root / "src/two").symlink_to("one")


@way("src/a.py")
def replace_a_file_by_a_link(root: Path) -> None:
    (root / "src/a.py").unlink()
    (root / "src/a.py").symlink_to("b.py")


@way("src/link.py")
def turn_a_link_elsewhere(root: Path) -> None:
    (root / "src/link.py").unlink()
    (root / "src/link.py").symlink_to("../README.md")


@way("src/link.py")
def replace_a_link_by_a_file(root: Path) -> None:
    (root / "src/link.py").unlink()
    write(root, "src/link.py", "a.py")


@way("src", "src/base.py", "src/secret/key.py")
def replace_a_folder_by_a_link(root: Path) -> None:
    (root / "src").rename(root / "build")
    (root / "src").symlink_to("build")


@way("src/hard.py")
def link_hard_to_a_file_outside(root: Path) -> None:
    (root / "src/hard.py").hardlink_to(root / "README.md")


@way("src/a.py")
def make_a_file_executable(root: Path) -> None:
    (root / "src/a.py").chmod(0o755)


@way("src/a.py")
def make_a_file_executable_where_git_does_not_look(root: Path) -> None:
    git(root, "config", "core.fileMode", "false")
    (root / "src/a.py").chmod(0o755)


@way("src/pipe")
def make_a_pipe(root: Path) -> None:
    os.mkfifo(root / "src/pipe")


@way("src/socket")
def make_a_socket(root: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        folder = os.open(root / "src", os.O_RDONLY)
        listener.bind(f"/proc/self/fd/{folder}/socket")  # the path of a socket is short
        os.close(folder)


@way("src/nested/.git/HEAD", "src/nested/.git/config")
def make_a_repository_inside(root: Path) -> None:
    git(root, "init", "--quiet", "--template=", "src/nested")
    shutil.rmtree(root / "src/nested/.git/refs")
    shutil.rmtree(root / "src/nested/.git/objects")


@way("src/nested/.git/hooks/evil")
def hide_a_file_in_a_folder_called_git(root: Path) -> None:
    write(root, "src/nested/.git/hooks/evil")


@way("src/nested/.GIT/config")
def hide_a_file_in_a_folder_called_git_in_capitals(root: Path) -> None:
    write(root, "src/nested/.GIT/config")


@way(".gitmodules")
def add_a_submodule(root: Path) -> None:
    write(root, ".gitmodules", '[submodule "x"]\n')


@way("src/.gitattributes")
def set_attributes(root: Path) -> None:
    write(root, "src/.gitattributes", "*.py filter=evil\n")


@way("README.md")
def clean_a_change_away_by_a_filter(root: Path) -> None:
    git(root, "config", "filter.hide.clean", f"git -C {root} show HEAD:README.md")
    write(root, ".git/info/attributes", "README.md filter=hide\n")
    write(root, "README.md")
    assert git(root, "diff", "--stat") == ""


@way("README.md")
def replace_the_commit(root: Path) -> None:
    base = git(root, "rev-parse", "HEAD")
    write(root, "README.md")
    git(root, "commit", "--quiet", "-am", "two")
    changed = git(root, "rev-parse", "HEAD")
    git(root, "reset", "--quiet", "--soft", base)
    git(root, "replace", base, changed)
    assert git(root, "diff", "--stat", "HEAD") == ""


@way("README.md")
def name_another_working_tree(root: Path) -> None:
    write(root, "README.md")
    git(root, "config", "diff.ignoreSubmodules", "all")
    git(root, "config", "status.showUntrackedFiles", "no")


@way("src/__init__.py")
def add_a_protected_file(root: Path) -> None:
    write(root, "src/__init__.py")


@way("uv.lock")
def add_a_lock(root: Path) -> None:
    write(root, "uv.lock")


@way(".github/workflows/ci.yml")
def add_a_ci_job(root: Path) -> None:
    write(root, ".github/workflows/ci.yml")


@way("src/migrations/0002_more.py")
def add_a_migration(root: Path) -> None:
    write(root, "src/migrations/0002_more.py")


@way("README.md")
def stage_a_change_and_restore_the_file(root: Path) -> None:
    before = (root / "README.md").read_bytes()
    write(root, "README.md")
    git(root, "add", "README.md")
    (root / "README.md").write_bytes(before)


@way("README.md")
def delete_a_file_only_from_the_index(root: Path) -> None:
    git(root, "rm", "--quiet", "--cached", "README.md")


@way("evil.log")
def stage_a_file_that_the_commit_ignores(root: Path) -> None:
    write(root, "evil.log")
    git(root, "add", "--force", "evil.log")


@way("src/a.py")
def stage_a_mode_that_the_file_does_not_have(root: Path) -> None:
    git(root, "update-index", "--chmod=+x", "src/a.py")


@way("src/b.py")
def stage_a_link_in_the_place_of_a_new_file(root: Path) -> None:
    write(root, "src/b.py", "/etc/passwd")
    git(root, "update-index", "--add", "--cacheinfo", f"120000,{git(root, 'hash-object', '-w', 'src/b.py')},src/b.py")


@way("src/sub")
def stage_a_submodule_that_is_not_there(root: Path) -> None:
    git(root, "update-index", "--add", "--cacheinfo", f"160000,{git(root, 'rev-parse', 'HEAD')},src/sub")


def test_there_are_at_least_thirty_ways() -> None:
    assert len(WAYS) >= 30


@pytest.mark.parametrize("name", WAYS)
def test_a_way_out_is_found(tmp_path: Path, name: str) -> None:
    change, found = WAYS[name]
    root = repository(tmp_path)
    assert check(root).ok
    change(root)
    report = check(root)
    assert (report.ok, outside(report)) == (False, found)


def test_what_was_committed_since_the_base_counts(tmp_path: Path) -> None:
    root = repository(tmp_path)
    base = git(root, "rev-parse", "HEAD")
    write(root, "README.md")
    git(root, "commit", "--quiet", "-am", "two")
    assert (check(root).ok, outside(check(root, base=base))) == (True, ["README.md"])


def test_the_allowlist_itself_may_never_change(tmp_path: Path) -> None:
    root = repository(tmp_path)
    allowlist = write(root, "src/allowlist.json", '{"allowed_paths": ["**"]}')
    report = check(root, scope_check.read_allowlist(allowlist), allowlist=allowlist)
    assert [(found.file, found.why) for found in report.outside] == [
        ("src/allowlist.json", "it is the allowlist itself")
    ]


def test_too_many_changes_do_not_pass(tmp_path: Path) -> None:
    root = repository(tmp_path)
    for number in range(3):
        write(root, f"src/new{number}.py")
    for most, ok in ((2, False), (3, True)):
        report = check(root, PathScope(allowed_paths=("src/**",), max_changed_files=most))
        assert (report.ok, len(report.changes), report.outside) == (ok, 3, ())


def test_a_staged_change_in_the_scope_passes(tmp_path: Path) -> None:
    root = repository(tmp_path)
    write(root, "src/a.py")
    (root / "src/again.py").symlink_to("a.py")
    git(root, "add", "--all")
    write(root, "src/a.py", "changed again\n")
    write(root, "src/gone.py")
    git(root, "add", "src/gone.py")
    (root / "src/gone.py").unlink()
    report = check(root, SCOPE)
    assert (report.ok, report.document()["changed"]) == (
        True,
        [
            {"file": "src/a.py", "change": "modified"},
            {"file": "src/again.py", "change": "link"},
            {"file": "src/gone.py", "change": "staged"},
        ],
    )


def test_a_change_in_the_scope_passes(tmp_path: Path) -> None:
    root = repository(tmp_path)
    write(root, "src/a.py")
    write(root, "src/new/c.py")
    (root / "src/b.py").unlink()
    (root / "src/again.py").symlink_to("new/c.py")
    write(root, "x.log")
    write(root, "build/deep/x")
    report = check(root, SCOPE)
    assert (report.ok, report.document()["changed"]) == (
        True,
        [
            {"file": "src/a.py", "change": "modified"},
            {"file": "src/again.py", "change": "link"},
            {"file": "src/b.py", "change": "deleted"},
            {"file": "src/new/c.py", "change": "added"},
        ],
    )
