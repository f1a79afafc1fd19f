"""Time: when a run wants to be woken, and what an approval whose time is up is answered in the clock's name."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping

from openskelo import errors
from openskelo.engine import actor as actors
from openskelo.engine import door
from openskelo.executors import keeping
from openskelo.kernel import answers, commands, pending
from openskelo.kernel.run import OpenApproval

#: So many moments that no longer count are kept, beside one for each run.
_PASSED_OVER = 64


class Timers:
    """The moments at which runs want to be woken. A run has at most one that counts; older ones are passed over."""

    def __init__(self) -> None:
        self._heap: list[tuple[int, str]] = []

    def set(self, actor: actors.Actor) -> None:
        """Remember when the run, as it is now, wants to be woken."""
        run = actor.run
        if actor.wake_at is None and not (run.timers or run.expiries or run.limited):
            return  # as most: nothing waits for a moment
        wake_at = pending.wake_at(run)
        if wake_at is not None and wake_at != actor.wake_at:
            heapq.heappush(self._heap, (wake_at, actor.run.id))
        actor.wake_at = wake_at

    def next_at(self) -> int | None:
        """The next moment, or None when nobody waits for one."""
        return self._heap[0][0] if self._heap else None

    def due(self, driven: Mapping[str, actors.Actor], now: int) -> Iterator[actors.Actor]:
        """The runs whose moment has come, each once."""
        if len(self._heap) > 2 * len(driven) + _PASSED_OVER:  # most are of runs that have ended, some for days to come
            self._heap = [(actor.wake_at, key) for key, actor in driven.items() if actor.wake_at is not None]
            heapq.heapify(self._heap)
        while self._heap and self._heap[0][0] <= now:
            _, run_id = heapq.heappop(self._heap)
            actor = driven.get(run_id)
            if actor is not None and actor.wake_at is not None and actor.wake_at <= now:
                actor.wake_at = None
                yield actor


async def expire(blobs: keeping.Blobs, actor: actors.Actor, asked: OpenApproval, now: int) -> commands.AnswerApproval:
    """The clock's answer to an approval, with the consequence that the node states."""
    approval = actor.run.workflow.nodes[asked.node].approval
    approve = approval is not None and approval.on_timeout == "approve"
    given = door.Answer(status="approved" if approve else "denied", by=answers.TIMER, reason="expired")
    try:
        return await door.answer(blobs, actor.run, asked, given, now)
    except errors.InvalidInput as error:  # the form wants values that only a person has
        denied = door.Answer(status="denied", by=answers.TIMER, reason=f"expired; {error.message}")
        return await door.answer(blobs, actor.run, asked, denied, now)
