"""Tests that fail are run once more, alone: `scripts/run_tests.py`."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

RUNNER = Path(__file__).resolve().parents[2] / "scripts" / "run_tests.py"

PASSES = "def test_passes(): pass\n"
FAILS_TWICE = "def test_fails_twice(): assert 1 + 1 == 3, 'wrong sum'\n"


def fails_once(name: str) -> str:
    """The source of a test that fails when it is run for the first time."""
    return f"""
def test_{name}():
    import pathlib
    mark = pathlib.Path("{name}.mark")
    if not mark.exists():
        mark.touch()
        raise AssertionError("first time of {name}")
"""


TEARDOWN_FAILS = """
import pytest

@pytest.fixture
def bad():
    yield
    assert False

def test_teardown_fails(bad): pass
"""

#: These runs do not need them, and they take seconds to import.
WITHOUT_PLUGINS = [part for name in ("schemathesis", "hypothesispytest", "randomly") for part in ("-p", f"no:{name}")]


def run_tests(folder: Path, source: str, *, workers: int = 1) -> subprocess.CompletedProcess[str]:
    (folder / "pytest.ini").write_text("[pytest]\n")
    (folder / "test_scratch.py").write_text(source)
    return subprocess.run(
        [sys.executable, str(RUNNER), "-n", str(workers), *WITHOUT_PLUGINS],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=280,
        env={**os.environ, "PYTEST_ADDOPTS": " ".join(WITHOUT_PLUGINS)},
    )


@pytest.mark.slow
def test_a_test_that_fails_once_is_listed_as_flaky_with_its_first_failure_and_the_run_passes(tmp_path: Path) -> None:
    run = run_tests(tmp_path, PASSES + fails_once("once"))
    assert run.returncode == 0
    assert "FLAKY test_scratch.py::test_once: it failed, and passed" in run.stdout
    assert "AssertionError: first time of once" in run.stdout.partition("FLAKY")[2]
    assert run.stdout.splitlines()[-1] == "2 passed, 0 failed"


@pytest.mark.slow
def test_a_test_that_fails_twice_or_at_its_end_fails_the_run(tmp_path: Path) -> None:
    run = run_tests(tmp_path, PASSES + fails_once("once") + FAILS_TWICE + TEARDOWN_FAILS, workers=2)
    assert run.returncode == 1
    assert "FAILED test_scratch.py::test_fails_twice" in run.stdout
    assert "FAILED test_scratch.py::test_teardown_fails" in run.stdout
    assert "FLAKY test_scratch.py::test_once" in run.stdout
    assert "FLAKY test_scratch.py::test_fails_twice" not in run.stdout
    assert run.stdout.splitlines()[-1] == "2 passed, 2 failed"


@pytest.mark.slow
def test_three_flaky_tests_fail_the_run(tmp_path: Path) -> None:
    run = run_tests(tmp_path, "".join(fails_once(name) for name in ("a", "b", "c")))
    assert run.returncode == 1
    assert "3 tests are flaky, 2 are tolerated" in run.stdout
    assert run.stdout.splitlines()[-1] == "3 passed, 0 failed"


@pytest.mark.slow
def test_what_is_no_failed_test_fails_at_once(tmp_path: Path) -> None:
    run = run_tests(tmp_path, "import no_such_module\n")
    assert run.returncode != 0
    assert "again" not in run.stdout


@pytest.mark.slow
def test_a_run_without_failures_ends_as_pytest_ends_it(tmp_path: Path) -> None:
    run = run_tests(tmp_path, PASSES)
    assert run.returncode == 0
    assert "1 passed" in run.stdout.splitlines()[-1]
