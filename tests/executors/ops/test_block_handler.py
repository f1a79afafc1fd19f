"""A plan's step in a block (`builtin:step`): what it gives, and how an `emit` ends the run."""

from __future__ import annotations

from pathlib import Path

import pytest

from openskelo.kernel import definition, outcome
from openskelo.kernel.json import Json
from tests.executors import workshop


def node(op: str, args: dict[str, Json]) -> definition.Node:
    return definition.Node(
        key="it",
        mode="deterministic",
        handler="builtin:step",
        config={"op": op, "args": args},
        inputs=(workshop.port("said"),),
        outputs=(workshop.port("value"),),
    )


def test_a_transform_gives_its_value_under_the_one_output(tmp_path: Path) -> None:
    task = workshop.task_of(node("transform", {"fn": "join", "refs": ["var:said"]}), {"said": "ab"})
    found = workshop.outcome_of(workshop.project(tmp_path), task)
    assert found.failure is None, found.failure
    assert found.outputs == {"value": {"value": "ab"}}


def test_an_emit_that_ends_well_gives_its_result(tmp_path: Path) -> None:
    task = workshop.task_of(node("emit", {"status": "ok", "result_ref": "var:said"}), {"said": "Bees"})
    found = workshop.outcome_of(workshop.project(tmp_path), task)
    assert found.outputs == {"value": {"value": {"result": "Bees", "audit": [], "status": "ok"}}}


@pytest.mark.parametrize(
    ("status", "failure"),
    [
        ("failed", outcome.Failure(code="EMITTED", message="it ends the run as failed", retryable=False)),
        ("denied", outcome.Failure(code="EMITTED", message="it ends the run as denied", retryable=False, denied=True)),
        (
            "escalated",
            outcome.Failure(code="ESCALATED", message="it ends the run as escalated", retryable=False, escalated=True),
        ),
    ],
)
def test_an_emit_that_does_not_ends_the_run_as_it_says(tmp_path: Path, status: str, failure: outcome.Failure) -> None:
    task = workshop.task_of(node("emit", {"status": status, "result_ref": "var:said"}), {"said": "Bees"})
    assert workshop.outcome_of(workshop.project(tmp_path), task).failure == failure
