"""What a coding agent's turn costs beside the agent: 100 calls on record, and the policy's ruling on a call.

The agent is the scripted one of the tests, a program of its own that speaks ACP. Its turns go on in one session, as in
a live graph. What the agent takes by itself is measured without an engine; the time of the git commands that look at
its workspace is left out, and told in the note.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import statistics
import subprocess
import sys
import time
from collections.abc import AsyncGenerator, Generator, Iterator
from pathlib import Path
from typing import Any, cast

import openskelo
from benchmarks import measure, raw, report
from openskelo.engine.commands import graph_commands
from openskelo.programs import git
from openskelo.workflows import live_graph
from openskelo.workflows.project import project_file

AGENT = Path(__file__).resolve().parent.parent / "tests" / "agents" / "acp_agent.py"
CALLS = 100
#: What the policy may take for a call that it allows, beside the durable append.
POLICY_MS = 3
_COMMAND = [sys.executable, str(AGENT)]
#: The agent `free` calls its tools unasked; `ruled` asks a hook first, and the policy allows the call.
_AGENTS = {
    "free": {"provider": "custom", "permissions": "skip"},
    "ruled": {
        "provider": "claude",
        "permissions": "gated",
        "policy": {"allow": [{"kind": "execute", "commands": ["make*"]}]},
    },
}


def figures(plan: measure.Plan) -> Iterator[report.Figure]:
    """The share of the engine in a turn by raw appends of its facts; what the policy takes for an allowed call."""
    with plan.fresh() as root, asyncio.Runner() as runner:
        _make_project(root)
        opened = _conversations(root)
        free, ruled = runner.run(anext(opened))
        try:
            yield _turn(plan, runner, free, root)
            yield _ruling(plan, runner, ruled)
        finally:
            runner.run(opened.aclose())


def _make_project(root: Path) -> None:
    agents = {name: {"command": _COMMAND, "sandbox": "none", **settings} for name, settings in _AGENTS.items()}
    (root / "skelo.yaml").write_text(json.dumps({"agents": agents}))  # JSON is YAML
    (root / ".gitignore").write_text(".skelo/\n")
    identity = ("-c", "user.name=bench", "-c", "user.email=bench@localhost")
    for command in (("init",), ("add", "--all"), (*identity, "commit", "-m", "one")):
        subprocess.run(["git", *command], cwd=root, check=True, capture_output=True)


class _Conversation:
    """The talk with one agent, in a live graph of its own."""

    def __init__(self, engine: openskelo.Engine, graph: graph_commands.Graph, node: str) -> None:
        self._engine, self._graph, self._node = engine, graph, node

    async def say(self, text: str) -> str:
        """Return the agent's answer."""
        await self._graph.say(self._node, text)
        node = cast("Any", await self._engine.wait(self._graph.run_id))["nodes"][self._node]
        if node["outcome"] != "succeeded":
            raise RuntimeError(f"the turn ended {node}")
        return str(node["outputs"]["message"])

    async def lines(self) -> list[bytes]:
        """Return the lines of the log."""
        return [bytes(line) async for lines in self._engine.store.read_events(self._graph.run_id) for line in lines]


async def _conversations(root: Path) -> AsyncGenerator[tuple[_Conversation, ...]]:
    """Yield a conversation with each agent, whose session is open."""
    async with await openskelo.Engine.open(project_file.project_at(root)) as engine:
        conversations: list[_Conversation] = []
        for name in _AGENTS:
            graph = engine.graph(await engine.start(live_graph.empty("bench"), by="bench"))
            node = await graph.add_node(name, kind="agent", more=graph_commands.Change(agent=name))
            conversations.append(_Conversation(engine, graph, node))
            await conversations[-1].say("@say ready")
        yield tuple(conversations)


def _turn(plan: measure.Plan, runner: asyncio.Runner, talk: _Conversation, root: Path) -> report.Figure:
    calls = plan.count(CALLS)
    text = f"@calls {calls}\n@say done"
    before = len(runner.run(talk.lines()))
    runner.run(talk.say(text))
    facts = runner.run(talk.lines())[before:]
    line = b"x" * (sum(map(len, facts)) // len(facts)) + b"\n"
    alone = _alone(text, root)
    git_seconds: list[float] = []

    def baseline() -> float:
        with plan.fresh() as folder:
            return raw.synced_appends(folder, len(facts), line) * len(facts)

    def subject() -> float:
        with _git_timed() as spent:
            started = time.perf_counter()
            runner.run(talk.say(text))
            taken = time.perf_counter() - started
        git_seconds.append(sum(spent))
        return taken - sum(spent) - alone

    found = measure.bracketed(plan, baseline=baseline, subject=subject)
    return report.Figure(
        name="agents",
        what=f"turn of an agent with {calls} calls, without the agent and git",
        value=found.ratio,
        unit=f"x {len(facts)} appends",
        bar=3,
        rounds=found.ratios,
        made=found.made,
        note=(
            f"{found.subject * 1e3:.1f} ms, appends {found.baseline * 1e3:.1f} ms; "
            f"beside it git {statistics.median(git_seconds) * 1e3:.0f} ms, the agent {alone * 1e3:.1f} ms"
        ),
    )


@contextlib.contextmanager
def _git_timed() -> Generator[list[float]]:
    """Yield the seconds of each git command meanwhile."""
    run, spent = git.run, list[float]()

    async def timed(*args: Any, **more: Any) -> Any:
        started = time.perf_counter()
        try:
            return await run(*args, **more)
        finally:
            spent.append(time.perf_counter() - started)

    git.run = timed
    try:
        yield spent
    finally:
        git.run = run


def _alone(text: str, home: Path) -> float:
    """Return the seconds that the agent takes for a prompt when a client does nothing but read, the best of five."""
    command = subprocess.Popen(
        _COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=home, env={"HOME": str(home)}, text=True
    )
    with command as agent:
        assert agent.stdin is not None
        assert agent.stdout is not None

        def ask(method: str, params: dict[str, Any]) -> Any:
            print(
                json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}),
                file=agent.stdin,
                flush=True,
            )
            return next(answer["result"] for line in agent.stdout or () if (answer := json.loads(line)).get("id") == 1)

        ask("initialize", {})
        session = ask("session/new", {"mcpServers": []})["sessionId"]
        taken: list[float] = []
        for _ in range(5):
            started = time.perf_counter()
            ask("session/prompt", {"sessionId": session, "prompt": [{"type": "text", "text": text}]})
            taken.append(time.perf_counter() - started)
    return min(taken)


def _ruling(plan: measure.Plan, runner: asyncio.Runner, talk: _Conversation) -> report.Figure:
    """Return what the agent waits for the hook's answer, by an append and sync and what the policy may take."""
    calls = plan.count(CALLS)

    def baseline() -> float:
        with plan.fresh() as folder:
            return raw.synced_appends(folder, calls) + POLICY_MS / 1e3

    def subject() -> float:
        answer = json.loads(runner.run(talk.say(f'@hooks {calls} Bash {{"command": "make it"}}')))
        if answer["decisions"] != ["allow"]:
            raise RuntimeError(f"the policy has said {answer['decisions']}")
        return float(answer["ms"]) / 1e3

    found = measure.bracketed(plan, baseline=baseline, subject=subject)
    append_ms = found.baseline * 1e3 - POLICY_MS
    return report.Figure(
        name="agents",
        what="an agent's wait for its hook, when the policy allows the call",
        value=found.ratio,
        unit=f"x ({POLICY_MS} ms + F)",
        bar=1,
        rounds=found.ratios,
        made=found.made,
        note=f"{found.subject * 1e3:.2f} ms, F = {append_ms:.2f} ms",
    )
