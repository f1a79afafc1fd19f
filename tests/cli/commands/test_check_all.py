"""`skelo check all`: what it prints and how it exits."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from tests.cli.conftest import Skelo

PATH = {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}


def test_each_check_is_a_line_for_people(skelo: Skelo) -> None:
    skelo.write("a.py", "import asyncio\n")
    found = skelo("check", "all", "--tests", "test -f a.py")
    assert (found.code, found.out.splitlines()) == (
        1,
        [
            "failed  sync-celery: .",
            "        a.py:1: ASYNC_LIBRARY asyncio is asynchronous",
            "passed  tests: test -f a.py",
            "absent  scope: there is no allowlist.json",
            "absent  trace-map: there is no trace_map.json",
            "absent  artifacts: there is no folder of artifacts",
        ],
    )


def test_the_tests_of_the_project_are_run_by_pytest(skelo: Skelo) -> None:
    skelo.write("project/skelo.yaml", "name: shop\n")
    skelo.write("project/test_a.py", "def test_one():\n    pass\n")
    skelo.write("project/out/test_planted.py", "raise SystemExit('data wrote this')\n")
    found = skelo("check", "all", "project", "--json", env=PATH)
    document = found.document
    assert [check["check"] for check in document["checks"]] == ["sync-celery", "tests"]
    assert (found.code, document["ok"]) == (0, True), document["checks"]
    assert document["checks"][1] == {
        "check": "tests",
        "target": "python -m pytest -q",
        "ok": True,
        "reasons": [],
        "report": {"passed": 1},
    }
    assert [other["check"] for other in document["notApplicable"]] == ["scope", "trace-map", "artifacts"]


def test_what_cannot_be_checked_is_invalid_input(skelo: Skelo) -> None:
    for arguments, code in (
        (("gone",), "PATH_NOT_FOUND"),
        (("--tests", " "), "USAGE"),
        (("--tests", "'"), "USAGE"),
        (("--timeout", "-1"), "USAGE"),
    ):
        found = skelo("check", "all", *arguments, "--json")
        assert (found.code, found.document["error"]["code"]) == (2, code)
