"""Work that is done and that nobody could judge: it waits for its verdict, and is neither bounced nor done again."""

from __future__ import annotations

from typing import Any

import pytest

from openskelo.kernel import definition, events, outcome
from openskelo.kernel import run as runs
from openskelo.kernel.json import JsonObject
from openskelo.values import canonical
from tests.kernel.stage import Stage, failure, flow, work

DONE: JsonObject = {"out": "done"}
NO: JsonObject = {"gate": "good", "passed": False, "reason": "no"}
YES: JsonObject = {"gate": "fresh", "passed": True, "reason": ""}
NOBODY: JsonObject = {"gate": "good", "passed": None, "reason": "the reviewer could not be asked: 503"}
DOWN = failure("503", "PROVIDER_UNAVAILABLE", happened="yes")
REFUSED = failure("no", "POST_GATE_FAILED", gate="good", happened="yes")
FOUR = definition.Retry(max_attempts=4, stall_after=2)


BACK = definition.Bounce(when_gate="good", route_to="draft", max_bounces=2, reset=("draft", "review"))


def staged(retry: definition.Retry = FOUR, bounces: tuple[definition.Bounce, ...] = (BACK,), **more: Any) -> Stage:
    """`draft` then `review`, whose gate sends bad drafts back."""
    review = work("review", "draft", retry=retry, bounces=bounces, **more)
    stage = Stage(flow(work("draft"), review))
    stage.create()
    stage.succeed("draft")
    return stage


def unjudged(stage: Stage, key: str = "review", why: outcome.Failure = DOWN, item: int | None = None) -> list[str]:
    """The attempt in flight did its work, and nobody could be asked about it."""
    result = outcome.Outcome(
        inputs_hash="sha256:in",
        outputs={"value": DONE},
        output_hash=canonical.digest(DONE),
        failure=why,
        verdicts=(YES, NOBODY),
    )
    return stage.report(key, result, item)


def waiting(stage: Stage, key: str = "review", item: int = 0) -> object:
    return stage.run.nodes[key].slots[item].unjudged


def test_it_is_tried_again_and_not_bounced() -> None:
    stage = staged()
    assert unjudged(stage) == [
        "attempt.failed review 1.1 retry +0",
        "attempt.due review",
        "attempt.started review 1.2",
    ]
    assert stage.run.nodes["review"].bounces == {}
    fact = next(event for event in stage.log if isinstance(event, events.AttemptFailed))
    assert (fact.error, fact.outputs) == ({"code": "PROVIDER_UNAVAILABLE", "message": "503"}, {"value": DONE})
    assert fact.receipt["output_hash"] == canonical.digest(DONE)
    assert waiting(stage) == {"value": DONE}
    assert stage.succeed("review")[-1] == "run.ended ok"


def test_a_verdict_at_last_counts_as_any() -> None:
    stage = staged()
    unjudged(stage)
    assert stage.fail("review", REFUSED, output=canonical.digest(DONE), verdicts=(NO,))[0] == (
        "attempt.failed review 1.2 bounce"
    )
    assert stage.run.nodes["review"].bounces == {0: 1}
    assert stage.succeed("draft")[-1] == "attempt.started review 2.1"
    assert waiting(stage) is None


def test_it_is_no_repeated_verdict_and_ends_a_streak_of_them() -> None:
    stage = staged(bounces=())
    for _ in range(3):
        unjudged(stage)
    assert stage.run.nodes["review"].slots[0].streak.length == 0
    assert unjudged(stage)[0] == "attempt.failed review 1.4 fail"
    assert stage.ends() == ("failed", "PROVIDER_UNAVAILABLE")
    stage = staged(bounces=())
    stage.fail("review", REFUSED, output="sha256:x", verdicts=(NO,))
    unjudged(stage)
    assert stage.fail("review", REFUSED, output="sha256:x", verdicts=(NO,))[0] == "attempt.failed review 1.3 retry +0"


def test_it_leaves_the_verdicts_standing_that_there_are_against_the_work() -> None:
    stage = staged(bounces=())
    stage.fail("review", REFUSED, output="sha256:x", verdicts=(NO,))
    refused: JsonObject = {
        "attempt": 1,
        "error": {"code": "POST_GATE_FAILED", "message": "no", "gate": "good", "outputHash": "sha256:x"},
        "verdicts": [NO],
    }
    assert stage.run.nodes["review"].slots[0].feedback == refused
    unjudged(stage)
    down: JsonObject = {"code": "PROVIDER_UNAVAILABLE", "message": "503"}
    assert stage.run.nodes["review"].slots[0].feedback == {
        "attempt": 2,
        "error": down,
        "verdicts": [NO],
        "refused": refused,
    }
    stage = staged()
    unjudged(stage)
    told: JsonObject = {"attempt": 1, "error": down, "verdicts": [YES, NOBODY]}
    assert stage.run.nodes["review"].slots[0].feedback == told


def test_its_server_is_waited_for() -> None:
    stage = staged(retry=definition.Retry(max_attempts=2, max_delay_ms=9000))
    limited = failure("429", "PROVIDER_RATE_LIMITED", happened="yes", retry_after_ms=5000)
    assert unjudged(stage, why=limited) == ["attempt.failed review 1.1 retry +5000"]
    assert stage.tick(5000) == ["attempt.due review", "attempt.started review 1.2"]


def test_what_trying_again_cannot_mend_fails_the_node_without_a_bounce() -> None:
    stage = staged()
    quota = failure("no credit", "PROVIDER_QUOTA", happened="yes", retryable=False)
    assert unjudged(stage, why=quota)[0] == "attempt.failed review 1.1 fail"
    assert stage.ends() == ("failed", "PROVIDER_QUOTA")


def test_an_effect_that_happens_once_waits_for_its_verdict_too() -> None:
    stage = staged(effect="once")
    unjudged(stage)
    assert stage.succeed("review")[-1] == "run.ended ok"


def test_an_effect_that_happens_once_is_not_repeated_when_it_is_refused_at_last() -> None:
    stage = staged(effect="once")
    unjudged(stage)
    assert stage.fail("review", REFUSED, verdicts=(NO,))[0] == "attempt.failed review 1.2 fail"


def test_an_effect_that_happens_once_is_not_repeated_when_its_outputs_are_lost() -> None:
    """The attempt that was to judge it says of itself that it did nothing: the one before did."""
    stage = staged(effect="once")
    unjudged(stage)
    assert stage.fail("review", failure("a blob is gone", "CORRUPT"))[0] == "attempt.failed review 1.2 fail"


@pytest.mark.parametrize("effect", ["pure", "once"])
def test_a_crash_while_it_is_judged_leaves_nothing_uncertain(effect: definition.Effect) -> None:
    stage = staged(effect=effect)
    unjudged(stage)
    assert stage.crash() == ["run.recovered", "attempt.interrupted review 1.2 crash", "attempt.started review 1.3"]
    assert waiting(stage) == {"value": DONE}
    assert stage.succeed("review")[-1] == "run.ended ok"


def test_nobody_is_asked_again_to_allow_what_is_done() -> None:
    stage = Stage(flow(work("pay", effect="once", retry=FOUR)))
    stage.create(mode="INTERACTIVE")
    stage.ask("pay")
    stage.answer("pay")
    assert unjudged(stage, "pay")[-1] == "attempt.started pay 1.2"
    assert stage.run.approvals == {}
    assert runs.status(stage.run) == "running"


def test_each_item_waits_for_its_own() -> None:
    stage = Stage(flow(work("each", foreach=definition.Foreach(items="x", concurrency=2), retry=FOUR)))
    stage.create()
    stage.resolve("each", count=2)
    unjudged(stage, "each", item=1)
    assert (waiting(stage, "each", 0), waiting(stage, "each", 1)) == (None, {"value": DONE})
    stage.succeed("each", item=0)
    assert stage.succeed("each", item=1)[-1] == "run.ended ok"
