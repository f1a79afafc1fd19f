"""Our client understands the recorded traffic of every agent, in the versions that are installed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from openskelo.agents import programs
from tests.agents import agents_under_test, recordings

FILES = sorted(recordings.FOLDER.glob("*.jsonl"))


def test_every_agent_has_a_recording_of_its_locked_version() -> None:
    wanted = {recordings.file_of(name, programs.locked(name).version) for name in programs.installable()}
    for name in ("opencode", "qwen"):
        ((_, version),) = json.loads((Path(__file__).with_name(name) / "package.json").read_text())[
            "dependencies"
        ].items()
        wanted.add(recordings.file_of(name, version))
    assert sorted(wanted) == FILES


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_recording_is_understood_as_it_was_when_the_agent_was_there(tmp_path: Path, file: Path) -> None:
    recorded = recordings.read(file)
    agent = agents_under_test.by_name(file.stem.partition("-")[0])
    played = recordings.record(agent, tmp_path, player=file)
    assert played[-1] == recorded[-1]
    assert recordings.differences(recordings.shapes(recorded), recordings.shapes(played)) == []


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_recording_has_what_the_scenario_does(file: Path) -> None:
    first, hello, edit, allowed, denied, *_, interrupted, _, back = recordings.read(file)[-1]["account"]
    assert (first["sameSession"], first["knowsTask"]) == (False, False)
    assert (hello["text"], hello["stopReason"]) == ("Hello.", "end_turn")
    assert (edit["text"], [call["status"] for call in edit["calls"]]) == ("Done.", ["completed"])
    assert (allowed["text"], [call["kind"] for call in allowed["calls"]]) == ("Done.", ["execute"])
    assert "completed" not in [call["status"] for call in denied["calls"]]
    assert interrupted == {"hasOpenTurn": False}
    assert back["text"] == "Back."


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_recording_holds_nothing_of_a_machine(file: Path) -> None:
    text = file.read_text()
    assert len(text) < 200_000
    for word in ("/root", "/tmp", "/home/", "Bearer", "worthless"):
        assert word not in text


def test_a_message_that_is_new_or_gone_is_named() -> None:
    recorded = {"update plan": {"entries"}, "answer to initialize": {"id", "result"}}
    seen = {"update plan": {"entries", "title"}, "update later": {"x"}}
    assert recordings.differences(recorded, seen) == [
        "answer to initialize is not sent any more",
        "update later is new",
        "update plan has title, which is new",
    ]
