"""What a run's budget leaves to those who ask models at the same time.

Reservations are made before prompts are written, and know their length only as far as schemas say it. So what a
question will take is claimed once more when its prompt is there: one that fits only if others take less than they may
waits for them, and one that cannot fit at all is not sent.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from typing import TypeAlias

from openskelo import errors
from openskelo.executors import job
from openskelo.kernel import budget, outcome
from openskelo.kernel.run import InFlight, Run

#: Attempts that end without asking anybody say nothing: those who wait look for them so often.
LOOK_SECONDS = 0.1
_Try: TypeAlias = tuple[str, int, int, int]  # node key, visit, slot, attempt


class Purse:
    """One for each run. Attempts that are no longer in flight hold nothing: what they used is in the run's totals."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._claims: dict[_Try, outcome.Needs] = {}
        self._waiting: set[_Try] = set()
        self._changed = asyncio.Event()

    async def claim(self, one: job.Job, needs: outcome.Needs) -> None:
        """Hold what the attempt `needs` in all, as soon as it fits beside what others hold.

        OverBudget when it does not fit into what the run has not used yet. The attempt's clock stands still meanwhile.
        """
        own = _try_of(one)
        while (short := budget.shortage(self._run, needs.tokens, needs.cost_nanousd)) is None:
            held = self._held_by_others(own)
            if budget.shortage(self._run, needs.tokens + held.tokens, needs.cost_nanousd + held.cost_nanousd) is None:
                self._claims[own] = needs
                return
            await self._change(own, one.spent)
        raise errors.OverBudget(str(short["message"]), tokens=needs.tokens, cost_nanousd=needs.cost_nanousd)

    def settle(self, one: job.Job) -> None:
        """The question is over: from now on the attempt holds what it has really used."""
        used = one.spent
        self._claims[_try_of(one)] = outcome.Needs(
            tokens=used.tokens_in + used.tokens_out, cost_nanousd=used.cost_nanousd
        )
        self._tell()

    def _held_by_others(self, own: _Try) -> outcome.Needs:
        """What those hold who are in flight and do not wait: their claim, or what was reserved until they have one."""
        flights = {_key(flight): flight for flight in self._run.in_flight.values()}
        self._claims = {key: needs for key, needs in self._claims.items() if key in flights}
        others = [
            self._claims.get(key)
            or outcome.Needs(tokens=flight.reserve.tokens, cost_nanousd=flight.reserve.cost_nanousd)
            for key, flight in flights.items()
            if key != own and key not in self._waiting
        ]
        return outcome.Needs(
            tokens=sum(needs.tokens for needs in others), cost_nanousd=sum(needs.cost_nanousd for needs in others)
        )

    async def _change(self, own: _Try, spent: job.Spent) -> None:
        """Wait until somebody may have given something back; who waits holds nothing, so that nobody waits for ever."""
        changed = self._changed
        self._waiting.add(own)
        spent.waits_since = time.perf_counter()
        try:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(LOOK_SECONDS):
                    await changed.wait()
        finally:
            spent.waited, spent.waits_since = spent.idle(), None
            self._waiting.discard(own)

    def _tell(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()


def _try_of(one: job.Job) -> _Try:
    of = one.task
    return of.node.key, of.visit, of.item_index or 0, of.attempt


def _key(flight: InFlight) -> _Try:
    return flight.node, flight.visit, flight.slot, flight.attempt
