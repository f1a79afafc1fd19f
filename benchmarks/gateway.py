"""A streamed answer of a model through the gateway of agents, beside the same answer from the model's server itself.

The server (`benchmarks.paced_model`) is a process of its own. It sends 1,000 pieces, 10 ms apart, after the half second
that a model takes for its first token. Direct and gateway alternate, on a connection that is open already.
"""

from __future__ import annotations

import asyncio
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator

import httpx

from benchmarks import measure, report
from openskelo import agent_settings, errors
from openskelo.agents.gateway import gateway
from openskelo.agents.server import session_server

PIECES = 1000


class _Open:
    """A meter that lets everything through."""

    async def claim(self, call: gateway.Call) -> None:
        call.granted_tokens_out = call.wanted_tokens_out

    def settle(self, call: gateway.Call) -> None:
        self.used = call.usage

    def on_sign(self) -> None: ...

    def stop(self, failure: errors.AttemptFailed) -> None:
        raise failure

    def note(self, line: str) -> None: ...


def figures(plan: measure.Plan) -> Iterator[report.Figure]:
    """The time of the whole answer and of its first byte, through the gateway by direct."""
    pieces = plan.count(PIECES)
    command = [sys.executable, "-m", "benchmarks.paced_model", str(pieces)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as model:
        assert model.stdin is not None
        assert model.stdout is not None
        port = int(model.stdout.readline())
        try:
            found = asyncio.run(_measure(f"http://127.0.0.1:{port}", plan.rounds))
        finally:
            model.stdin.close()
    for name, index in (("first byte", 0), (f"whole answer of {pieces} pieces", 1)):
        ratios = [through[index] / direct[index] for direct, through in found]
        direct_ms = statistics.median(direct[index] for direct, _ in found) * 1e3
        yield report.Figure(
            name="gateway",
            what=f"{name} through the gateway",
            value=statistics.median(ratios),
            unit="x direct",
            bar=1.05,
            rounds=tuple(ratios),
            note=f"direct {direct_ms:.1f} ms",
        )


async def _measure(url: str, rounds: int) -> list[tuple[tuple[float, float], tuple[float, float]]]:
    """Return seconds to the first byte and to the last, direct and through the gateway, of each round."""
    agent = agent_settings.AgentSettings(name="bench", provider="custom", base_url=url)
    model = gateway.Gateway(agent, "key")
    meter = _Open()
    model.begin_turn(meter)
    server = session_server.SessionServer()
    address = await server.open({"model": model.handle})
    found: list[tuple[tuple[float, float], tuple[float, float]]] = []
    async with httpx.AsyncClient(trust_env=False, timeout=60) as client:
        for client_url in (url, address.url("model")):  # opens the connections
            await client.get(f"{client_url}/v1/models", headers={"authorization": f"Bearer {address.token}"})
        for _ in range(rounds):
            direct = await _ask(client, url, address.token)
            found.append((direct, await _ask(client, address.url("model"), address.token)))
    await model.close()
    await server.close()
    assert meter.used.tokens_out > 0
    return found


async def _ask(client: httpx.AsyncClient, url: str, token: str) -> tuple[float, float]:
    began = time.perf_counter()
    first = 0.0
    body = {"model": "m", "stream": True, "messages": [{"role": "user", "content": "x" * 20_000}]}
    headers = {"authorization": f"Bearer {token}"}
    async with client.stream("POST", f"{url}/v1/chat/completions", json=body, headers=headers) as answer:
        async for _ in answer.aiter_raw():
            first = first or time.perf_counter() - began
    return first, time.perf_counter() - began
