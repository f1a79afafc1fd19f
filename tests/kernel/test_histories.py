"""What holds in every history: random workflows, played by chance, with crashes, people and nonsense in between.

`Play.send` checks after every command: the stored lines fold to the same state; the kept sets are what a scan finds
after every single event; nobody is overtaken; budgets and wall time are what an outside observer counts; a refusal
changes nothing; and the run is never running with nothing owed. The tests say how the play goes and how it must end.
"""

from __future__ import annotations

from random import Random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from openskelo.kernel import commands, outcome
from openskelo.kernel import run as runs
from tests.kernel import chance as chances
from tests.kernel.play import Play, most_attempts
from tests.kernel.stage import fold

SEEDS = st.integers(0, 2**32)
#: More moves than the longest of these plays has any use for.
MOST_MOVES = 3_000


def begin(seed: int, **more: Any) -> Play:
    chance = Random(seed)
    play = Play(chance, chances.workflow(chance), **more)
    play.create()
    return play


def begin_plan(seed: int) -> Play:
    chance = Random(seed)
    play = Play(chance, chances.plan(chance))
    play.create()
    return play


def finish(play: Play, trouble: float = 0.0) -> None:
    """Go on until the run ends; it must."""
    moves = 0
    while not play.run.ended:
        moves += 1
        assert moves < MOST_MOVES, "the run does not end"
        command = play.trouble() if play.chance.random() < trouble else play.owed()
        assert command is not None, "the run waits for nothing"
        play.send(command)
    bounds = most_attempts(play)
    assert {key: node.attempts for key, node in play.run.nodes.items() if node.attempts > bounds[key]} == {}


@settings(max_examples=150)
@given(SEEDS)
def test_every_run_ends_when_everybody_does_their_part(seed: int) -> None:
    play = begin(seed)
    finish(play)
    assert runs.status(play.run) in ("completed", "failed")


@settings(max_examples=150)
@given(SEEDS)
def test_every_plan_ends_when_everybody_does_their_part(seed: int) -> None:
    play = begin_plan(seed)
    finish(play)
    assert runs.status(play.run) in ("completed", "failed")
    assert {key: node.visit for key, node in play.run.nodes.items() if node.visit > chances.MOST_VISITS + 1} == {}


@settings(max_examples=150)
@given(SEEDS)
def test_every_plan_ends_through_crashes_pauses_and_suspensions(seed: int) -> None:
    finish(begin_plan(seed), trouble=0.2)


@settings(max_examples=150)
@given(SEEDS)
def test_every_run_ends_through_crashes_pauses_and_suspensions(seed: int) -> None:
    finish(begin(seed), trouble=0.2)


@settings(max_examples=25)
@given(SEEDS)
def test_folding_from_scratch_before_every_command_gives_the_same_history(seed: int) -> None:
    once, always = begin(seed), begin(seed, refold=True)
    finish(once, trouble=0.1)
    finish(always, trouble=0.1)
    assert always.log == once.log
    assert fold(once.workflow, once.log) == once.run


@settings(max_examples=40)
@given(SEEDS)
def test_a_cancelled_run_ends_at_once(seed: int) -> None:
    play = begin(seed)
    for _ in range(play.chance.randint(0, 10)):
        if (command := play.owed()) is not None:
            play.send(command)
    if not play.run.ended:
        assert play.send(commands.CancelRun(at=play.at, by="nora"))
    assert play.run.ended


@settings(max_examples=60)
@given(SEEDS)
def test_a_log_that_breaks_off_anywhere_can_be_recovered(seed: int) -> None:
    """Stores append whole rounds; but even a torn copy must not make a run hang, or act unasked."""
    whole = begin(seed)
    finish(whole, trouble=0.1)
    torn = Play(whole.chance, whole.workflow, at=whole.at)
    torn.log = whole.log[: whole.chance.randint(1, len(whole.log))]
    torn.run, torn.shadow = fold(whole.workflow, torn.log), fold(whole.workflow, torn.log)
    torn.suspended = whole.suspended
    torn.excess = whole.excess
    if not torn.run.ended:
        torn.counted = torn.run.spent.wall_ms
        if torn.run.active_since is not None:
            torn.counted += max(0, torn.run.updated_at - torn.run.active_since)
        torn.send(commands.Recover(at=torn.at))
    finish(torn)


def nonsense(play: Play) -> commands.Command:
    """Any command about anything, likely or not."""
    chance = play.chance
    keys = [*play.workflow.nodes, "nobody"]
    asked = [*play.run.approvals, "nothing"]
    failure = outcome.Failure(code="BAD", message="x", gate=chance.choice([None, "good"]))
    result = chance.choice((outcome.Outcome(inputs_hash=""), outcome.Outcome(inputs_hash="", failure=failure)))
    about: dict[str, Any] = {"at": play.at, "node": chance.choice(keys), "visit": chance.randint(0, 2)}
    tried: dict[str, Any] = {**about, "attempt": chance.randint(0, 2), "item": chance.choice([None, 0, 1, -1])}
    values: list[dict[str, Any]] = [
        {},
        {"skip": True},
        {"count": chance.choice([-1, 0, 2])},
        {"count": chance.choice([-1, 0, 2]), "items": {"value": [1, 2]}},
        {"ask": commands.Ask(prompt="", args={}, form={}, digest="d", expires_at=None)},
        {"cached": commands.Cached(outputs={}, inputs_hash="", output_hash="", source={})},
        {"failure": failure},
    ]
    kept = {chance.choice(keys): commands.Kept(outcome=chance.choice(["succeeded", "skipped"]))}
    return chance.choice(
        (
            commands.ReportAttempt(**tried, outcome=result),
            commands.ReportInterrupted(**tried),
            commands.ResolveNode(**about, **chance.choice(values)),
            commands.ResolveNode(**about, **chance.choice(values)),
            commands.AnswerApproval(
                at=play.at,
                approval_id=chance.choice(asked),
                status=chance.choice(["approved", "denied", "modified"]),
                by=chance.choice(["nora", "timer"]),
                digest=chance.choice(["d", ""]),
                outputs=chance.choice([None, {"value": 1}]),
            ),
            commands.CreateRun(at=play.at, definition="", inputs={}, by="", kept=kept),
            commands.Tick(at=play.at),
            commands.ResumeRun(at=play.at, by=""),
        )
    )


@settings(max_examples=100)
@given(SEEDS)
def test_nonsense_is_refused_or_harmless_and_never_anything_else(seed: int) -> None:
    chance = Random(seed)
    play = Play(chance, chances.workflow(chance))
    refusals = sum(not play.send(nonsense(play)) for _ in range(5))
    if not play.run.created:
        play.create()
    for _ in range(40):
        refusals += not play.send(nonsense(play))
        if (command := play.owed()) is not None and chance.random() < 0.5:
            play.send(command)
    assert refusals
    play.suspended += 50  # there may have been suspensions among the nonsense
    finish(play)
