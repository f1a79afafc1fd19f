"""Count what an attempt has used so far, and share the budget of a run among its attempts.

The kernel reserves budget before an attempt starts, when the prompt is not written yet and its length is only known as
far as the schemas tell. So each model call claims its tokens and cost once more when its prompt exists:

    fits beside what other attempts hold            -> the claim is granted
    fits only if others use less than they hold     -> the caller waits for them
    does not fit into what the run has left         -> OverBudget, nothing is sent

An attempt that waits holds nothing, so two waiting attempts never block each other.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable
from typing import TypeAlias

from openskelo import errors
from openskelo.kernel import budget, definition, outcome
from openskelo.kernel.run import Attempt, Run
from openskelo.structs import mutable

#: How often a waiting claim looks again: an attempt that ends without a model call notifies no waiter.
POLL_SECONDS = 0.1
#: Node key, visit, slot, attempt number.
AttemptId: TypeAlias = tuple[str, int, int, int]
_NOTHING = outcome.Needs(tokens=0)


@mutable
class Usage:
    """The usage of one attempt so far; every model call adds to it."""

    tokens_in: int = 0
    tokens_out: int = 0
    cost_nanousd: int = 0
    tool_nanousd: int = 0
    #: The seconds in which the attempt had no worker process or no free slot at its model; they do not count as its
    #: work.
    waited: float = 0.0
    #: The begin of the current wait, by the performance counter.
    waits_since: float | None = None
    #: Returns an estimate of what the model call in progress has used.
    current_call: Callable[[], outcome.Metrics] | None = None

    def begin_wait(self) -> None:
        """Stop the clock of the attempt."""
        self.waits_since = time.perf_counter()

    def end_wait(self) -> None:
        """Let the clock of the attempt run again."""
        self.waited = self.idle()
        self.waits_since = None

    def idle(self) -> float:
        """Return the seconds that the attempt has waited so far."""
        if self.waits_since is None:
            return self.waited
        return self.waited + time.perf_counter() - self.waits_since

    def add(self, metrics: outcome.Metrics) -> None:
        """Add the tokens and the cost of `metrics`."""
        self.tokens_in += metrics.tokens_in
        self.tokens_out += metrics.tokens_out
        self.cost_nanousd += metrics.cost_nanousd

    def total(self) -> outcome.Metrics:
        """Return what the attempt has used if it stops now, the model call in progress included."""
        current = outcome.Metrics() if self.current_call is None else self.current_call()
        return outcome.Metrics(
            tokens_in=self.tokens_in + current.tokens_in,
            tokens_out=self.tokens_out + current.tokens_out,
            cost_nanousd=self.cost_nanousd + current.cost_nanousd,
            tool_nanousd=self.tool_nanousd,
        )


class BudgetClaims:
    """The claims of the attempts of one run. What ended attempts used is in the run's totals, so they hold no claim."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._claims: dict[AttemptId, outcome.Needs] = {}
        self._waiting: set[AttemptId] = set()
        self._changed = asyncio.Event()

    async def claim(self, attempt_id: AttemptId, usage: Usage, needs: outcome.Needs) -> None:
        """Hold `needs`, which include what the attempt used before, as soon as they fit beside other claims.

        Raise OverBudget if they do not fit into what the run has left. The clock of the attempt stands still meanwhile.
        """
        while (shortage := budget.shortage(self._run, needs.tokens, needs.cost_nanousd)) is None:
            held_by_others = self._held_by_others(attempt_id)
            tokens, cost_nanousd = (
                needs.tokens + held_by_others.tokens,
                needs.cost_nanousd + held_by_others.cost_nanousd,
            )
            if budget.shortage(self._run, tokens, cost_nanousd) is None:
                self._claims[attempt_id] = needs
                return
            await self._wait_for_change(attempt_id, usage)
        raise errors.OverBudget(str(shortage["message"]), tokens=needs.tokens, cost_nanousd=needs.cost_nanousd)

    def settle(self, attempt_id: AttemptId, usage: Usage, held: outcome.Needs = _NOTHING) -> None:
        """Replace the claim of an ended model call by what the attempt has really used, and what other calls hold."""
        self._claims[attempt_id] = outcome.Needs(
            tokens=usage.tokens_in + usage.tokens_out + held.tokens, cost_nanousd=usage.cost_nanousd + held.cost_nanousd
        )
        self._changed.set()
        self._changed = asyncio.Event()

    @property
    def limits(self) -> definition.Limits:
        """The limits of the run."""
        return self._run.workflow.limits

    def spent_by_run(self) -> outcome.Needs:
        """Return what ended attempts of the run have used."""
        return outcome.Needs(tokens=self._run.spent.tokens, cost_nanousd=self._run.spent.cost_nanousd)

    def used_by_node(self, attempt_id: AttemptId) -> outcome.Needs:
        """Return what ended attempts of the same node have used, and what its other attempts hold."""
        node = self._run.nodes[attempt_id[0]]
        other_claims = [
            needs
            for key, needs in self._claims.items()
            if key[0] == attempt_id[0] and key != attempt_id and self._is_in_flight(key)
        ]
        return outcome.Needs(
            tokens=node.tokens + sum(needs.tokens for needs in other_claims),
            cost_nanousd=node.cost_nanousd + sum(needs.cost_nanousd for needs in other_claims),
        )

    def _is_in_flight(self, attempt_id: AttemptId) -> bool:
        flight = self._run.in_flight.get(attempt_id[:3])
        return flight is not None and flight.attempt == attempt_id[3]

    def _held_by_others(self, attempt_id: AttemptId) -> outcome.Needs:
        """Return what the other attempts hold that do not wait: their claim, or their reservation before the first."""
        in_flight = {_attempt_id(flight): flight for flight in self._run.in_flight.values()}
        self._claims = {key: needs for key, needs in self._claims.items() if key in in_flight}
        tokens = cost_nanousd = 0
        for key, flight in in_flight.items():
            if key == attempt_id or key in self._waiting:
                continue
            claim = self._claims.get(key)
            tokens += flight.reserve.tokens if claim is None else claim.tokens
            cost_nanousd += flight.reserve.cost_nanousd if claim is None else claim.cost_nanousd
        return outcome.Needs(tokens=tokens, cost_nanousd=cost_nanousd)

    async def _wait_for_change(self, attempt_id: AttemptId, usage: Usage) -> None:
        """Wait until another attempt may have released budget."""
        change_event = self._changed
        self._waiting.add(attempt_id)
        usage.begin_wait()
        try:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(POLL_SECONDS):
                    await change_event.wait()
        finally:
            usage.end_wait()
            self._waiting.discard(attempt_id)


def _attempt_id(flight: Attempt) -> AttemptId:
    return flight.node, flight.visit, flight.slot, flight.attempt
