"""Budgets: reserved before, settled after, never overspent, and an ending of their own."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from openskelo.kernel import budget, commands, decide, definition, events, outcome
from openskelo.kernel import run as runs
from tests.kernel.stage import START, Stage, failure, flow, tell, work

LIMITS = definition.Limits
AMOUNT = definition.Amount


def two(limits: definition.Limits, reserve: definition.Amount) -> Stage:
    """`a` and `b` side by side."""
    return Stage(flow(work("a", reserve=reserve), work("b", reserve=reserve), limits=limits))


CASES = [
    ("max_tokens", LIMITS(max_tokens=100), AMOUNT(tokens=60), "100; 60 used and the next attempt needs 60"),
    (
        "max_cost_usd",
        LIMITS(max_cost_nanousd=100),
        AMOUNT(cost_nanousd=60),
        "0.0000001 USD; 0.00000006 used and the next attempt needs 0.00000006",
    ),
    (
        "max_tool_spend_usd",
        LIMITS(max_tool_nanousd=100),
        AMOUNT(tool_nanousd=60),
        "0.0000001 USD; 0.00000006 used and the next attempt needs 0.00000006",
    ),
]


def used(name: str, amount: int) -> outcome.Metrics:
    match name:
        case "max_tokens":
            return outcome.Metrics(tokens_in=amount - 1, tokens_out=1)
        case "max_cost_usd":
            return outcome.Metrics(cost_nanousd=amount)
        case _:
            return outcome.Metrics(tool_nanousd=amount)


@pytest.mark.parametrize(("name", "limits", "reserve", "told"), CASES)
def test_what_does_not_fit_waits_while_others_may_give_back(
    name: str, limits: definition.Limits, reserve: definition.Amount, told: str
) -> None:
    stage = two(limits, reserve)
    assert stage.create() == ["run.created", "attempt.started a 1.1"]
    assert stage.succeed("a", metrics=used(name, 10)) == ["attempt.succeeded a 1.1", "attempt.started b 1.1"]
    stage.succeed("b", metrics=used(name, 60))
    assert stage.ends() == ("ok", None)


@pytest.mark.parametrize(("name", "limits", "reserve", "told"), CASES)
def test_what_can_never_fit_ends_the_run_with_evidence(
    name: str, limits: definition.Limits, reserve: definition.Amount, told: str
) -> None:
    stage = two(limits, reserve)
    stage.create()
    assert stage.succeed("a", metrics=used(name, 60)) == [
        "attempt.succeeded a 1.1",
        "run.ending budget_exceeded BUDGET_EXCEEDED",
        "run.ended budget_exceeded BUDGET_EXCEEDED",
    ]
    assert stage.run.error == {
        "code": "BUDGET_EXCEEDED",
        "message": f"{name} is {told}",
        "limit": name,
        "allowed": 100,
        "used": 60,
        "node": "b",
    }
    assert runs.status(stage.run) == "failed"


@pytest.mark.parametrize(("name", "limits", "reserve", "told"), CASES)
def test_what_was_really_used_beyond_the_limit_ends_the_run(
    name: str, limits: definition.Limits, reserve: definition.Amount, told: str
) -> None:
    stage = two(limits, reserve)
    stage.create()
    stage.succeed("a", metrics=used(name, 101))
    assert stage.ends() == ("budget_exceeded", "BUDGET_EXCEEDED")
    assert stage.run.error is not None
    assert (stage.run.error["limit"], stage.run.error["used"]) == (name, 101)
    assert str(stage.run.error["message"]).endswith("101 used")


def test_money_is_told_in_the_dollars_that_the_author_wrote() -> None:
    limits, half = LIMITS(max_tool_nanousd=1_200_000_000), AMOUNT(tool_nanousd=500_000_000)
    stage = Stage(flow(work("a"), work("b", "a", reserve=half), limits=limits))
    stage.create()
    stage.succeed("a", metrics=used("max_tool_spend_usd", 1_000_000_000))
    assert stage.ends() == ("budget_exceeded", "BUDGET_EXCEEDED")
    assert stage.run.error is not None
    assert stage.run.error["message"] == "max_tool_spend_usd is 1.2 USD; 1 used and the next attempt needs 0.5"
    assert (stage.run.error["allowed"], stage.run.error["used"]) == (1_200_000_000, 1_000_000_000)


def test_steps_are_counted_and_the_last_one_allowed_may_be_taken() -> None:
    stage = Stage(flow(work("a"), work("b", "a"), work("c", "b"), limits=LIMITS(max_steps=2)))
    stage.create()
    assert stage.succeed("a")[-1] == "attempt.started b 1.1"
    stage.succeed("b")
    assert stage.ends() == ("budget_exceeded", "BUDGET_EXCEEDED")
    assert stage.run.error is not None
    assert stage.run.error["message"] == "max_steps is 2; 2 used and the next attempt needs 1"
    assert stage.run.spent.steps == 2


@pytest.mark.parametrize(
    "limits", [LIMITS(max_steps=0), LIMITS(max_tokens=0), LIMITS(max_cost_nanousd=0), LIMITS(max_wall_ms=0)]
)
def test_zero_allows_none(limits: definition.Limits) -> None:
    stage = Stage(flow(work("a", reserve=AMOUNT(tokens=1, cost_nanousd=1)), limits=limits))
    assert stage.create()[1] == "run.ending budget_exceeded BUDGET_EXCEEDED"
    assert stage.run.nodes["a"].attempts == 0


def test_wall_time_that_is_up_ends_the_run_at_the_tick() -> None:
    stage = Stage(flow(work("a"), limits=LIMITS(max_wall_ms=1_000)))
    stage.create()
    assert decide.wake_at(stage.run) == START + 1_001
    assert stage.tick(1_000) == []
    assert stage.tick(1) == [
        "run.ending budget_exceeded BUDGET_EXCEEDED",
        "attempt.cancelled a 1.1 ending",
        "run.ended budget_exceeded BUDGET_EXCEEDED",
    ]
    assert stage.run.error is not None
    assert stage.run.error["message"] == "max_wall_ms is 1000 ms; 1001 used"
    assert decide.wake_at(stage.run) is None


def test_waiting_for_a_person_takes_no_wall_time() -> None:
    approval = definition.Approval(prompt="?")
    stage = Stage(flow(work("p", mode="approval", approval=approval), work("a", "p"), limits=LIMITS(max_wall_ms=100)))
    stage.create()
    stage.at += 30
    stage.ask("p")
    assert (stage.run.spent.wall_ms, budget.wall_deadline(stage.run)) == (30, None)
    stage.at += 1_000_000
    assert stage.tick() == []
    assert stage.answer("p", outputs={"value": {}})[-1] == "attempt.started a 1.1"
    assert budget.wall_ms(stage.run, stage.at + 70) == 100
    assert decide.wake_at(stage.run) == stage.at + 71


def test_an_operators_pause_takes_no_wall_time_once_nothing_is_in_flight() -> None:
    stage = Stage(flow(work("a"), work("b", "a"), limits=LIMITS(max_wall_ms=100)))
    stage.create()
    stage.step(commands.PauseRun(at=stage.at, by="nora"))
    stage.at += 50
    stage.succeed("a")
    stage.at += 10_000
    stage.step(commands.ResumeRun(at=stage.at, by="nora"))
    assert budget.wall_ms(stage.run, stage.at) == 50


def test_the_time_nobody_drove_the_run_is_not_counted() -> None:
    stage = Stage(flow(work("a"), limits=LIMITS(max_wall_ms=100)))
    stage.create()
    stage.tick(40)
    stage.crash(1_000_000)
    assert stage.run.ended is False
    assert budget.wall_ms(stage.run, stage.at) == 0
    stage.at += 100
    stage.succeed("a")
    assert stage.ends() == ("ok", None)


def test_a_crash_in_the_middle_keeps_the_time_up_to_the_last_fact() -> None:
    stage = Stage(flow(work("a"), work("b", "a"), limits=LIMITS(max_wall_ms=100)))
    stage.create()
    stage.at += 60
    stage.succeed("a")
    stage.crash(1_000)
    assert budget.wall_ms(stage.run, stage.at) == 60


def test_time_that_the_clock_skipped_is_no_wall_time_of_the_run_and_of_its_attempts() -> None:
    stage = Stage(flow(work("a"), work("b", "a"), limits=LIMITS(max_wall_ms=1_000)))
    stage.create()
    stage.tick(400)
    stage.at += 3_600_000
    assert stage.step(commands.SkipTime(at=stage.at, skipped_ms=3_600_000)) == ["run.time_skipped"]
    assert (budget.wall_ms(stage.run, stage.at), decide.wake_at(stage.run)) == (400, stage.at + 601)
    stage.at += 100
    stage.step(commands.CancelRun(at=stage.at, by="nora"))
    stopped = next(event for event in stage.log if isinstance(event, events.AttemptCancelled))
    assert stopped.receipt["metrics"] == {"tokens_in": 0, "tokens_out": 0, "wall_ms": 500}
    assert stage.run.spent.wall_ms == 500


def test_no_more_is_left_out_than_was_counted_and_nothing_while_a_person_is_waited_for() -> None:
    approval = definition.Approval(prompt="?")
    stage = Stage(flow(work("a"), work("p", "a", mode="approval", approval=approval)))
    stage.create()
    stage.at += 50
    assert stage.step(commands.SkipTime(at=stage.at, skipped_ms=3_600_000)) == ["run.time_skipped"]
    assert budget.wall_ms(stage.run, stage.at) == 0
    assert stage.step(commands.SkipTime(at=stage.at, skipped_ms=3_600_000)) == []
    stage.succeed("a")
    stage.ask("p")
    stage.at += 3_600_000
    assert stage.step(commands.SkipTime(at=stage.at, skipped_ms=3_600_000)) == []
    assert budget.wall_ms(stage.run, stage.at) == 0


def test_a_clock_that_went_back_never_gives_time_back() -> None:
    stage = Stage(flow(work("a"), limits=LIMITS(max_wall_ms=100)))
    stage.create()
    stage.at -= 50
    stage.succeed("a")
    assert stage.run.spent.wall_ms == 0


def test_a_cut_attempt_is_charged_what_it_had_reserved() -> None:
    """Nobody knows what it used; a run that crashes again and again must not spend beyond its cap."""
    reserve = AMOUNT(tokens=40, cost_nanousd=4, tool_nanousd=2)
    limits = LIMITS(max_tokens=100, max_cost_nanousd=100, max_tool_nanousd=100)
    stage = Stage(flow(work("a", reserve=reserve), limits=limits))
    stage.create()
    assert stage.crash() == ["run.recovered", "attempt.interrupted a 1.1 crash", "attempt.started a 1.2"]
    spent = stage.run.spent
    assert (spent.steps, spent.tokens, spent.cost_nanousd, spent.tool_nanousd) == (1, 40, 4, 2)
    assert stage.crash()[-1] == "run.ended budget_exceeded BUDGET_EXCEEDED"
    assert stage.run.spent.tokens == 80


def test_a_retry_is_a_step_and_is_refused_when_none_is_left() -> None:
    stage = Stage(flow(work("a", retry=definition.Retry(max_attempts=5)), limits=LIMITS(max_steps=2)))
    stage.create()
    stage.fail("a")
    stage.fail("a")
    assert stage.ends() == ("budget_exceeded", "BUDGET_EXCEEDED")


def test_a_waiting_retry_or_an_open_question_gives_nothing_back_so_the_run_ends_now() -> None:
    """Both hold no reservation that could make room for the node that does not fit."""
    stage = Stage(
        flow(
            work("p", mode="approval", approval=definition.Approval(prompt="?")),
            work("r", retry=definition.Retry(max_attempts=2, delay_ms=1_000)),
            work("a", reserve=AMOUNT(tokens=50)),
            work("b", "a", reserve=AMOUNT(tokens=51)),
            limits=LIMITS(max_tokens=100),
        )
    )
    stage.create()
    stage.ask("p")
    stage.fail("r")
    assert stage.succeed("a", metrics=outcome.Metrics(tokens_in=50)) == [
        "attempt.succeeded a 1.1",
        "run.ending budget_exceeded BUDGET_EXCEEDED",
        "approval.withdrawn p ending",
        "run.ended budget_exceeded BUDGET_EXCEEDED",
    ]
    assert stage.outcomes() == {"p": "cancelled", "r": None, "a": "succeeded", "b": None}


def test_a_person_is_not_asked_about_a_step_that_the_budget_does_not_allow() -> None:
    approval = definition.Approval(prompt="?")
    stage = Stage(flow(work("a"), work("p", "a", mode="approval", approval=approval), limits=LIMITS(max_steps=1)))
    stage.create()
    stage.succeed("a")
    assert stage.ask("p")[0] == "run.ending budget_exceeded BUDGET_EXCEEDED"
    assert stage.run.error is not None
    assert stage.run.error["node"] == "p"


def test_an_open_question_holds_its_step() -> None:
    nodes = [work(key, mode="approval", approval=definition.Approval(prompt="?")) for key in ("p", "q")]
    stage = Stage(flow(*nodes, limits=LIMITS(max_steps=1)))
    stage.create()
    stage.ask("p")
    assert stage.ask("q")[0] == "run.ending budget_exceeded BUDGET_EXCEEDED"


def test_an_answered_checkpoint_hands_its_step_to_the_work() -> None:
    stage = Stage(flow(work("a", approval=definition.Approval(prompt="?")), limits=LIMITS(max_steps=1)))
    stage.create()
    stage.ask("a")
    assert stage.answer("a") == ["approval.resolved a approved by nora", "attempt.started a 1.1"]
    stage.succeed("a")
    assert stage.ends() == ("ok", None)
    assert (stage.run.spent.steps, stage.run.reserved.steps) == (1, 0)


def test_the_totals_are_in_the_last_fact() -> None:
    stage = Stage(flow(work("a", reserve=AMOUNT(tokens=9)), limits=LIMITS(max_tokens=100)))
    stage.create()
    stage.at += 7
    stage.succeed("a", metrics=outcome.Metrics(tokens_in=3, tokens_out=4, cost_nanousd=5, tool_nanousd=6))
    ended = stage.log[-1]
    assert getattr(ended, "spent", None) == {
        "steps": 1,
        "tokens": 7,
        "costNanousd": 5,
        "toolNanousd": 6,
        "wallMs": 7,
    }


def test_work_that_turns_out_to_need_more_than_is_left_ends_the_run_with_evidence() -> None:
    stage = Stage(
        flow(
            work("a", reserve=AMOUNT(tokens=60), retry=definition.Retry(max_attempts=3)),
            limits=LIMITS(max_tokens=100, max_cost_nanousd=10**9),
        )
    )
    stage.create()
    needs = outcome.Needs(tokens=5_000, cost_nanousd=2)
    failure = outcome.Failure(code="BUDGET_EXCEEDED", message="too long", retryable=False, needs=needs)
    stage.fail("a", failure)
    assert stage.ends() == ("budget_exceeded", "BUDGET_EXCEEDED")
    assert stage.run.error == {
        "code": "BUDGET_EXCEEDED",
        "message": "max_tokens is 100; 0 used and the next attempt needs 5000",
        "limit": "max_tokens",
        "allowed": 100,
        "used": 0,
        "node": "a",
    }


def test_what_is_not_used_yet_is_all_there_is() -> None:
    stage = Stage(flow(work("a", reserve=AMOUNT(tokens=60)), work("b"), limits=LIMITS(max_tokens=100)))
    stage.create()
    stage.succeed("a", metrics=outcome.Metrics(tokens_in=30, tokens_out=1, cost_nanousd=9))
    assert budget.shortage(stage.run, 70, 0) is not None
    assert budget.shortage(stage.run, 69, 10**9) is None
    dear = Stage(flow(work("a"), limits=LIMITS(max_cost_nanousd=50)))
    dear.create()
    assert budget.shortage(dear.run, 10**9, 51) == {
        "code": "BUDGET_EXCEEDED",
        "message": "max_cost_usd is 0.00000005 USD; 0 used and the next attempt needs 0.000000051",
        "limit": "max_cost_usd",
        "allowed": 50,
        "used": 0,
    }


class Watch:
    """Knows what every attempt has used, and when it was asked."""

    def __init__(self, used: outcome.Metrics) -> None:
        self._used = used
        self.asked: list[str] = []

    def used(self, flight: runs.Attempt) -> outcome.Metrics:
        self.asked.append(flight.node)
        return self._used

    def said(self, _flight: runs.Attempt) -> str | None:
        return None

    def may_begin(self) -> bool:
        return True


USED = outcome.Metrics(tokens_in=30, tokens_out=12, wall_ms=999, cost_nanousd=7, tool_nanousd=3)
TAKEN = {"tokens_in": 30, "tokens_out": 12, "wall_ms": 5}


def cut_by_ending(stage: Stage) -> None:
    stage.step(commands.CancelRun(at=stage.at, by="nora"))


def cut_by_suspending(stage: Stage) -> None:
    stage.step(commands.PauseRun(at=stage.at, by="nora", reason="suspended"))
    stage.step(commands.ReportInterrupted(at=stage.at, node="a", visit=1, attempt=1))


@pytest.mark.parametrize("cut", [cut_by_ending, cut_by_suspending])
@pytest.mark.parametrize(
    ("reserve", "charged"), [(AMOUNT(), (42, 7, 3)), (AMOUNT(tokens=40, cost_nanousd=9, tool_nanousd=2), (42, 9, 3))]
)
def test_a_stopped_attempt_is_charged_what_it_is_known_to_have_used_and_no_less_than_it_reserved(
    cut: Callable[[Stage], None], reserve: definition.Amount, charged: tuple[int, int, int]
) -> None:
    watch = Watch(USED)
    stage = Stage(flow(work("a", reserve=reserve)), meter=watch)
    stage.create()
    stage.at += 5
    cut(stage)
    spent = stage.run.spent
    assert (spent.tokens, spent.cost_nanousd, spent.tool_nanousd) == charged
    (fact,) = (one for one in stage.log if isinstance(one, events.AttemptCancelled | events.AttemptInterrupted))
    assert (fact.spent, fact.receipt["metrics"]) == ({"costNanousd": 7, "toolNanousd": 3}, TAKEN)
    assert watch.asked == ["a"]


def test_what_a_bounce_stops_is_charged_too() -> None:
    bounce = definition.Bounce(when_gate="g", route_to="a", max_bounces=1, reset=("a", "b", "c"))
    stage = Stage(flow(work("a"), work("b", "a", bounces=(bounce,)), work("c", "a")), meter=Watch(USED))
    stage.create()
    stage.succeed("a")
    stage.fail("b", failure("no", gate="g"))
    assert "attempt.cancelled c 1.1 bounce" in [tell(fact) for fact in stage.log]
    assert (stage.run.spent.tokens, stage.run.spent.cost_nanousd) == (42, 7)


def test_after_a_crash_nobody_knows_what_was_used() -> None:
    watch = Watch(USED)
    stage = Stage(flow(work("a")), meter=watch)
    stage.create()
    stage.crash()
    assert (watch.asked, stage.run.spent.tokens, stage.run.spent.cost_nanousd) == ([], 0, 0)
