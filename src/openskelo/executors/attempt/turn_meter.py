"""The meter of an agent: what its calls to a model may use, and what they have used. It implements `gateway.Meter`.

A call may use what fits into all caps: those of the agent (per call, turn and node) and the limits of the run. What is
claimed is the whole request and the longest answer. If that does not fit, a shorter answer is granted, as long as it is
worth asking; the gateway cuts an answer that becomes longer. So a budget can be used to its end, and is never exceeded
by more than the error of the estimate of one request.

    claim    the request and the longest answer that fits   -> held, and claimed from the budget of the run
    settle   what the call has really used                  -> added to the usage of the attempt

Without the gateway (`login: own`), or if an agent reaches a model by another way, what it reports after a turn counts.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Literal, TypeAlias, cast

from openskelo import agent_settings, errors
from openskelo.agents.acp import acp_client
from openskelo.agents.gateway import gateway
from openskelo.executors.attempt import running_attempt
from openskelo.kernel import definition, outcome
from openskelo.kernel.json import Json, JsonObject
from openskelo.providers import protocol
from openskelo.structs import frozen
from openskelo.values import canonical

#: An answer with fewer tokens is not worth asking for.
_LEAST_TOKENS_OUT = 1_024
#: A line in the log says when so much of a cap is used.
_WARN_AT = 0.8
#: How many calls are listed in the record; all of them are counted.
_MAX_LISTED = 2_000
USAGE_FILE = "usage.json"
_NOTHING = outcome.Needs(tokens=0)


_Unit: TypeAlias = Literal["tokens", "USD"]


@frozen
class _Cap:
    """One cap, and what of it is used or reserved."""

    name: str
    limit: int
    used: int
    unit: _Unit
    #: It is a limit of the run.
    is_run: bool = False

    def wants(self, needs: outcome.Needs) -> int:
        """Return what these needs take of it."""
        if self.unit == "tokens":
            return needs.tokens
        return needs.cost_nanousd

    def show(self, amount: int) -> str:
        """Return an amount in the unit that the author wrote."""
        if self.unit == "tokens":
            return str(amount)
        return _dollars(amount)


class TurnMeter:
    """Counts the calls of one attempt of an agent, over all of its turns."""

    def __init__(
        self,
        attempt: running_attempt.RunningAttempt,
        agent: agent_settings.AgentSettings,
        on_status: Callable[[running_attempt.AttemptRequest, str], None],
    ) -> None:
        self._attempt = attempt
        self._agent = agent
        self._on_status = on_status
        self._turn = acp_client.Turn()
        self._lock = asyncio.Lock()
        self._held: dict[gateway.Call, outcome.Needs] = {}
        self._requests = self._calls = 0
        self._turn_used = _NOTHING
        self._warned: set[str] = set()
        self._listed: list[Json] = []
        self._reported: list[Json] = []
        self._is_estimated = False
        self._is_priced = agent.login == "gateway"

    # -- turns --------------------------------------------------------------------------------------------------------

    def begin_turn(self, turn: acp_client.Turn) -> None:
        """Count anew what holds for a turn; raise OverBudget if a cap leaves nothing for it."""
        self._turn = turn
        self._requests = self._calls = 0
        self._turn_used = _NOTHING
        self._warned -= {"max_usd_per_turn", "max_tokens_per_turn"}
        self._attempt.usage.current_call = self._in_progress
        for cap in self._caps():
            if cap.used > cap.limit or 0 < cap.limit == cap.used:
                raise self._over(cap, outcome.Needs(tokens=1, cost_nanousd=1), "the next turn")

    def end_turn(self) -> None:
        """Take what the agent reports: it counts if no call came through the gateway. Keep it all in the record."""
        turn, usage = self._turn, self._attempt.usage
        usage.current_call = None
        if turn.has_usage or turn.cost_usd is not None:
            self._reported.append(
                {"tokensIn": turn.tokens_in, "tokensOut": turn.tokens_out, "costUsd": _finite(turn.cost_usd)}
            )
        if self._calls == 0:
            has_price = self._agent.login == "gateway"
            nanousd = round((_finite(turn.cost_usd) or 0.0) * definition.NANO_PER_USD) if has_price else 0
            self._add(protocol.Usage(tokens_in=turn.tokens_in, tokens_out=turn.tokens_out), nanousd)
            self._warn()
        self._keep_record()

    def reported(self) -> JsonObject | None:
        """Return what the agent has reported of all turns: `tokens_in`, `tokens_out`, `cost_nanousd`; None if nothing.

        It has no cost if the agent has not told one.
        """
        if not self._reported:
            return None
        turns = cast("list[JsonObject]", self._reported)
        costs = [cast("float", turn["costUsd"]) for turn in turns if turn["costUsd"] is not None]
        total: dict[str, Json] = {
            "tokens_in": sum(cast("int", turn["tokensIn"]) for turn in turns),
            "tokens_out": sum(cast("int", turn["tokensOut"]) for turn in turns),
        }
        return {**total, "cost_nanousd": round(sum(costs) * definition.NANO_PER_USD)} if costs else total

    def check_caps(self) -> None:
        """Raise OverBudget if more than a cap is used, as far as that is known only after a turn."""
        for cap in self._caps():
            if cap.used > cap.limit:
                raise self._over(cap, _NOTHING, "")

    # -- the interface of the gateway ---------------------------------------------------------------------------------

    async def claim(self, call: gateway.Call) -> None:
        async with self._lock:
            self._requests += 1
            most = self._agent.budget.max_requests_per_turn
            if self._requests > most:
                usage = self._used()
                message = f"max_requests_per_turn is {most}; the agent has asked its model as often in this turn"
                raise errors.OverBudget(message, tokens=usage.tokens, cost_nanousd=usage.cost_nanousd)
            grant = self._largest_grant(call)
            needs = self._needs(call, grant)
            request = self._attempt.request
            if request.budget_claims is not None:
                total = _sum(self._used(), *self._held.values(), needs)
                await request.budget_claims.claim(request.attempt_id, self._attempt.usage, total)
            self._held[call] = needs
            call.granted_tokens_out = grant

    def settle(self, call: gateway.Call) -> None:
        self._held.pop(call, None)
        if not call.was_sent:
            self._release()
            return
        usage = call.usage
        nanousd = call.cost(usage)
        self._calls += 1
        self._is_estimated |= call.is_estimated
        self._is_priced &= nanousd is not None
        self._add(usage, nanousd or 0)
        self._release()
        if len(self._listed) < _MAX_LISTED:
            self._listed.append(call.document())
        self._warn()
        self._on_status(self._attempt.request, self._describe_usage())

    def on_sign(self) -> None:
        self._turn.last_sign = asyncio.get_running_loop().time()

    def stop(self, failure: errors.AttemptFailed) -> None:
        self._turn.stop(failure)

    def note(self, line: str) -> None:
        self._attempt.lines.append(line)

    # -- caps ---------------------------------------------------------------------------------------------------------

    def _caps(self) -> list[_Cap]:
        """Return all caps that hold, with what is used and held of each."""
        budget, claims = self._agent.budget, self._attempt.request.budget_claims
        held_total = _sum(*self._held.values())
        turn = _sum(self._turn_used, held_total)
        attempt = _sum(self._used(), held_total)
        node = attempt
        caps: list[_Cap] = []

        def add(name: str, limit: int | None, used: int, unit: _Unit, *, is_run: bool = False) -> None:
            if limit is not None:
                caps.append(_Cap(name=name, limit=limit, used=used, unit=unit, is_run=is_run))

        if claims is not None:
            node = _sum(attempt, claims.used_by_node(self._attempt.request.attempt_id))
            run = _sum(attempt, claims.spent_by_run())
            add("max_cost_usd", claims.limits.max_cost_nanousd, run.cost_nanousd, "USD", is_run=True)
            add("max_tokens", claims.limits.max_tokens, run.tokens, "tokens", is_run=True)
        add("max_usd_per_turn", budget.max_nanousd_per_turn, turn.cost_nanousd, "USD")
        add("max_usd", budget.max_nanousd, node.cost_nanousd, "USD")
        add("max_tokens_per_turn", budget.max_tokens_per_turn, turn.tokens, "tokens")
        add("max_tokens", budget.max_tokens, node.tokens, "tokens")
        return caps

    def _largest_grant(self, call: gateway.Call) -> int:
        """Return how many tokens the answer may have at most; raise OverBudget if that is too few."""
        caps = self._caps()
        per_call = self._agent.budget.max_nanousd_per_call
        if per_call is not None:
            caps.append(_Cap(name="max_usd_per_call", limit=per_call, used=0, unit="USD"))
        if any(cap.unit == "USD" for cap in caps) and call.cost(protocol.Usage(tokens_in=1)) is None:
            raise errors.AttemptFailed(
                f"the price of {call.model or 'the model'} is unknown, and the agent has a cap in USD",
                code="PRICE_UNKNOWN",
                hint="give the agent `prices` in skelo.yaml",
                retryable=False,
            )
        low, high = min(_LEAST_TOKENS_OUT, call.wanted_tokens_out), call.wanted_tokens_out
        if (cap := self._exceeded(caps, call, low)) is not None:
            raise self._over(cap, self._needs(call, low), f"the next call to {call.model or 'the model'}")
        if self._exceeded(caps, call, high) is None:
            return high
        while high - low > 1:  # the largest that fits is at least `low`, and below `high`
            middle = (low + high) // 2
            if self._exceeded(caps, call, middle) is None:
                low = middle
            else:
                high = middle
        return low

    def _exceeded(self, caps: list[_Cap], call: gateway.Call, tokens_out: int) -> _Cap | None:
        """Return the first cap into which the call with such an answer does not fit."""
        needs = self._needs(call, tokens_out)
        return next((cap for cap in caps if cap.used + cap.wants(needs) > cap.limit), None)

    def _needs(self, call: gateway.Call, tokens_out: int) -> outcome.Needs:
        usage = protocol.Usage(tokens_in=call.request.tokens_in, tokens_out=tokens_out)
        return outcome.Needs(tokens=usage.tokens_in + tokens_out, cost_nanousd=call.cost(usage) or 0)

    def _over(self, cap: _Cap, needs: outcome.Needs, what: str) -> errors.OverBudget:
        """Return the refusal, with what was asked for and what is left."""
        whose = "the run" if cap.is_run else self._agent.name
        unit = "" if cap.unit == "tokens" else " USD"
        asks = f", and {what} may need {cap.show(cap.wants(needs))}" if what else ""
        total = _sum(self._used(), *self._held.values(), needs)
        return errors.OverBudget(
            f"{cap.name} of {whose} is {cap.show(cap.limit)}{unit}; {cap.show(cap.used)} used{asks}",
            tokens=total.tokens,
            cost_nanousd=total.cost_nanousd,
        )

    def _warn(self) -> None:
        """Say once of each cap that most of it is used."""
        for cap in self._caps():
            name = f"{cap.name} of the run" if cap.is_run else cap.name
            if name in self._warned or cap.used < cap.limit * _WARN_AT:
                continue
            self._warned.add(name)
            unit = "tokens" if cap.unit == "tokens" else "USD"
            line = f"{cap.show(cap.used)} of {cap.show(cap.limit)} {unit} are used ({name})"
            self._attempt.lines.append(f"warning: {line}")
            self._on_status(self._attempt.request, line)

    # -- usage --------------------------------------------------------------------------------------------------------

    def _used(self) -> outcome.Needs:
        usage = self._attempt.usage
        return outcome.Needs(tokens=usage.tokens_in + usage.tokens_out, cost_nanousd=usage.cost_nanousd)

    def _add(self, used: protocol.Usage, cost_nanousd: int) -> None:
        usage = self._attempt.usage
        usage.tokens_in += used.tokens_in
        usage.tokens_out += used.tokens_out
        usage.cost_nanousd += cost_nanousd
        more = outcome.Needs(tokens=used.tokens_in + used.tokens_out, cost_nanousd=cost_nanousd)
        self._turn_used = _sum(self._turn_used, more)

    def _release(self) -> None:
        """Let other attempts of the run have what this one does not hold any more."""
        request = self._attempt.request
        if request.budget_claims is not None:
            request.budget_claims.settle(request.attempt_id, self._attempt.usage, _sum(*self._held.values()))

    def _in_progress(self) -> outcome.Metrics:
        """Return what the open calls have used so far, if they stopped now."""
        usages = [(call.usage, call.cost(call.usage) or 0) for call in self._held]
        return outcome.Metrics(
            tokens_in=sum(usage.tokens_in for usage, _ in usages),
            tokens_out=sum(usage.tokens_out for usage, _ in usages),
            cost_nanousd=sum(nanousd for _, nanousd in usages),
        )

    def _describe_usage(self) -> str:
        usage = self._attempt.usage
        cost = f", {_dollars(usage.cost_nanousd)} USD" if self._is_priced else ""
        calls = f"{self._calls} {'call' if self._calls == 1 else 'calls'} to the model"
        return f"{calls}, {usage.tokens_in + usage.tokens_out} tokens{cost}"

    def _keep_record(self) -> None:
        """Keep what was counted, and beside it what the agent reports, as a file of the attempt."""
        if not self._listed and self._agent.login == "gateway":
            return
        usage = self._attempt.usage
        document: JsonObject = {
            "login": self._agent.login,
            "counted": {
                "tokensIn": usage.tokens_in,
                "tokensOut": usage.tokens_out,
                "costUsd": usage.cost_nanousd / 1e9 if self._is_priced else None,
                "estimated": self._is_estimated,
            },
            "reported": self._reported,
            "calls": self._listed,
        }
        text = canonical.dumps(document).decode()
        self._attempt.files[USAGE_FILE] = running_attempt.File(
            kind="report", name=USAGE_FILE, text=text, media_type="application/json"
        )


def _sum(*amounts: outcome.Needs) -> outcome.Needs:
    return outcome.Needs(
        tokens=sum(amount.tokens for amount in amounts), cost_nanousd=sum(amount.cost_nanousd for amount in amounts)
    )


def _finite(usd: float | None) -> float | None:
    """Return an amount of an agent's; None for one that is no amount."""
    if usd is not None and 0 <= usd < 1_000_000:
        return usd
    return None


def _dollars(nanousd: int) -> str:
    return f"{nanousd / 1e9:.9f}".rstrip("0").rstrip(".")
