"""Errors outlive a copy and a way to another process, each as what it is."""

from __future__ import annotations

import copy
import multiprocessing
import pickle
from concurrent import futures

import pytest

import openskelo
from openskelo import errors
from openskelo.providers import protocol

WRONG = {"name": "wrong", "blocks": [{"id": "a", "mood": "good"}]}
ANSWER = protocol.Answer(text="{", model="m", cost_nanousd=7)


def wrong() -> openskelo.Workflow:
    return openskelo.from_document(WRONG)


def raised() -> list[errors.OpenSkeloError]:
    """Those that are made of more than a message, and one that is not."""
    with pytest.raises(openskelo.InvalidWorkflow) as found:
        wrong()
    found.value.add_note("seen by ann")
    return [
        found.value,
        errors.Refused("no", code="RUN_ENDED", hint="fork it"),
        errors.AttemptFailed("late", retryable=False, retry_after_ms=20, happened="unknown"),
        errors.OverBudget("too much", tokens=3, cost_nanousd=4),
        protocol.UnusableAnswer("no JSON", code="OUTPUT_INVALID", hint=None, answer=ANSWER),
    ]


@pytest.mark.parametrize("error", raised(), ids=lambda error: type(error).__name__)
def test_a_copy_is_the_same_error(error: errors.OpenSkeloError) -> None:
    for again in (copy.copy(error), pickle.loads(pickle.dumps(error))):
        assert type(again) is type(error)
        assert (again.args, vars(again)) == (error.args, vars(error))


def test_what_is_wrong_with_a_workflow_is_told_from_another_process() -> None:
    apart = multiprocessing.get_context("spawn")
    with futures.ProcessPoolExecutor(1, apart) as pool, pytest.raises(openskelo.InvalidWorkflow) as told:
        pool.submit(wrong).result()
    assert [problem.code for problem in told.value.problems] == ["UNKNOWN_KEY"]
