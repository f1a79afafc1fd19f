"""verify with a checker of the project's own."""

from __future__ import annotations

from pathlib import Path

import pytest

from openskelo.handlers import project_registry
from tests.executors import workshop
from tests.executors.ops import bench

CODE = """
def check(ctx):
    return {"ok": ctx.inputs["input"] == ctx.inputs["want"], "saw": ctx.inputs["input"]}

async def later(ctx):
    return {"ok": True, "key": ctx.idempotency_key, "block": ctx.block_id}

def none(ctx): return None
def words(ctx): return {"ok": "yes"}
def missing(ctx): return {"fine": True}
def odd(ctx): return {"ok": True, "x": {1, 2}}
def number(ctx): return {"ok": 1}
def boom(ctx): raise ValueError("no idea")
def slow(ctx):
    import time
    time.sleep(30)
"""


def check(root: Path, function: str, *, timeout_ms: int = 20_000, **config: object) -> bench.Done:
    (root / "checkers").mkdir()
    (root / "checkers" / "own.py").write_text(CODE)
    own = project_registry.Function(
        name="own", kind="python", target=f"checkers/own.py:{function}", timeout_ms=timeout_ms
    )
    where = workshop.project(root, registry=project_registry.Registry(checkers={"own": own}))
    return bench.perform(where, "verify", {"checker_id": "own", "input_ref": "a", "want": "b"})


def test_a_function_is_given_its_arguments_and_gives_a_verdict(tmp_path: Path) -> None:
    done = check(tmp_path, "check")
    assert (done.value, done.holds, done.failure) == ({"ok": False, "saw": "a"}, False, None)


def test_an_async_function_may_judge_as_well(tmp_path: Path) -> None:
    done = check(tmp_path, "later")
    assert (done.value, done.holds) == ({"ok": True, "key": workshop.key("s1"), "block": "s1"}, True)


@pytest.mark.parametrize(
    ("function", "code"),
    [
        ("none", "CHECKER_RETURN"),
        ("words", "CHECKER_RETURN"),
        ("missing", "CHECKER_RETURN"),
        ("number", "CHECKER_RETURN"),
        ("odd", "HANDLER_RETURN"),
        ("boom", "HANDLER_RAISED"),
        ("absent", "HANDLER_LOAD"),
    ],
)
def test_anything_but_a_verdict_is_a_failure(tmp_path: Path, function: str, code: str) -> None:
    done = check(tmp_path, function)
    assert (done.code, done.value, done.holds) == (code, None, None)


def test_a_checker_that_takes_too_long_is_stopped(tmp_path: Path) -> None:
    assert check(tmp_path, "slow", timeout_ms=500).code == "TIMEOUT"


def test_a_checker_without_what_it_checks_is_not_asked(tmp_path: Path) -> None:
    done = bench.perform(workshop.project(tmp_path), "verify", {"checker_id": "equals", "expected": 1})
    assert done.code == "ARGS_INVALID"
