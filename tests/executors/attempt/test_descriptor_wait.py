"""An attempt waits while no file descriptor is left, and then does its work again."""

from __future__ import annotations

import errno
import logging
import os
from pathlib import Path
from typing import Any

import pytest

from openskelo import errors
from openskelo.executors.attempt import descriptor_wait
from openskelo.handlers import context
from openskelo.kernel import definition, outcome
from openskelo.kernel.json import JsonObject
from tests.executors import workshop


@pytest.fixture(autouse=True)
def _short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(descriptor_wait, "FIRST_PAUSE_SECONDS", 0.001)


def out_of_descriptors(number: int = errno.EMFILE) -> OSError:
    return OSError(number, os.strerror(number))


class Work:
    """Raises each of `failures`, then succeeds; it changes its inputs."""

    def __init__(self, *failures: BaseException) -> None:
        self.failures = list(failures)
        self.seen: list[object] = []

    async def __call__(self, ctx: context.Context) -> JsonObject:
        inputs: Any = ctx.inputs
        self.seen.append(dict(inputs))
        inputs["text"] = "changed"
        if self.failures:
            raise self.failures.pop(0)
        return {"text": "done"}


def performed(root: Path, work: Work, **changes: Any) -> outcome.Outcome:
    ports = (workshop.port("text", required=False),)
    node = definition.Node(
        key="draft", mode="deterministic", handler="local:it", inputs=ports, outputs=ports, **changes
    )
    task = workshop.task_of(node, {"text": "hi"})
    return workshop.outcome_of(workshop.project(root), task, local={"it": work})


@pytest.mark.parametrize("number", [errno.EMFILE, errno.ENFILE])
@pytest.mark.parametrize("effect", ["pure", "idempotent"])
def test_work_without_a_descriptor_is_done_again_on_the_same_inputs(tmp_path: Path, number: int, effect: str) -> None:
    work = Work(out_of_descriptors(number), out_of_descriptors(number))
    found = performed(tmp_path, work, effect=effect)
    assert (found.failure, found.outputs) == (None, {"value": {"text": "done"}})
    assert work.seen == [{"text": "hi"}] * 3
    assert found.artifacts == ()  # no traceback of the tries before


@pytest.mark.parametrize("number", [errno.EMFILE, errno.ENFILE])
def test_a_handler_whose_effect_happens_once_may_have_had_it(tmp_path: Path, number: int) -> None:
    work = Work(out_of_descriptors(number))
    found = performed(tmp_path, work, effect="once")
    assert (workshop.code_of(found), len(work.seen)) == ("HANDLER_RAISED", 1)


@pytest.mark.parametrize("effect", ["idempotent", "once"])
def test_the_cause_of_a_failure_counts(tmp_path: Path, effect: str) -> None:
    failure = errors.AttemptFailed("no answer", code="HTTP_FAILED")
    failure.__cause__ = out_of_descriptors()
    work = Work(failure)
    assert (performed(tmp_path, work, effect=effect).failure, len(work.seen)) == (None, 2)


def test_the_errors_of_a_group_count(tmp_path: Path) -> None:
    other = ExceptionGroup("inner", [ValueError("other"), out_of_descriptors()])
    work = Work(ExceptionGroup("tasks", [ValueError("one"), other]))
    assert (performed(tmp_path, work).failure, len(work.seen)) == (None, 2)


def test_an_effect_that_may_have_happened_is_not_repeated(tmp_path: Path) -> None:
    failure = errors.AttemptFailed("no answer", code="HTTP_FAILED", happened="unknown")
    failure.__cause__ = out_of_descriptors()
    work = Work(failure)
    found = performed(tmp_path, work, effect="once")
    assert (workshop.code_of(found), len(work.seen)) == ("HTTP_FAILED", 1)


def test_other_errors_of_the_system_fail_the_attempt(tmp_path: Path) -> None:
    work = Work(out_of_descriptors(errno.EACCES))
    assert (workshop.code_of(performed(tmp_path, work)), len(work.seen)) == ("HANDLER_RAISED", 1)


def test_many_waits_leave_one_line_in_the_log(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "openskelo.executors"):
        performed(tmp_path, Work(*(out_of_descriptors() for _ in range(5))))
    assert [record.getMessage() for record in caplog.records] == [
        f"no file descriptor is left: draft of run {workshop.RUN_ID} waits, and perhaps others; "
        "raise the limit (ulimit -n)"
    ]


def test_an_attempt_that_has_waited_too_long_has_no_outcome(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(descriptor_wait, "MAX_SECONDS", 0.01)
    with pytest.raises(errors.StoreError) as raised:
        performed(tmp_path, Work(*(out_of_descriptors() for _ in range(100))))
    assert raised.value.code == "DESCRIPTORS_EXHAUSTED"
