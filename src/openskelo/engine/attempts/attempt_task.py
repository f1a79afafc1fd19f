"""An attempt under way: the asyncio task that performs it, how far it is, and the answers for which it waits."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Generator
from typing import cast

from openskelo import errors
from openskelo.executors.attempt import budget_claims, running_attempt
from openskelo.kernel import events
from openskelo.kernel.json import JsonObject
from openskelo.kernel.run import Attempt, AttemptId

#: The events that a waiting attempt is told.
ABOUT_QUESTIONS = (
    events.ApprovalRequested,
    events.ApprovalResolved,
    events.ApprovalWithdrawn,
    events.CallGranted,
)


class AttemptTask:
    """One attempt of a run and the asyncio task that performs it.

    `progress` is how far the work has come, once it has begun. `cancelled` is True if the driver stopped it: then a
    CancelledError in the task is no failure of the work.
    """

    def __init__(self, attempt: Attempt) -> None:
        self.attempt = attempt
        self.key: AttemptId = (attempt.node, attempt.visit, attempt.slot)
        self.task: asyncio.Task[None] | None = None
        self.progress: running_attempt.RunningAttempt | None = None
        self.cancelled = False
        self._answers: dict[str, asyncio.Future[JsonObject]] = {}  # by call
        self._asked_calls: dict[str, str] = {}  # the call of each open approval
        self._waits = 0  # questions for whose answers the attempt waits

    def expect_answer(self, call_id: str) -> asyncio.Future[JsonObject]:
        """Return the future resolution of a question about a call (Refused if it is withdrawn)."""
        answer = self._answers[call_id] = asyncio.get_running_loop().create_future()
        return answer

    @contextlib.contextmanager
    def clock_stopped(self) -> Generator[None]:
        """Let the attempt's clock stand still, also while it waits for several answers at once."""
        usage = budget_claims.Usage() if self.progress is None else self.progress.usage
        self._waits += 1
        if self._waits == 1:
            usage.begin_wait()
        try:
            yield
        finally:
            self._waits -= 1
            if not self._waits:
                usage.end_wait()

    def hear(self, fact: events.Event) -> None:
        """Take note of a question that was asked for this attempt, or tell the attempt the answer."""
        match fact:
            case events.ApprovalRequested() if fact.tool["id"] in self._answers:
                self._asked_calls[fact.approval_id] = cast("str", fact.tool["id"])
            case events.ApprovalResolved() if fact.approval_id in self._asked_calls:
                resolution: JsonObject = {**fact.resolution, "by": fact.by, "reason": fact.reason}
                self._settle_answer(self._asked_calls.pop(fact.approval_id), resolution)
            case events.ApprovalWithdrawn() if fact.approval_id in self._asked_calls:
                self._settle_answer(self._asked_calls.pop(fact.approval_id), None)
            case events.CallGranted():
                self._settle_answer(fact.call_id, cast("JsonObject", fact.grant["resolution"]))
            case _:
                pass

    def _settle_answer(self, call_id: str, resolution: JsonObject | None) -> None:
        answer = self._answers.pop(call_id, None)
        if answer is None or answer.done():
            return
        if resolution is None:
            answer.set_exception(errors.Refused("the question was withdrawn", code="APPROVAL_CLOSED"))
            answer.exception()  # the attempt may be over, and not wait for it any more
        else:
            answer.set_result(resolution)

    def cancel(self) -> None:
        """Stop the attempt. The caller removes it from its run."""
        self.cancelled = True
        for call_id in tuple(self._answers):
            self._settle_answer(call_id, None)
        if self.task is not None:
            self.task.cancel()

    async def wait(self) -> None:
        """Wait until the task has ended."""
        if self.task is not None:
            await asyncio.wait({self.task})
