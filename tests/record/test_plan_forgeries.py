"""Records of plans that chain correctly and cannot have happened: each is found by what the plan's steps say."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from openskelo.kernel import definition, events, outcome
from openskelo.kernel import receipts as kernel_receipts
from openskelo.structs import replace
from openskelo.values import canonical
from tests.kernel import stage
from tests.record import verifying

DENIED = outcome.Failure(code="MODE_DENIED", message="no", retryable=False, denied=True)
INPUTS = canonical.digest({})


def told() -> tuple[definition.Workflow, list[events.Event]]:
    """A branch, a step that was not allowed, a step that saves, and the end."""
    steps = {
        "fork": definition.Step(op="branch", args={}, then="call", otherwise="end"),
        "call": definition.Step(op="tool_call", args={}, save_as="x", on_denied="make"),
        "make": definition.Step(op="transform", args={}, save_as="y", next="end"),
        "end": definition.Step(op="emit", args={}),
    }
    nodes = [definition.Node(key=key, mode="deterministic", step=step) for key, step in steps.items()]
    workflow = replace(stage.flow(*nodes, name="plan"), plan=definition.Plan(entry="fork"))
    played = stage.Stage(workflow)
    played.create(kept={})
    succeed(played, "fork", {"output": {"holds": True, "goto": "call"}}, holds=True)
    played.report("call", outcome.Outcome(inputs_hash=INPUTS, failure=DENIED))
    succeed(played, "make", {"y": 1})
    succeed(played, "end", {"output": {}})
    return workflow, played.log


def succeed(played: stage.Stage, key: str, outputs: dict[str, Any], **more: Any) -> None:
    digest = canonical.digest(outputs)
    result = outcome.Outcome(inputs_hash=INPUTS, outputs={"value": outputs}, output_hash=digest, **more)
    played.report(key, result)


def verified(forge: Callable[[dict[str, Any]], None] | None = None) -> tuple[str, ...]:
    """What is found in the record once `forge` has changed events, which it is given by node and kind."""
    workflow, log = told()
    named = {f"{events.NAMES[type(event)]} {getattr(event, 'node', '')}".strip(): event for event in log}
    if forge is not None:
        forge(named)
    changed: list[events.Event] = []
    prev = kernel_receipts.GENESIS
    for event in named.values():
        receipt = getattr(event, "receipt", None)
        if receipt is not None:
            receipt = {**receipt, "prev": prev}
            prev = kernel_receipts.digest(receipt)
            changed.append(replace(event, receipt=receipt))
        elif isinstance(event, events.RunEnded):
            changed.append(replace(event, receipt_head=prev))
        else:
            changed.append(event)
    found = verifying.lines(stage.sealed(changed), workflow=workflow)
    return tuple(problem.message for problem in found.problems)


def test_the_honest_record_verifies() -> None:
    assert verified() == ()


def changing(name: str, **fields: Any) -> Callable[[dict[str, Any]], None]:
    def forge(named: dict[str, Any]) -> None:
        named[name] = replace(named[name], **fields)

    return forge


def saying(name: str, **fields: Any) -> Callable[[dict[str, Any]], None]:
    def forge(named: dict[str, Any]) -> None:
        named[name] = replace(named[name], receipt={**named[name].receipt, **fields})

    return forge


@pytest.mark.parametrize(
    ("forge", "found"),
    [
        (changing("attempt.succeeded fork", goto="make"), "fork does not lead to make"),
        (changing("attempt.succeeded fork", goto="end"), "call is in visit 0, not 1"),
        (changing("attempt.succeeded make", goto="end"), "make goes to end, but is no branch"),
        (changing("attempt.failed call", goto="end"), "call does not lead to end"),
        (changing("attempt.failed call", outputs=None), "call goes on, but leaves nothing"),
        (
            saying("attempt.succeeded make", output_ref="var:x"),
            "the receipt of make says that its outputs are kept under another name",
        ),
        (saying("attempt.succeeded make", op="verify"), "the receipt of make names another op than its mode"),
    ],
)
def test_what_the_steps_do_not_say_is_found(forge: Callable[[dict[str, Any]], None], found: str) -> None:
    (message,) = verified(forge)
    assert found in message


@pytest.mark.parametrize(
    "forge",
    [
        saying("attempt.succeeded make", output_ref="elsewhere"),
        changing("attempt.failed call", outputs={"value": {"x": 1}}),
        changing("attempt.failed call", next="fail"),
    ],
)
def test_what_does_not_fit_its_receipt_or_what_follows_is_found(forge: Callable[[dict[str, Any]], None]) -> None:
    assert len(verified(forge)) == 1
