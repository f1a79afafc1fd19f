"""The meter of an agent: open calls hold what they may use, items of one node share its cap, answers are granted."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import orjson
import pytest

from openskelo import agent_settings, errors
from openskelo.agents.acp import acp_client
from openskelo.agents.gateway import gateway, model_protocols
from openskelo.executors.attempt import budget_claims, running_attempt, turn_meter
from openskelo.kernel import definition
from openskelo.kernel import run as runs
from openskelo.structs import replace
from tests.executors import workshop

NODE = definition.Node(key="work", mode="agent")
#: One dollar for a million tokens, so that a token is a thousand nano-dollars.
PRICES = agent_settings.AgentPrices(input_usd_per_mtok=1, output_usd_per_mtok=1)


def _agent(**budget: int) -> agent_settings.AgentSettings:
    caps = agent_settings.AgentBudget(**budget)
    return agent_settings.AgentSettings(name="helper", provider="custom", prices=PRICES, budget=caps)


def _run(limits: definition.Limits | None = None) -> runs.Run:
    flow = definition.Workflow(name="w", hash="", nodes={"work": NODE}, limits=limits or definition.Limits())
    return runs.new(workshop.RUN_ID, flow)


def _attempt(run: runs.Run, claims: budget_claims.BudgetClaims, item: int | None = None) -> Any:
    """Return an attempt in flight."""
    request = replace(workshop.task_of(NODE, {}), budget_claims=claims, item_index=item)
    run.in_flight["work", 1, item or 0] = runs.Attempt("work", 1, item or 0, 1, item, 0, definition.NOTHING)
    return running_attempt.RunningAttempt(request, {})


def _meter(attempt: Any, agent: agent_settings.AgentSettings) -> turn_meter.TurnMeter:
    meter = turn_meter.TurnMeter(attempt, agent, lambda _request, _text: None)
    meter.begin_turn(acp_client.Turn())
    return meter


def _call(agent: agent_settings.AgentSettings, tokens_in: int, tokens_out: int | None = None) -> gateway.Call:
    """Return a call whose request is estimated as so many tokens."""
    document: dict[str, Any] = {"model": "m"} if tokens_out is None else {"model": "m", "max_tokens": tokens_out}
    body = orjson.dumps(document).ljust(tokens_in * 3)
    route = model_protocols.find("POST", "/v1/chat/completions", {})
    assert route is not None
    assert route.protocol is not None
    return gateway.Call(1, agent, route, route.protocol.read_request(document, body))


def _answer(call: gateway.Call, tokens_in: int, tokens_out: int) -> gateway.Call:
    """Let the model answer the call."""
    call.was_sent = True
    reader = call.begin_answer(200, {"content-type": "application/json"})
    assert reader is not None
    reader.feed(orjson.dumps({"usage": {"prompt_tokens": tokens_in, "completion_tokens": tokens_out}}))
    reader.end()
    return call


def _play(story: Callable[[], Awaitable[None]]) -> None:
    async def scene() -> None:
        await story()

    asyncio.run(asyncio.wait_for(scene(), 120))


def test_calls_that_are_open_at_the_same_time_share_a_cap() -> None:
    async def story() -> None:
        run, agent = _run(), _agent(max_tokens_per_turn=10_000)
        attempt = _attempt(run, budget_claims.BudgetClaims(run))
        meter = _meter(attempt, agent)
        first, second = _call(agent, 2_000, 6_000), _call(agent, 2_000, 6_000)
        await meter.claim(first)
        assert first.granted_tokens_out == 6_000
        with pytest.raises(errors.OverBudget, match="8000 used, and the next call to m may need 3024"):
            await meter.claim(second)
        meter.settle(_answer(first, 2_000, 100))
        await meter.claim(second)
        assert second.granted_tokens_out == 10_000 - 2_100 - 2_000
        assert attempt.usage.total().tokens_in == 2_000
        second.was_sent = True
        assert attempt.usage.total().tokens_in == 4_000  # the open call counts as far as its request

    _play(story)


@pytest.mark.parametrize(("asked", "granted"), [(None, 32_000), (500, 500), (4_000, 4_000)])
def test_without_a_cap_a_call_gets_what_it_asks_for(asked: int | None, granted: int) -> None:
    async def story() -> None:
        run, agent = _run(), _agent()
        call = _call(agent, 10, asked)
        await _meter(_attempt(run, budget_claims.BudgetClaims(run)), agent).claim(call)
        assert call.granted_tokens_out == granted

    _play(story)


@pytest.mark.parametrize(
    ("limits", "budget"),
    [
        (definition.Limits(max_tokens=5_000), {}),
        (definition.Limits(max_cost_nanousd=5_000_000), {}),
        (definition.Limits(), {"max_nanousd_per_call": 5_000_000}),
        (definition.Limits(), {"max_nanousd": 5_000_000}),
    ],
)
def test_an_answer_that_does_not_fit_is_granted_as_far_as_it_does(
    limits: definition.Limits, budget: dict[str, int]
) -> None:
    async def story() -> None:
        run, agent = _run(limits), _agent(**budget)
        call = _call(agent, 1_000, 30_000)
        await _meter(_attempt(run, budget_claims.BudgetClaims(run)), agent).claim(call)
        assert call.granted_tokens_out == 4_000

    _play(story)


def test_items_of_one_node_share_its_cap_and_what_ended_attempts_have_used_counts() -> None:
    async def story() -> None:
        run, agent = _run(), _agent(max_tokens=20_000)
        run.nodes["work"].tokens = 3_000
        claims = budget_claims.BudgetClaims(run)
        first, second = (_meter(_attempt(run, claims, item), agent) for item in (0, 1))
        await first.claim(_call(agent, 5_000, 5_000))
        call = _call(agent, 1_000, 30_000)
        await second.claim(call)
        assert call.granted_tokens_out == 20_000 - 3_000 - 10_000 - 1_000

    _play(story)


def test_a_call_waits_while_another_attempt_of_the_run_holds_what_it_needs() -> None:
    async def story() -> None:
        run, agent = _run(definition.Limits(max_tokens=10_000)), _agent()
        claims = budget_claims.BudgetClaims(run)
        first, second = (_meter(_attempt(run, claims, item), agent) for item in (0, 1))
        held = _call(agent, 1_000, 8_000)
        await first.claim(held)
        waiting = asyncio.create_task(second.claim(_call(agent, 1_000, 8_000)))
        await asyncio.sleep(0.3)
        assert not waiting.done()
        first.settle(_answer(held, 500, 100))
        await waiting

    _play(story)


def test_a_claim_that_is_given_up_holds_nothing() -> None:
    async def story() -> None:
        run, agent = _run(), _agent(max_tokens_per_turn=10_000)
        meter = _meter(_attempt(run, budget_claims.BudgetClaims(run)), agent)
        given_up = _call(agent, 4_000, 5_000)
        await meter.claim(given_up)
        meter.settle(given_up)  # it was never sent
        again = _call(agent, 4_000, 5_000)
        await meter.claim(again)
        assert again.granted_tokens_out == 5_000

    _play(story)


def test_a_model_whose_price_is_unknown_is_not_asked_under_a_cap_in_usd() -> None:
    async def story() -> None:
        run = _run(definition.Limits(max_cost_nanousd=1))
        agent = replace(_agent(), prices=None, base_url="http://127.0.0.1:1")
        with pytest.raises(errors.AttemptFailed, match="the price of m is unknown") as refused:
            await _meter(_attempt(run, budget_claims.BudgetClaims(run)), agent).claim(_call(agent, 1, 1))
        assert (refused.value.code, refused.value.retryable) == ("PRICE_UNKNOWN", False)

    _play(story)
