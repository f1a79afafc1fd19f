"""`skelo prune`: what it chooses, frees, says and leaves alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Skelo

FLOW = """
name: letters
blocks:
  - id: write
    mode: deterministic
    inputs: { text: { type: string } }
    outputs: { file_path: { type: string } }
    deterministic:
      handler: builtin:write-file
      config: { content_from: text, default_path_template: "out/{run_id}.txt" }
"""
ASKS = """
name: asks
blocks:
  - { id: ask, mode: approval, approval: { prompt: Fine? } }
"""


def started(skelo: Skelo, *words: str) -> str:
    skelo.write("flow.yaml", FLOW)
    return skelo("run", "flow.yaml", "--input", f"text={' '.join(words)}", "--json").document["runId"]


def traces(folder: Path, text: str) -> list[str]:
    return [str(path) for path in folder.rglob("*") if path.is_file() and text.encode() in path.read_bytes()]


def test_old_runs_give_up_their_data_and_still_verify(skelo: Skelo) -> None:
    runs = [started(skelo, "the rabbit", str(number)) for number in range(3)]
    skelo.write("asks.yaml", ASKS)
    waiting = skelo("run", "asks.yaml", "--json").document["runId"]
    promised = skelo("prune", "--keep", "1", "--dry-run", "--json").document
    assert [one["runId"] for one in promised["runs"]] == [runs[1], runs[0]]
    assert len(traces(skelo.folder / ".skelo", "the rabbit 0")) > 0
    found = skelo("prune", "--keep", "1", "--compact", "--json")
    assert found.code == 0
    assert (found.document["runs"], found.document["failed"]) == (promised["runs"], [])
    assert (found.document["blobs"], found.document["bytes"]) == (promised["blobs"], promised["bytes"])
    for gone in runs[:2]:
        proved = skelo("verify", gone, "--json")
        assert (proved.code, proved.document["receipts"]) == (0, 1)
        assert proved.document["pruned"] > 0
    assert "of them pruned" in skelo("verify", runs[0]).out
    assert skelo("verify", runs[2], "--json").document["pruned"] == 0
    assert skelo("verify", waiting).code == 3
    assert (traces(skelo.folder / ".skelo", "the rabbit 0"), traces(skelo.folder / ".skelo", runs[0] + ".txt")) == (
        [],
        [],
    )
    assert len(list((skelo.folder / ".skelo" / "writes").iterdir())) == 1
    assert (skelo.folder / "out" / f"{runs[0]}.txt").read_text() == "the rabbit 0"
    assert skelo("prune", "--keep", "1").out == "pruned 0 runs: 0 events and 0 blobs, 0 bytes\n"


def test_a_pruned_run_is_listed_and_says_what_became_of_it(skelo: Skelo) -> None:
    run_id = started(skelo, "hello")
    assert skelo("prune", run_id[:8]).out.startswith("pruned 1 run: ")
    assert [row["ending"] for row in skelo("runs", "--json").document["runs"]] == ["ok"]
    for command in ("show", "output", "replay"):
        refused = skelo(command, run_id, "--json")
        assert (refused.code, refused.document["error"]["code"]) == (2, "RUN_PRUNED")
    assert len(skelo("receipts", run_id, "--json").document["receipts"]) == 1
    assert "pruned" in skelo("events", run_id).out


def test_a_deleted_run_is_gone(skelo: Skelo) -> None:
    run_id = started(skelo, "hello")
    assert skelo("prune", "--delete", "--older-than", "0s").out.startswith("deleted 1 run: ")
    assert skelo("runs", "--json").document == {"runs": []}
    assert skelo("verify", run_id).code == 2
    assert traces(skelo.folder / ".skelo", "hello") == []


def test_only_runs_that_ended_long_enough_ago_are_chosen(skelo: Skelo) -> None:
    started(skelo, "hello")
    assert skelo("prune", "--older-than", "1h", "--json").document["runs"] == []
    assert skelo("prune", "--older-than", "0s", "--status", "failed", "--json").document["runs"] == []


def test_a_run_that_has_not_ended_is_left_alone(skelo: Skelo) -> None:
    skelo.write("asks.yaml", ASKS)
    run_id = skelo("run", "asks.yaml", "--json").document["runId"]
    refused = skelo("prune", run_id, "--json")
    assert (refused.code, refused.document["failed"][0]["code"]) == (1, "RUN_UNFINISHED")
    assert "left as it was" in skelo("prune", run_id).err


def test_without_a_data_dir_there_is_nothing_to_prune(skelo: Skelo) -> None:
    assert skelo("prune", "--keep", "0").out == "pruned 0 runs: 0 events and 0 blobs, 0 bytes\n"
    assert not (skelo.folder / ".skelo").exists()


@pytest.mark.parametrize(
    "words",
    [
        (),
        ("--dry-run",),
        ("--status", "failed"),
        ("--older-than", "soon"),
        ("--older-than", "30"),
        ("--older-than", "-1d"),
        ("--older-than", "99999999999d"),
        ("--keep", "-1"),
        ("--keep", "x"),
        ("abcd", "--keep", "1"),
    ],
)
def test_arguments_that_choose_nothing_clear_are_refused(skelo: Skelo, words: tuple[str, ...]) -> None:
    refused = skelo("prune", *words, "--json")
    assert (refused.code, refused.document["error"]["code"]) == (2, "USAGE")


def test_a_run_whose_end_the_log_has_lost_is_not_pruned(skelo: Skelo) -> None:
    """The files hold that it was approved; the log, which was damaged, that it was denied."""
    skelo.write("asks.yaml", ASKS)
    asked = skelo("run", "asks.yaml", "--json").document
    approval = asked["approvals"][0]["id"]
    database = skelo.folder / ".skelo" / "log.db"
    before = database.read_bytes()
    assert skelo("approve", approval).code == 0
    events = (skelo.folder / ".skelo" / "events" / "000000000001.jsonl").read_bytes()
    database.write_bytes(before)
    assert skelo("deny", approval, "--reason", "no").code == 1
    kept = skelo.folder / ".skelo" / "events" / "000000000001.differs-1.jsonl"
    for options in (("--delete",), ()):
        refused = skelo("prune", asked["runId"], "--json", *options)
        assert (refused.code, refused.document["failed"][0]["code"]) == (1, "EVENTS_LOST")
        assert kept.read_bytes() == events
    verified = skelo("verify", asked["runId"], "--json")
    assert (verified.code, [one["code"] for one in verified.document["problems"]]) == (1, ["EVENTS_LOST"])
    kept.rename(skelo.folder / "kept.jsonl")
    assert skelo("prune", asked["runId"]).code == 0
