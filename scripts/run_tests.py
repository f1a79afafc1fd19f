"""Run pytest, then give each test that failed a second chance, alone: `python scripts/run_tests.py PYTEST-ARGUMENTS`.

    pytest with all arguments       ->  failed tests, each with the text of its first failure
    pytest for each of them, alone  ->  passes now: FLAKY, printed with its first failure; two are tolerated
                                        fails again: the run fails

"Alone" means in a process of its own, one after the other, without parallel workers. A flaky test is a defect of the
product or of the test, so nothing of its failure is hidden. Anything else than failed tests (a collection error, an
interrupt) fails at once. The last line counts passed and failed tests.
"""

from __future__ import annotations

import subprocess
import sys

import pytest

TOLERATED_FLAKY_TESTS = 2
#: With more failures than this none is run again: the run fails in any case.
RUN_AGAIN_AT_MOST = 20


class Outcomes:
    """The pytest plugin that remembers which tests passed, and the text of each failure by the test's id."""

    def __init__(self) -> None:
        self.passed: set[str] = set()
        self.failures: dict[str, str] = {}
        self.uncollected = False

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Remember that a file of tests could not be read: with parallel workers the exit code does not tell."""
        self.uncollected = self.uncollected or report.failed

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Remember how one phase of a test ended; a test whose teardown fails has not passed."""
        if report.failed:
            self.failures.setdefault(report.nodeid, report.longreprtext)
            self.passed.discard(report.nodeid)
        elif report.passed and report.when == "call":
            self.passed.add(report.nodeid)


def main(arguments: list[str]) -> int:
    """Run the tests and return the exit code: 0 if all of them passed, at most two of them only when run alone."""
    outcomes = Outcomes()
    code = pytest.main(arguments, plugins=[outcomes])
    if code != pytest.ExitCode.TESTS_FAILED or outcomes.uncollected or not outcomes.failures:
        return code

    flaky: set[str] = set()
    if len(outcomes.failures) <= RUN_AGAIN_AT_MOST:
        print(f"\nrunning {len(outcomes.failures)} failed tests again, each alone", flush=True)
        flaky = {test for test in outcomes.failures if _passes_alone(test)}
    for test in sorted(flaky):
        print(f"\nFLAKY {test}: it failed, and passed when it was run again alone. Its first failure:\n")
        print(outcomes.failures[test])

    failed = [test for test in outcomes.failures if test not in flaky]
    for test in failed:
        print(f"FAILED {test}")
    if len(flaky) > TOLERATED_FLAKY_TESTS:
        print(f"{len(flaky)} tests are flaky, {TOLERATED_FLAKY_TESTS} are tolerated")
    print(f"{len(outcomes.passed | flaky)} passed, {len(failed)} failed")
    return 1 if failed or len(flaky) > TOLERATED_FLAKY_TESTS else 0


def _passes_alone(test: str) -> bool:
    command = [sys.executable, "-m", "pytest", "-p", "no:xdist", "-p", "no:randomly", test]
    return subprocess.run(command, check=False).returncode == pytest.ExitCode.OK


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
