"""`skelo check scope`: what it prints and how it exits."""

from __future__ import annotations

import json

from tests.checks.scope import git, repository, write
from tests.cli.conftest import Skelo

ALLOWLIST = '{"allowed_paths": ["src/**"], "forbidden_paths": ["src/secret/**"], "max_changed_files": 2}'


def test_changes_in_the_scope_pass(skelo: Skelo) -> None:
    root = repository(skelo.folder)
    skelo.write("allowlist.json", ALLOWLIST)
    write(root, "src/a.py")
    found = skelo("check", "scope", "--allowlist", "allowlist.json", "--repo", "repo", "--json")
    assert (found.code, found.document) == (
        0,
        {
            "ok": True,
            "base": git(root, "rev-parse", "HEAD"),
            "changed": [{"file": "src/a.py", "change": "modified"}],
            "outside": [],
            "maxChangedFiles": 2,
        },
    )


def test_what_is_outside_is_a_line_for_people(skelo: Skelo) -> None:
    root = repository(skelo.folder)
    skelo.write("allowlist.json", ALLOWLIST)
    for name in ("src/secret/key.py", "src/a\nb.py", "pyproject.toml"):
        write(root, name)
    found = skelo("check", "scope", "--allowlist", "../allowlist.json", folder=root)
    assert (found.code, found.out.splitlines(), found.err) == (
        1,
        [
            "pyproject.toml: modified, it is protected by '**/pyproject.toml'",
            "src/a b.py: added, it has a character that cannot be seen",
            "src/secret/key.py: modified, it is forbidden by 'src/secret/**'",
            "3 files are changed, more than 2",
        ],
        "3 changes, 3 outside of the scope\n",
    )


def test_other_patterns_can_be_protected(skelo: Skelo) -> None:
    root = repository(skelo.folder)
    skelo.write("allowlist.json", '{"allowed_paths": ["**"]}')
    write(root, "pyproject.toml")
    write(root, "src/a.py")
    found = skelo(
        "check", "scope", "--allowlist", "allowlist.json", "--repo", "repo", "--protected", "**/a.py", "--json"
    )
    assert (found.code, found.document["outside"]) == (
        1,
        [{"file": "src/a.py", "change": "modified", "why": "it is protected by '**/a.py'"}],
    )


def test_a_base_is_compared_with_the_files(skelo: Skelo) -> None:
    root = repository(skelo.folder)
    skelo.write("allowlist.json", ALLOWLIST)
    write(root, "README.md")
    git(root, "commit", "--quiet", "-am", "two")
    arguments = ("check", "scope", "--allowlist", "allowlist.json", "--repo", "repo", "--json")
    assert (skelo(*arguments).code, skelo(*arguments, "--base", "HEAD~1").code) == (0, 1)


def test_what_cannot_be_checked_is_invalid_input(skelo: Skelo) -> None:
    repository(skelo.folder)
    skelo.write("allowlist.json", ALLOWLIST)
    skelo.write("wrong.json", json.dumps({"allowed_paths": "src"}))
    for arguments, code in (
        (("--allowlist", "gone.json", "--repo", "repo"), "PATH_NOT_FOUND"),
        (("--allowlist", "wrong.json", "--repo", "repo"), "ALLOWLIST_INVALID"),
        (("--allowlist", "allowlist.json", "--repo", "gone"), "PATH_NOT_FOUND"),
        (("--allowlist", "allowlist.json", "--repo", "."), "GIT_FAILED"),
        (("--allowlist", "allowlist.json", "--repo", "repo", "--base", "gone"), "REVISION_NOT_FOUND"),
    ):
        found = skelo("check", "scope", *arguments, "--json")
        assert (found.code, found.document["error"]["code"]) == (2, code)
