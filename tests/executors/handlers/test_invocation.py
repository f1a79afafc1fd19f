"""A failure that a handler raises is kept as it was meant, however oddly it was put together."""

from __future__ import annotations

from pathlib import Path

import pytest

from openskelo.executors.handlers import invocation
from openskelo.kernel import definition, outcome
from tests.executors import workshop

FAILURES = {
    "AttemptFailed('no', code='MINE', retryable=False)": outcome.Failure(code="MINE", message="no", retryable=False),
    "AttemptFailed(ValueError('no'))": outcome.Failure(code="FAILED", message="ValueError: no"),
    "AttemptFailed(404)": outcome.Failure(code="FAILED", message="AttemptFailed: 404"),
    "AttemptFailed('no', code=404)": outcome.Failure(code="FAILED", message="no"),
    "AttemptFailed('no', code='\\ud800')": outcome.Failure(code="FAILED", message="no"),
    "AttemptFailed('no', hint=ValueError('x'))": outcome.Failure(code="FAILED", message="no (x)"),
    "AttemptFailed('no', retry_after_ms=0.5)": outcome.Failure(code="FAILED", message="no", retry_after_ms=1),
    "AttemptFailed('no', retry_after_ms='20')": outcome.Failure(code="FAILED", message="no", retry_after_ms=20),
    "AttemptFailed('no', retry_after_ms='soon')": outcome.Failure(code="FAILED", message="no"),
    "AttemptFailed('no', retry_after_ms=float('nan'))": outcome.Failure(code="FAILED", message="no"),
    "AttemptFailed('no', retry_after_ms=-1)": outcome.Failure(code="FAILED", message="no", retry_after_ms=0),
    "AttemptFailed('no', retry_after_ms=10**30)": outcome.Failure(
        code="FAILED", message="no", retry_after_ms=invocation.MAX_WAIT_MS
    ),
    "AttemptFailed('no', happened='maybe')": outcome.Failure(code="FAILED", message="no", happened="unknown"),
    "AttemptFailed('no', happened=[])": outcome.Failure(code="FAILED", message="no", happened="unknown"),
    "AttemptFailed('no', retryable=0)": outcome.Failure(code="FAILED", message="no", retryable=False),
    "Own('no')": outcome.Failure(code="FAILED", message="Own: no"),
}
OWN = "class Own(AttemptFailed):\n    def __init__(self, what):\n        self.what = what\n"


@pytest.mark.parametrize("define", ["async def", "def"], ids=["here", "in a worker"])
def test_a_failure_is_told_as_far_as_it_can_be(tmp_path: Path, define: str) -> None:
    node = definition.Node(key="it", mode="deterministic", handler="handlers/it.py", inputs=(workshop.port("n"),))
    cases = "\n".join(
        f"    if ctx.inputs['n'] == {index}:\n        raise {made}" for index, made in enumerate(FAILURES)
    )
    (tmp_path / "handlers").mkdir()
    (tmp_path / "handlers" / "it.py").write_text(
        f"from openskelo import AttemptFailed\n\n{OWN}\n{define} handler(ctx):\n{cases}\n"
    )
    tasks = [workshop.task_of(node, {"n": index}) for index in range(len(FAILURES))]
    found = workshop.perform(workshop.project(tmp_path), *tasks)
    assert dict(zip(FAILURES, [one.outcome.failure for one in found], strict=True)) == FAILURES


def test_a_failure_of_a_function_in_a_thread_is_told_as_far_as_it_can_be(tmp_path: Path) -> None:
    def broken(_ctx: invocation.context.Context) -> object:
        raise invocation.errors.AttemptFailed("no", retry_after_ms=float("1.5"))  # pyright: ignore[reportArgumentType]  on purpose

    node = definition.Node(key="it", mode="deterministic", handler="local:broken")
    (found,) = workshop.perform(workshop.project(tmp_path), workshop.task_of(node, {}), local={"broken": broken})
    assert found.outcome.failure == outcome.Failure(code="FAILED", message="no", retry_after_ms=2)
