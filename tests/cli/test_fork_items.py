"""`skelo fork` from a foreach: what it takes over, what it does again, and what it says about that."""

from __future__ import annotations

import pytest

from tests.cli.conftest import Skelo

FLOW = """\
name: squares
blocks:
  - id: square
    mode: deterministic
    foreach: {items: inputs.numbers, as: n, concurrency: 1}
    inputs: {numbers: "integer[]", n: integer}
    outputs: {square: integer}
    deterministic: {handler: work.py:square}
"""
WORK = """\
import pathlib
def square(ctx):
    if ctx.item == 3 and not pathlib.Path(__file__).with_name("mended").exists():
        return {}
    return {"square": ctx.item * ctx.item}
"""
SQUARES = {"square": [1, 4, 9, 16]}
ADVICE = "square had done 2 items: they are done again"


@pytest.fixture
def failed(skelo: Skelo) -> Skelo:
    """A project in which two of four items are done, and the cause of the failure is gone."""
    skelo.write("squares.yaml", FLOW)
    skelo.write("work.py", WORK)
    assert skelo("run", "squares.yaml", "--input", "numbers=[1,2,3,4]").code == 1
    skelo.write("mended", "")
    return skelo


def test_fork_does_what_is_left_and_says_what_it_keeps(failed: Skelo) -> None:
    forked = failed("fork", "last", "--from", "square", "--json")
    assert (forked.code, forked.document["outputs"]) == (0, SQUARES)
    assert forked.document["nodes"]["square"]["items"] == {"total": 4, "done": 4, "running": 0, "kept": 2}
    assert forked.document["budget"]["steps"]["used"] == 2
    assert "4 items, 2 kept from the earlier run" in forked.err
    assert ADVICE not in forked.err
    assert "succeeded (2 items kept)" in failed("show", "last").out
    log = failed("events", "last").out
    assert "2 items done in the earlier run" in log
    assert (failed("verify", "last").code, failed("replay", "last").code) == (0, 0)


@pytest.mark.parametrize(("which", "steps"), [("all", 4), ("unfinished", 2), ("0", 3), ("0-1", 4), ("0, 2-3", 3)])
def test_items_says_what_is_done_again(failed: Skelo, which: str, steps: int) -> None:
    forked = failed("fork", "last", "--from", "square", "--items", which, "--json")
    assert (forked.code, forked.document["outputs"]) == (0, SQUARES)
    assert forked.document["budget"]["steps"]["used"] == steps


def test_who_has_changed_the_code_is_told_that_all_is_done_again(failed: Skelo) -> None:
    run_id = failed("runs", "--json").document["runs"][0]["runId"]
    failed.write("work.py", WORK + "\n# changed\n")
    forked = failed("fork", run_id, "--from", "square", "--json")
    assert (forked.code, forked.document["budget"]["steps"]["used"]) == (0, 4)
    assert ADVICE in forked.err
    kept = failed("fork", run_id, "--from", "square", "--items", "unfinished", "--json")
    assert (kept.document["budget"]["steps"]["used"], ADVICE in kept.err) == (2, False)


@pytest.mark.parametrize(
    ("which", "code"),
    [("4", "FORK_INVALID"), ("x", "USAGE"), ("", "USAGE"), ("3-1", "USAGE"), ("1,", "USAGE"), ("9" * 5000, "USAGE")],
)
def test_items_that_there_are_not_begin_nothing(failed: Skelo, which: str, code: str) -> None:
    refused = failed("fork", "last", "--from", "square", "--items", which, "--json")
    assert (refused.code, refused.document["error"]["code"]) == (2, code)
    assert len(failed("runs", "--json").document["runs"]) == 1


def test_failed_items_that_are_kept_are_told_of_and_only_they_are_done_again(skelo: Skelo) -> None:
    skelo.write("squares.yaml", FLOW.replace("concurrency: 1", "concurrency: 1, on_fail: keep"))
    skelo.write("work.py", WORK)
    done = skelo("run", "squares.yaml", "--input", "numbers=[1,2,3,4]", "--json")
    (error,) = done.document["outputs"]["errors"]
    assert (done.code, done.document["outputs"]["square"], error["index"], error["code"]) == (
        0,
        [1, 4, None, 16],
        2,
        "OUTPUT_CONTRACT",
    )
    assert done.document["nodes"]["square"]["items"] == {"total": 4, "done": 4, "running": 0, "failed": 1}
    assert "succeeded (1 item failed)" in skelo("show", "last").out
    assert "failed item 2: OUTPUT_CONTRACT" in skelo("events", "last").out
    assert (skelo("verify", "last").code, skelo("replay", "last").code) == (0, 0)
    skelo.write("mended", "")
    again = skelo("fork", "last", "--from", "square", "--items", "unfinished", "--json")
    assert (again.code, again.document["outputs"]) == (0, {**SQUARES, "errors": []})
    assert again.document["budget"]["steps"]["used"] == 1
