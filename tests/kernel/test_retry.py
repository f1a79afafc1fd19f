"""Trying again: how often, after how long, and with what told to the next attempt."""

from __future__ import annotations

import pytest

from openskelo.kernel import decide, definition
from tests.kernel.stage import START, Stage, failure, flow, work


def retrying(**more: object) -> Stage:
    stage = Stage(flow(work("a", retry=definition.Retry(**more))))  # type: ignore[arg-type]  keywords of Retry
    stage.create()
    return stage


@pytest.mark.parametrize(
    ("backoff", "delays"),
    [("none", [100, 100, 100, 100]), ("linear", [100, 200, 300, 350]), ("exponential", [100, 200, 350, 350])],
)
def test_each_backoff_waits_its_own_way_up_to_the_cap(backoff: definition.Backoff, delays: list[int]) -> None:
    stage = retrying(max_attempts=5, backoff=backoff, delay_ms=100, max_delay_ms=350)
    for attempt, delay in enumerate(delays, 1):
        assert stage.fail("a") == [f"attempt.failed a 1.{attempt} retry +{delay}"]
        assert decide.wake_at(stage.run) == stage.at + delay
        assert stage.tick(delay - 1) == []
        assert stage.tick(1) == ["attempt.due a", f"attempt.started a 1.{attempt + 1}"]
    assert stage.fail("a") == ["attempt.failed a 1.5 fail", "run.ending failed BAD", "run.ended failed BAD"]
    assert stage.run.nodes["a"].attempts == 5
    assert stage.run.receipts == 5


def test_the_first_attempt_is_the_only_one_unless_more_are_allowed() -> None:
    stage = retrying()
    assert stage.fail("a") == ["attempt.failed a 1.1 fail", "run.ending failed BAD", "run.ended failed BAD"]


def test_a_failure_that_retrying_cannot_help_spends_no_retry() -> None:
    stage = retrying(max_attempts=5)
    assert stage.fail("a", failure("no config", retryable=False))[0] == "attempt.failed a 1.1 fail"


def test_a_retry_without_delay_starts_in_the_same_append() -> None:
    stage = retrying(max_attempts=2)
    assert stage.fail("a") == ["attempt.failed a 1.1 retry +0", "attempt.due a", "attempt.started a 1.2"]
    assert stage.succeed("a") == ["attempt.succeeded a 1.2", "run.ended ok"]


def test_a_servers_wish_to_wait_is_respected_up_to_the_cap() -> None:
    stage = retrying(max_attempts=3, delay_ms=10, max_delay_ms=500)
    assert stage.fail("a", failure("slow down", retry_after_ms=300)) == ["attempt.failed a 1.1 retry +300"]
    stage.tick(300)
    assert stage.fail("a", failure("slow down", retry_after_ms=9_000)) == ["attempt.failed a 1.2 retry +500"]


def test_the_next_attempt_is_told_what_was_wrong_with_the_last() -> None:
    stage = retrying(max_attempts=2)
    verdict = {"gate": "short", "ok": False}
    stage.fail("a", failure("too long", gate="short"), output="sha256:x", verdicts=(verdict,))
    assert stage.run.nodes["a"].slots[0].feedback == {
        "attempt": 1,
        "error": {"code": "BAD", "message": "too long", "gate": "short", "outputHash": "sha256:x"},
        "verdicts": [verdict],
    }
    stage.succeed("a")
    assert stage.run.nodes["a"].slots[0].feedback is None


def test_waiting_for_a_retry_is_busy_and_counts_as_wall_time() -> None:
    stage = retrying(max_attempts=2, delay_ms=1_000)
    stage.fail("a")
    stage.tick(1_000)
    stage.succeed("a")
    assert stage.run.spent.wall_ms == 1_000
    assert stage.at == START + 1_000


def test_several_retries_come_due_in_the_order_of_their_times() -> None:
    slow, fast = definition.Retry(max_attempts=2, delay_ms=50), definition.Retry(max_attempts=2, delay_ms=20)
    stage = Stage(flow(work("a", retry=slow), work("b", retry=fast)))
    stage.create()
    stage.fail("a")
    stage.fail("b")
    assert decide.wake_at(stage.run) == START + 20
    assert stage.tick(60) == ["attempt.due b", "attempt.due a", "attempt.started b 1.2", "attempt.started a 1.2"]
    assert decide.wake_at(stage.run) is None
