"""`skelo check sync-celery`: what it prints and how it exits."""

from __future__ import annotations

from tests.cli.conftest import Skelo


def test_code_without_findings_is_clean(skelo: Skelo) -> None:
    skelo.write("a.py", "x = 1\n")
    found = skelo("check", "sync-celery", ".", "--json")
    assert (found.code, found.document) == (
        0,
        {"ok": True, "files": 1, "violations": [], "suppressed": [], "unreadable": []},
    )


def test_findings_are_lines_for_people(skelo: Skelo) -> None:
    skelo.write("src/a.py", "import asyncio\n")
    skelo.write("src/b.py", "x = (\n")
    found = skelo("check", "sync-celery", "src")
    assert found.code == 1
    assert found.out.splitlines() == [
        "src/b.py:1: it does not parse: '(' was never closed",
        "src/a.py:1:1: ASYNC_LIBRARY asyncio is asynchronous (use the synchronous library or class, such as requests, "
        "httpx.Client or redis.Redis)",
    ]
    assert found.err == "2 files, 1 violation, 0 accepted by `# sync-ok`, 1 unreadable\n"


def test_several_paths_are_one_report(skelo: Skelo) -> None:
    skelo.write("a/x.py", "import asyncio\n")
    skelo.write("b/y.py", "import trio\n")
    document = skelo("check", "sync-celery", "a", "b/y.py", "--json").document
    assert (document["files"], [found["file"] for found in document["violations"]]) == (2, ["x.py", "b/y.py"])


def test_a_path_that_does_not_exist_is_invalid_input(skelo: Skelo) -> None:
    skelo.write("a.py", "import asyncio\n")
    found = skelo("check", "sync-celery", "a.py", "nothing", "--json")
    assert (found.code, found.document["error"]["code"]) == (2, "PATH_NOT_FOUND")


def test_check_alone_says_what_can_be_checked(skelo: Skelo) -> None:
    found = skelo("check", "sync-celary")
    assert (found.code, found.out) == (2, "")
    assert "did you mean check sync-celery?" in found.err
