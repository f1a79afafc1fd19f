"""Repairs: an answer that breaks the contract is asked for again at once, a bounded number of times."""

from __future__ import annotations

from typing import Any

from openskelo.kernel import definition
from tests.kernel.stage import Stage, failure, flow, work

WRONG = failure("output 'n': not a number", code="OUTPUT_CONTRACT", repairable=True)


def repairing(**more: Any) -> Stage:
    stage = Stage(flow(work("a", **more)))
    stage.create()
    return stage


def test_a_repair_starts_in_the_same_append_and_has_its_own_receipt() -> None:
    stage = repairing(repairs=1)
    told = stage.fail("a", WRONG, output="sha256:x", feedback={"answer": "seven"})
    assert told == ["attempt.failed a 1.1 repair", "attempt.started a 1.2"]
    assert stage.run.nodes["a"].slots[0].feedback == {
        "attempt": 1,
        "error": {"code": "OUTPUT_CONTRACT", "message": "output 'n': not a number", "outputHash": "sha256:x"},
        "verdicts": [],
        "detail": {"answer": "seven"},
    }
    assert stage.succeed("a") == ["attempt.succeeded a 1.2", "run.ended ok"]
    assert stage.run.receipts == 2


def test_repairs_are_bounded_and_beside_the_retries() -> None:
    stage = repairing(repairs=2, retry=definition.Retry(max_attempts=2, stall_after=0))
    ways = [stage.fail("a", WRONG, output="sha256:x")[0].rsplit(" ", 1)[-1] for _ in range(3)]
    assert ways == ["repair", "repair", "+0"]
    assert stage.fail("a", WRONG, output="sha256:x")[0] == "attempt.failed a 1.4 fail"


def test_only_a_failure_that_can_be_mended_is_repaired() -> None:
    stage = repairing(repairs=3)
    assert stage.fail("a", failure("no key", code="PROVIDER_AUTH"))[0] == "attempt.failed a 1.1 fail"


def test_each_item_of_a_foreach_has_its_own_repairs() -> None:
    stage = repairing(repairs=1, foreach=definition.Foreach(items="[1, 2]", concurrency=2))
    stage.resolve("a", count=2)
    for item in (0, 1):
        assert stage.fail("a", WRONG, item=item, output="sha256:x")[0].endswith("repair")
    assert stage.succeed("a", item=0) == ["attempt.succeeded a[0] 1.2"]
    assert stage.fail("a", WRONG, item=1, output="sha256:x")[0].endswith("fail")
