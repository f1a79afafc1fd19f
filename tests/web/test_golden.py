"""The dashboard folds what the wire tells as `contract.patching` does: the same files are run by pytest and vitest."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.kernel.stage import RUN
from tests.web import golden
from tests.wire import patching, wired

WEB = Path(__file__).resolve().parents[2] / "web"


def test_the_golden_files_are_what_the_wire_tells_now() -> None:
    found = {path.name: path.read_text("utf-8") for path in golden.FOLDER.glob("*.json")}
    assert found == dict(golden.files()), "after a change of the wire: python -m tests.web.golden"


def test_our_own_fold_agrees_with_them() -> None:
    for _, text in golden.files():
        whole: Any = json.loads(text)
        events = [event for each in whole["events"] for event in each]
        for seq, snapshot in whole["snapshots"].items():
            told = [event for event in events if event["seq"] <= int(seq)]
            assert patching.fold(patching.empty(RUN), told) == snapshot


@pytest.mark.slow
def test_the_dashboards_fold_agrees_on_random_histories(tmp_path: Path) -> None:
    for seed in range(40):
        play = wired.history(seed)
        (tmp_path / f"{seed}.json").write_text(json.dumps(golden.told(play.workflow, play.log)), "utf-8")
    done = subprocess.run(
        ["node", "node_modules/vitest/vitest.mjs", "run", "src/model/fold.test.ts", "--reporter=json"],
        cwd=WEB,
        env={**os.environ, "SKELO_GOLDEN": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    report: Any = json.loads(done.stdout)
    assert (done.returncode, report["numFailedTests"]) == (0, 0), done.stdout
    assert report["numPassedTests"] >= 40
