"""What each attempt is told: about the one before, what a gate refused, and why the run was sent back."""

from __future__ import annotations

from typing import Any

from openskelo.kernel import definition
from openskelo.kernel.json import Json, JsonObject
from tests.kernel.stage import Stage, failure, flow, work

FIVE = definition.Retry(max_attempts=5, stall_after=0)
NO: JsonObject = {"gate": "good", "passed": False, "reason": "no"}
YES: JsonObject = {"gate": "fresh", "passed": True, "reason": ""}
RAISED: JsonObject = {"code": "BAD", "message": "503"}


def written(**more: Any) -> Stage:
    """`review` sends work back to `draft`, which is tried five times."""
    back = definition.Bounce(when_gate="good", route_to="draft", max_bounces=3, reset=("draft", "review"))
    stage = Stage(flow(work("draft", retry=FIVE, **more), work("review", "draft", bounces=(back,))))
    stage.create()
    return stage


def sent_back(stage: Stage, number: int = 1) -> JsonObject:
    """What the draft is told when the review has refused it."""
    stage.succeed("draft")
    why = failure("not good", "POST_GATE_FAILED", gate="good")
    stage.fail("review", why, output=f"sha256:{number}", verdicts=(YES, NO))
    error: JsonObject = {
        "code": "POST_GATE_FAILED",
        "message": "not good",
        "gate": "good",
        "outputHash": f"sha256:{number}",
    }
    told: JsonObject = {"from": "review", "bounce": number, "attempt": 1, "error": error, "verdicts": [YES, NO]}
    assert told_to(stage, "draft") == told
    return told


def told_to(stage: Stage, key: str, item: int = 0) -> Json:
    return stage.run.nodes[key].slots[item].feedback


def test_why_a_run_was_sent_back_stays_for_all_attempts_of_the_visit() -> None:
    stage = written()
    told = sent_back(stage)
    for attempt in (1, 2):
        stage.fail("draft", "503")
        assert told_to(stage, "draft") == {
            "attempt": attempt,
            "error": RAISED,
            "verdicts": [YES, NO],
            "sent_back": told,
        }


def test_a_verdict_of_the_own_gates_stands_beside_it() -> None:
    stage = written()
    told = sent_back(stage)
    own: JsonObject = {"gate": "own", "passed": False, "reason": "short"}
    stage.fail("draft", failure("short", "POST_GATE_FAILED", gate="own"), output="sha256:o", verdicts=(own,))
    refused: JsonObject = {
        "attempt": 1,
        "error": {"code": "POST_GATE_FAILED", "message": "short", "gate": "own", "outputHash": "sha256:o"},
        "verdicts": [own],
    }
    assert told_to(stage, "draft") == {**refused, "sent_back": told}
    stage.fail("draft", "503")
    expected: JsonObject = {"attempt": 2, "error": RAISED, "verdicts": [own], "refused": refused, "sent_back": told}
    assert told_to(stage, "draft") == expected
    stage.fail("draft", "503")
    assert told_to(stage, "draft") == {**expected, "attempt": 3}


def test_a_failure_without_a_result_does_not_erase_what_was_refused_before() -> None:
    stage = written(repairs=1)
    wrong = failure("no number", "OUTPUT_CONTRACT", repairable=True)
    stage.fail("draft", wrong, output="sha256:x", feedback={"answer": "seven"})
    refused: JsonObject = {
        "attempt": 1,
        "error": {"code": "OUTPUT_CONTRACT", "message": "no number", "outputHash": "sha256:x"},
        "verdicts": [],
        "detail": {"answer": "seven"},
    }
    assert told_to(stage, "draft") == refused
    stage.fail("draft", "503", verdicts=(YES,))
    assert told_to(stage, "draft") == {"attempt": 2, "error": RAISED, "verdicts": [YES], "refused": refused}


def test_a_newer_refusal_takes_the_place_of_the_older() -> None:
    stage = written()
    for attempt, output in ((1, "sha256:1"), (2, "sha256:2")):
        stage.fail("draft", failure("short", "POST_GATE_FAILED"), output=output, verdicts=(NO,))
        error: JsonObject = {"code": "POST_GATE_FAILED", "message": "short", "outputHash": output}
        assert told_to(stage, "draft") == {"attempt": attempt, "error": error, "verdicts": [NO]}


def test_a_bounce_tells_of_its_own_failure_alone() -> None:
    stage = written()
    sent_back(stage)
    stage.fail("draft", "503")
    sent_back(stage, 2)


def test_a_block_that_goes_back_to_itself_does_not_hoard_what_it_was_told() -> None:
    back = definition.Bounce(when_gate="good", route_to="a", max_bounces=5, reset=("a",))
    stage = Stage(flow(work("a", retry=FIVE, bounces=(back,))))
    stage.create()
    for number in (1, 2, 3):
        stage.fail("a", "503")
        stage.fail("a", failure("not good", gate="good"), output=f"sha256:{number}", verdicts=(NO,))
        assert told_to(stage, "a") == {
            "from": "a",
            "bounce": number,
            "attempt": 2,
            "error": {"code": "BAD", "message": "not good", "gate": "good", "outputHash": f"sha256:{number}"},
            "verdicts": [NO],
        }


def test_a_loop_that_a_person_lets_go_on_goes_back_with_that_failure_alone() -> None:
    back = definition.Bounce(when_gate="good", route_to="a", max_bounces=5, reset=("a",))
    stage = Stage(flow(work("a", retry=definition.Retry(stall_after=2), bounces=(back,))))
    stage.create()
    why = failure("not good", gate="good")
    stage.fail("a", why, output="sha256:o", verdicts=(NO,))
    assert stage.fail("a", why, output="sha256:o", verdicts=(NO,))[0] == "attempt.failed a 2.1 ask"
    stage.answer("a")
    told: Any = told_to(stage, "a")
    assert (sorted(told), told["bounce"]) == (["attempt", "bounce", "error", "from", "verdicts"], 2)


def test_the_reason_of_a_denial_stays_too() -> None:
    back = definition.Bounce(when_gate="approval", route_to="draft", max_bounces=2, reset=("draft", "ok"))
    asks = definition.Approval(prompt="?", on_deny="bounce", bounce=back)
    stage = Stage(flow(work("draft", retry=FIVE), work("ok", "draft", mode="approval", approval=asks)))
    stage.create()
    stage.succeed("draft")
    stage.ask("ok")
    stage.answer("ok", "denied", reason="too dry")
    told: Any = told_to(stage, "draft")
    assert told["error"]["message"] == "too dry"
    stage.fail("draft", "503")
    assert told_to(stage, "draft") == {"attempt": 1, "error": RAISED, "verdicts": [], "sent_back": told}


def test_each_item_of_a_foreach_keeps_it() -> None:
    stage = written(foreach=definition.Foreach(items="x", concurrency=2))
    stage.resolve("draft", count=1)
    stage.succeed("draft", 0)
    stage.fail("review", failure("not good", gate="good"), verdicts=(NO,))
    stage.resolve("draft", count=2)
    told = told_to(stage, "draft", 1)
    stage.fail("draft", "503", item=1)
    expected = {"attempt": 1, "error": RAISED, "verdicts": [NO], "item": 1, "sent_back": told}
    assert (told_to(stage, "draft", 0), told_to(stage, "draft", 1)) == (told, expected)


def test_a_crash_forgets_nothing() -> None:
    stage = written()
    told = sent_back(stage)
    stage.fail("draft", "503")
    stage.crash()
    assert told_to(stage, "draft") == {"attempt": 1, "error": RAISED, "verdicts": [YES, NO], "sent_back": told}


def test_where_an_item_sends_the_run_back_the_target_is_told_which_one() -> None:
    back = definition.Bounce(when_gate="good", route_to="draft", max_bounces=3, reset=("draft", "review"))
    review = work("review", "draft", bounces=(back,), foreach=definition.Foreach(items="x"))
    stage = Stage(flow(work("draft"), review))
    stage.create()
    stage.succeed("draft")
    stage.resolve("review", count=3)
    stage.fail("review", failure("not good", gate="good"), verdicts=(NO,), item=2)
    error: JsonObject = {"code": "BAD", "message": "not good", "gate": "good"}
    expected = {"from": "review", "bounce": 1, "attempt": 1, "item": 2, "error": error, "verdicts": [NO]}
    assert told_to(stage, "draft") == expected
