"""Logs of earlier versions fold to what they always did, and are written today with the same bytes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from openskelo.kernel import workflow_codec
from openskelo.record import envelope
from tests.kernel import recordings
from tests.kernel.stage import fold, sealed

LOGS = sorted(recordings.FOLDER.glob("*.jsonl"))


def test_there_is_a_recording_of_every_story() -> None:
    assert {path.stem for path in LOGS} >= {f"0.1-{name}" for name in recordings.STORIES}


@pytest.mark.parametrize("path", LOGS, ids=lambda path: path.stem)
def test_a_recorded_log_folds_to_its_snapshot(path: Path) -> None:
    beside = json.loads(path.with_suffix(".json").read_text())
    lines = path.read_bytes().splitlines()
    log = [envelope.open_line(line)[1] for line in lines]
    run = fold(workflow_codec.decode(beside["workflow"]), log)
    assert json.loads(json.dumps(recordings.snapshot(run))) == beside["snapshot"]
    assert sealed(log) == lines
