"""Items that a fork says it has taken over: what can have happened, and what cannot."""

from __future__ import annotations

from typing import Any

import pytest

from openskelo.kernel import commands, definition, events
from openskelo.record import bundle, order_check, state_check
from openskelo.structs import replace
from tests.kernel.stage import RUN, Stage, flow, work

BLOB = "sha256:" + "7" * 64
DONE = (
    commands.KeptItem(index=0, inputs_hash="sha256:0", outputs={"value": {"out": 0}}),
    commands.KeptItem(index=1, inputs_hash="sha256:1", outputs={"blob": BLOB, "bytes": 40_000}),
)


def forked() -> Stage:
    stage = Stage(flow(work("plain"), work("a", foreach=definition.Foreach(items="x"))))
    stage.create(items={"a": DONE})
    stage.resolve("a", count=3, taken=(0, 1, -1))
    return stage


def refusal(log: list[events.Event]) -> str | None:
    told = state_check.StateCheck(RUN, forked().workflow)
    return next((refused for event in log if (refused := told.check(event)) is not None), None)


def changed(kind: type[events.Event], **more: Any) -> list[events.Event]:
    """The log of a fork with one of its facts changed."""
    return [replace(event, **more) if isinstance(event, kind) else event for event in forked().log]


def test_what_a_fork_takes_over_can_have_happened() -> None:
    assert refusal(forked().log) is None


@pytest.mark.parametrize("taken", [(0, 1), (0, 1, 2), (0, -2, 1)])
def test_items_that_were_not_taken_over_are_found(taken: tuple[int, ...]) -> None:
    assert refusal(changed(events.NodeResolved, taken=taken)) == "a has items that it has not taken over"


@pytest.mark.parametrize("more", [{"node": "plain"}, {"items": ({"index": 0, "inputsHash": "x"},)}])
def test_items_that_cannot_be_kept_are_found(more: dict[str, Any]) -> None:
    assert str(refusal(changed(events.ItemsKept, **more))).endswith("has no items that can be kept")


def test_items_that_are_kept_after_the_work_began_are_found() -> None:
    created, kept, *rest = forked().log
    told = order_check.OrderCheck(run_id=RUN)
    found = [told.check(event) for event in (created, *rest, kept)]
    assert found == [None] * (len(rest) + 1) + ["a node is kept after the run's own work began"]


def test_what_the_items_gave_travels_with_the_record() -> None:
    (kept,) = (event for event in forked().log if isinstance(event, events.ItemsKept))
    assert list(bundle.blob_references(kept)) == [BLOB]
