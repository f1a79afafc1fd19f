"""The benchmarks run and report; how fast anything is, no test asks."""

from __future__ import annotations

import gc
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks import __main__ as command
from benchmarks import measure, report

ROOT = Path(__file__).resolve().parent.parent.parent


@pytest.fixture(scope="module", autouse=True)
def no_garbage_of_others() -> None:
    """Leave what earlier tests keep out of the collections before each sample: they took most of the time."""
    gc.collect()
    gc.freeze()


@pytest.mark.slow
@pytest.mark.timeout(1200)  # on a machine that is never quiet, each round is made six times
def test_every_benchmark_runs_and_reports() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks", "--quick", "--json"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert (found["quick"], found["passed"]) == (True, True)
    assert list(dict.fromkeys(figure["name"] for figure in found["figures"])) == list(command.BENCHMARKS)
    for figure in found["figures"]:
        unmeasured = figure["verdict"] == "not measured"
        assert unmeasured or figure["value"] > 0
        missing = ("install strace", "`make bench-peers` installs them")
        assert unmeasured == (figure["name"] in ("syncs", "peers") and figure["note"] in missing)


def test_a_ratio_is_to_the_baselines_around_its_subject(tmp_path: Path) -> None:
    baselines, subjects = iter((1.9, 2.1, 4.0, 4.0, 1.0, 1.0)), iter((4.0, 4.0, 5.0))
    plan = measure.Plan(folder=tmp_path, rounds=3)
    found = measure.bracketed(plan, baseline=lambda: next(baselines), subject=lambda: next(subjects), pace=lambda: 1.0)
    assert found == measure.Bracketed(
        subject=4.0, baseline=2.0, subjects=(4.0, 4.0, 5.0), ratios=(2.0, 1.0, 5.0), made=3
    )
    assert found.ratio == 2.0


def test_a_round_in_which_the_machine_changed_is_made_again(tmp_path: Path) -> None:
    baselines = iter((1.0, 2.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.1))  # in the first round another one had the disk
    paces = iter((1.0, 1.0, 1.0, 1.5, 1.0, 1.0, 1.1, 1.2))  # and in the second one the processor
    subjects = iter((30.0, 20.0, 3.0, 4.2))
    plan = measure.Plan(folder=tmp_path, rounds=2)
    found = measure.bracketed(
        plan, baseline=lambda: next(baselines), subject=lambda: next(subjects), pace=lambda: next(paces)
    )
    assert (found.subjects, found.made) == ((3.0, 4.2), 4)


def test_on_a_machine_that_is_never_quiet_every_round_counts(tmp_path: Path) -> None:
    baselines = iter((1.0, 3.0) * 6)
    plan = measure.Plan(folder=tmp_path, rounds=2)
    found = measure.bracketed(plan, baseline=lambda: next(baselines), subject=lambda: 4.0, pace=lambda: 1.0)
    assert (found.ratios, found.made) == ((2.0,) * 6, 6)


def test_only_a_missed_bar_is_a_failure() -> None:
    at_bar = report.Figure(name="a", what="less than a tenth past its bar", value=2.1, unit="x", bar=2.0)
    past_bar = report.Figure(
        name="a", what="past its bar", value=2.3, unit="x", bar=2.0, stretch=1.0, rounds=(2.0, 2.2)
    )
    for_information = report.Figure(name="a", what="no bar", value=9.0, unit="x")
    unmeasured = report.Figure(name="b", what="no tool", value=None, unit="x", bar=1.0, note="install it")
    assert report.missed([at_bar, for_information, unmeasured]) is False
    assert report.missed([at_bar, past_bar]) is True
    assert report.missed([report.unjudged(past_bar)]) is False
    level, ahead = (
        report.Figure(name="peers", what="no tolerance", value=value, unit="x", bar=1.0, tolerance=0)
        for value in (1.0, 0.99)
    )
    assert [report.missed([figure]) for figure in (level, ahead)] == [True, False]
    assert [figure.verdict for figure in (at_bar, past_bar, for_information, unmeasured)] == [
        "pass",
        "FAIL",
        "info",
        "not measured",
    ]
    assert list(report.lines([past_bar, unmeasured])) == [
        "past its bar      2.3 x              <= 2 (1)     FAIL         2 .. 2.2",
        "no tool             - x              <= 1         not measured install it",
    ]


def test_a_benchmark_that_breaks_down_fails_beside_what_was_measured(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def without_browser(plan: measure.Plan) -> Iterator[report.Figure]:
        yield report.Figure(name="page", what="before", value=1.0, unit="s")
        raise RuntimeError("this needs Chromium")

    def later(plan: measure.Plan) -> Iterator[report.Figure]:
        yield report.Figure(name="later", what="after", value=2.0, unit="s")

    monkeypatch.setattr(command, "BENCHMARKS", {"page": without_browser, "later": later})
    assert command.main(["--quick"]) == 1
    assert [line.split("  ")[0] for line in capsys.readouterr().out.splitlines()] == [
        "before",
        "page: broke down",
        "after",
    ]


def test_samples_leave_nothing_on_the_disk(tmp_path: Path) -> None:
    plan = measure.Plan(folder=tmp_path)
    with plan.fresh() as folder:
        (folder / "file").write_text("x")
        assert list(tmp_path.iterdir()) == [folder]
    assert list(tmp_path.iterdir()) == []
