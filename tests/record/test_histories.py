"""Whatever the kernel can write verifies: random histories with crashes, people, bounces and forks."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any, cast

from hypothesis import given, settings
from hypothesis import strategies as st

from openskelo.kernel import definition, events
from openskelo.kernel import receipts as kernel_receipts
from openskelo.record import line_check, receipts
from openskelo.structs import replace
from openskelo.values import canonical
from tests.kernel import chance as chances
from tests.kernel import stage
from tests.kernel.play import Play
from tests.record import verifying


def history(seed: int, kind: Callable[[Random], definition.Workflow] = chances.workflow) -> Play:
    """A run that was played to its end, in a world with some trouble."""
    chance = Random(seed)
    shape = replace(kind(chance), hash=canonical.digest(seed))
    play = Play(chance, shape)
    play.create()
    while not play.run.ended:
        command = play.trouble() if chance.random() < 0.2 else play.owed()
        assert command is not None
        play.send(command)
    return play


def honest(log: list[events.Event]) -> list[events.Event]:
    """The same history with real hashes, where the players of the kernel's tests make some up."""
    told: list[events.Event] = []
    asked: dict[str, str] = {}
    prev = kernel_receipts.GENESIS
    for event in log:
        if isinstance(event, events.ApprovalRequested):
            asked[event.approval_id] = event.digest
        if isinstance(event, events.ApprovalResolved) and event.resolution["status"] != "modified":
            told.append(replace(event, digest=asked[event.approval_id]))
            continue
        if isinstance(event, events.RunEnded) and event.receipt_head is not None:
            told.append(replace(event, receipt_head=prev))
            continue
        receipt = receipts.of(event)
        if receipt is None:
            told.append(event)
            continue
        outputs = event.outputs if isinstance(event, events.AttemptSucceeded | events.AttemptFailed) else None
        made = None if outputs is None else receipts.stored_digest(outputs)
        real = {
            **receipt,
            "inputs_hash": canonical.digest(receipt["inputs_hash"]),
            "output_hash": made or canonical.digest(receipt["output_hash"]),
            "prev": prev,
        }
        prev = kernel_receipts.digest(real)
        told.append(replace(cast("Any", event), receipt=real))
    return told


@settings(max_examples=150)
@given(st.integers(0, 2**32))
def test_every_history_of_the_kernel_verifies(seed: int) -> None:
    play = history(seed)
    found = verifying.lines(stage.sealed(honest(play.log)), workflow=play.workflow)
    assert (found.problems, found.ended, found.folded) == ((), True, True)
    assert (found.events, found.receipts) == (len(play.log), play.run.receipts)


@settings(max_examples=100)
@given(st.integers(0, 2**32), st.integers(0, 100))
def test_every_history_verifies_pruned_too_with_all_its_receipts(seed: int, whole: int) -> None:
    play = history(seed)
    lines = stage.sealed(honest(play.log))
    shorter = [line if at < whole else line_check.prune(line) for at, line in enumerate(lines)]
    found = verifying.lines(shorter, workflow=play.workflow)
    assert (found.problems, found.ended, found.receipts) == ((), True, play.run.receipts)
    assert found.pruned == sum(map(line_check.is_pruned, shorter))
    assert receipts.collect(shorter) == receipts.collect(lines)
    assert [line_check.prune(line) for line in shorter] == [line_check.prune(line) for line in lines]


@settings(max_examples=100)
@given(st.integers(0, 2**32), st.data())
def test_a_history_without_one_of_its_starts_outcomes_or_answers_does_not(seed: int, data: st.DataObject) -> None:
    play = history(seed)
    told = honest(play.log)
    telling = (events.AttemptStarted, events.AttemptSucceeded, events.ApprovalRequested, events.RunEnding)
    indexes = [index for index, event in enumerate(told) if isinstance(event, telling)]
    if indexes:
        del told[data.draw(st.sampled_from(indexes))]
        assert not verifying.lines(stage.sealed(told), workflow=play.workflow).intact


@settings(max_examples=150)
@given(st.integers(0, 2**32))
def test_every_history_of_a_plan_verifies(seed: int) -> None:
    play = history(seed, chances.plan)
    found = verifying.lines(stage.sealed(honest(play.log)), workflow=play.workflow)
    assert (found.problems, found.ended, found.folded) == ((), True, True)
    assert (found.events, found.receipts) == (len(play.log), play.run.receipts)


@settings(max_examples=100)
@given(st.integers(0, 2**32), st.data())
def test_a_plan_that_went_another_way_than_its_steps_lead_does_not_verify(seed: int, data: st.DataObject) -> None:
    play = history(seed, chances.plan)
    told = honest(play.log)
    jumps = [index for index, event in enumerate(told) if getattr(event, "goto", None) is not None]
    if not jumps:
        return
    index = data.draw(st.sampled_from(jumps))
    jump = cast("Any", told[index])
    step = data.draw(st.sampled_from([*play.workflow.nodes, "elsewhere", None]))
    told[index] = replace(jump, goto=step)
    assert verifying.lines(stage.sealed(told), workflow=play.workflow).intact == (step == jump.goto)
