"""Every checker that applies is run, and so are the tests; nothing is skipped into a pass."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from openskelo import errors
from openskelo.checks import all_checks
from openskelo.checks.all_checks import Options, Result
from tests.checks import artifacts, scope, trace_map

PASSES = ("true",)


@pytest.fixture(autouse=True)
def _python_with_pytest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")


def _check(folder: Path, **options: object) -> tuple[dict[str, Result], dict[str, str]]:
    results, absent = asyncio.run(all_checks.check(folder, Options(**options)))  # type: ignore[arg-type]
    return {result.check: result for result in results}, {other.check: other.why for other in absent}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project to which everything applies and in which everything is right."""
    root = tmp_path / "project"
    root.mkdir()
    scope.write(root, "src/a.py", "x = 1\n")
    scope.write(root, "allowlist.json", '{"allowed_paths": ["src/**"]}')
    (root / "run").mkdir()
    artifacts.write(root / "run", [artifacts.step()])
    (root / "maps").mkdir()
    trace_map.shop(root / "maps")
    (root / "run/trace_map.json").unlink()
    listed = {name: text for name, text in artifacts.FILES.items() if name != "trace_map.json"}
    artifacts.save(root / "run", [artifacts.step()], [artifacts.artifact(*item) for item in listed.items()])
    scope.git(root, "init", "--quiet")
    scope.git(root, "add", "--all")
    scope.git(root, "commit", "--quiet", "-m", "one")
    return root


def test_everything_that_applies_is_checked(project: Path) -> None:
    scope.write(project, "src/a.py", "x = 2\n")
    results, absent = _check(project, tests=PASSES)
    assert absent == {}
    assert {name: (result.target, result.ok, result.reasons) for name, result in results.items()} == {
        "scope": ("allowlist.json", True, ()),
        "sync-celery": (".", True, ()),
        "trace-map": ("maps/trace_map.json", True, ()),
        "artifacts": ("run", True, ()),
        "tests": ("true", True, ()),
    }


def _replace(name: str, text: str) -> Callable[[Path], object]:
    return lambda root: scope.write(root, name, text)


#: What is done to the project, and the only check that fails for it.
DAMAGES: list[tuple[Callable[[Path], object], str, str]] = [
    (_replace("README.md", "new"), "scope", "no allowed pattern"),
    (lambda root: (root / "allowlist.json").unlink(), "scope", "PATH_NOT_FOUND"),
    (_replace("allowlist.json", "{"), "scope", "ALLOWLIST_INVALID"),
    (_replace("src/b.py", "import asyncio\n"), "sync-celery", "ASYNC_LIBRARY"),
    (_replace("src/b.py", "x = ("), "sync-celery", "does not parse"),
]


@pytest.mark.parametrize(("damage", "check", "reason"), DAMAGES)
def test_one_failed_check_fails_everything(
    project: Path, damage: Callable[[Path], object], check: str, reason: str
) -> None:
    damage(project)
    results, _ = _check(project, tests=PASSES)
    assert [name for name, result in results.items() if not result.ok] == [check]
    assert reason in results[check].reasons[0]


#: These also leave the scope.
DAMAGED_EVIDENCE: list[tuple[Callable[[Path], object], str, str]] = [
    (_replace("maps/docs.md", "x"), "trace-map", "another hash"),
    (_replace("maps/trace_map.json", "{"), "trace-map", "TRACE_MAP_INVALID"),
    (_replace("run/diff.patch", "x"), "artifacts", "another hash"),
    (lambda root: (root / "run/manifest.json").unlink(), "artifacts", "manifest.json: missing"),
    (_replace("run/manifest.json", "{"), "artifacts", "manifest.json: "),
]


@pytest.mark.parametrize(("damage", "check", "reason"), DAMAGED_EVIDENCE)
def test_evidence_that_is_gone_or_changed_fails(
    project: Path, damage: Callable[[Path], object], check: str, reason: str
) -> None:
    damage(project)
    results, _ = _check(project, tests=PASSES)
    assert [name for name, result in results.items() if not result.ok] == ["scope", check]
    assert reason in results[check].reasons[0]


def test_what_does_not_apply_is_said_and_the_tests_still_run(tmp_path: Path) -> None:
    results, absent = _check(tmp_path, tests=("false",))
    assert {name: result.reasons for name, result in results.items()} == {"tests": ("ended with exit code 1",)}
    assert absent == {
        "scope": "there is no allowlist.json",
        "sync-celery": "there is no Python file",
        "trace-map": "there is no trace_map.json",
        "artifacts": "there is no folder of artifacts",
    }


@pytest.mark.parametrize(
    ("name", "text", "reasons"),
    [
        ("test_a.py", "def test_one():\n    pass\n", ()),
        ("test_a.py", "import pytest\n\n@pytest.mark.skip\ndef test_one():\n    pass\n", ("no test has passed",)),
        ("conftest.py", "def pytest_collection_modifyitems(items):\n    items.clear()\n", None),
        ("test_a.py", "def test_one():\n    assert 0\n", None),
        ("test_a.py", "import nothing_of_the_kind\n", None),
        ("readme.txt", "", None),
    ],
)
def test_the_tests_of_the_project_are_run_and_one_has_to_pass(
    tmp_path: Path, name: str, text: str, reasons: tuple[str, ...] | None
) -> None:
    scope.write(tmp_path, name, text)
    if name == "conftest.py":
        scope.write(tmp_path, "test_a.py", "def test_one():\n    pass\n")
    results, _ = _check(tmp_path)
    tests = results["tests"]
    assert (tests.target, tests.ok) == ("python -m pytest -q", reasons == ())
    if reasons is None:
        assert tests.reasons[0].startswith("ended with exit code ")
    else:
        assert tests.reasons == reasons
        assert tests.ok is (tests.report == {"passed": 1})


def test_tests_that_cannot_be_run_fail(tmp_path: Path) -> None:
    reasons = {
        ("no-such-program",): "cannot be started: No such file or directory",
        ("sh", "-c", "kill -9 $$"): "ended with ",
        ("a\0b",): "cannot be started: embedded null byte",
    }
    for tests, reason in reasons.items():
        assert _check(tmp_path, tests=tests)[0]["tests"].reasons[0].startswith(reason)
    results, _ = _check(tmp_path, tests=("sleep", "60"), timeout_ms=100)
    assert (results["tests"].ok, results["tests"].reasons[0].partition(" ")[0]) == (False, "TIMEOUT")


def test_code_that_is_named_has_to_be_there(tmp_path: Path) -> None:
    scope.write(tmp_path, "a.py", "import asyncio\n")
    scope.write(tmp_path, "nodes/b.py", "x = 1\n")
    assert _check(tmp_path, tests=PASSES, code=[tmp_path / "nodes"])[0]["sync-celery"].ok
    assert not _check(tmp_path, tests=PASSES, code=[tmp_path])[0]["sync-celery"].ok
    gone = _check(tmp_path, tests=PASSES, code=[tmp_path / "gone"])[0]["sync-celery"]
    assert (gone.ok, gone.reasons[0].partition(" ")[0]) == (False, "PATH_NOT_FOUND")


def test_manifests_of_web_pages_and_environments_are_left_alone(tmp_path: Path) -> None:
    scope.write(tmp_path, "web/manifest.json", '{"name": "shop"}')
    for folder in ("node_modules/x", ".cache", "env"):
        scope.write(tmp_path, f"{folder}/trace_map.json", "{}")
    scope.write(tmp_path, "env/pyvenv.cfg", "")
    results, absent = _check(tmp_path, tests=PASSES)
    assert (list(results), sorted(absent)) == (["tests"], ["artifacts", "scope", "sync-celery", "trace-map"])


def test_a_repository_that_cannot_be_asked_for_its_allowlist_fails(project: Path) -> None:
    (project / "allowlist.json").unlink()
    scope.write(project, ".git/HEAD", "\0")
    results, _ = _check(project, tests=PASSES)
    assert (results["scope"].ok, results["scope"].reasons[0].partition(" ")[0]) == (False, "PATH_NOT_FOUND")


def test_what_is_no_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(errors.NotFound) as refused:
        _check(tmp_path / "gone")
    assert refused.value.code == "PATH_NOT_FOUND"
