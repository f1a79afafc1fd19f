"""Recorded traffic of real agents: one scenario, played with each version, so that the wire is tested without them.

`NAME-VERSION.jsonl` has the lines of the protocol in their order, of two processes of the agent: what the agent sent,
without the paths of a machine and with long texts shortened, and of what we sent only the methods. The last line is
what our client made of it. `player.py` plays the agent's side of it.

`SKELO_RECORD=1 make test-agents ARGS="-k recording"` records anew.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias, cast

from openskelo.agents.acp import acp_client
from openskelo.structs import replace
from openskelo.testing import AgentUnderTest, agent_conformance

FOLDER = Path(__file__).parent
PLAYER = FOLDER / "player.py"
Line: TypeAlias = dict[str, Any]
#: By what a message is (a method, a kind of update, the answer to a method): the keys that it has.
Shapes: TypeAlias = dict[str, set[str]]

_MAX_TEXT = 160
_MAX_ITEMS = 6
_MAX_DEPTH = 4
#: Paths of a machine, and ids and times that differ from run to run.
_MACHINE_PATH = re.compile(r"/(?:tmp|root|home|opt|usr|work|var|private|Users)(?:/[^\s\"'`:,)\]]+)+")
_LOOPBACK = re.compile(r"127\.0\.0\.1:\d+")


# -- the scenario -----------------------------------------------------------------------------------------------------


async def play_scenario(stage: agent_conformance.Stage, agent: AgentUnderTest, player: Path | None) -> list[Line]:
    """Play the scenario with two processes of the agent, or of the player; return their lines, and the account.

    The second process continues the conversation of the first, if the agent always can.
    """
    lines: list[Line] = []
    accounts: list[Line] = []
    session_id: str | None = None
    settings = stage.settings
    for process, play in enumerate((_first_process, _second_process), 1):
        if player is not None:
            stage.settings = replace(settings, command=(sys.executable, str(PLAYER), str(player), str(process)))
        async with stage.converse(resume=session_id if agent.resumes else None) as talk:
            opened: Line = {"sameSession": talk.session.id == session_id, "knowsTask": talk.session.is_continued}
            session_id = talk.session.id
            accounts += [opened, *[turn async for turn in play(talk, agent.has_tools)]]
            transcript = talk.session.client.take_transcript()
            masked = _Mask((str(talk.folder), "/workspace"), (str(talk.folder.parent / "home"), "/agent"))
            lines += [{"process": process, **masked.line(json.loads(line))} for line in transcript.splitlines()]
    return [*lines, {"account": accounts}]


async def _first_process(talk: agent_conformance.Conversation, has_tools: bool) -> AsyncGenerator[Line]:
    yield _account(await talk.take_turn("@say Hello."), talk)
    yield _account(await talk.take_turn(f"@write {talk.folder}/new.txt one\\n", "@say Done."), talk)
    yield _account(await talk.take_turn("@run touch made.txt", "@say Done."), talk)
    yield _account(await talk.take_turn("@run touch denied.txt", "@say I see.", decision="deny"), talk)
    if has_tools:
        yield _account(await talk.take_turn('@tool complete {"summary": "x"}', "@say Done."), talk)
    turn = talk.start_turn("@slow 10")
    await agent_conformance.until(lambda: bool("".join(talk.person.pieces)), turn)
    await talk.interrupt(turn)
    yield {"hasOpenTurn": talk.session.client.has_open_turn}


async def _second_process(talk: agent_conformance.Conversation, has_tools: bool) -> AsyncGenerator[Line]:
    del has_tools
    yield _account(await talk.take_turn("@say Back."), talk)


def _account(turn: acp_client.Turn, talk: agent_conformance.Conversation) -> Line:
    """Return what our client has understood of a turn."""
    return {
        "text": "".join(turn.text),
        "stopReason": turn.stop_reason,
        "hasUsage": turn.has_usage,
        "tokens": [turn.tokens_in, turn.tokens_out],
        "calls": [
            {
                "tool": call.tool_name,
                "kind": call.kind,
                "status": call.status,
                "arguments": sorted(cast("Mapping[str, Any]", call.arguments or {})),
                "diffs": len(call.diffs),
            }
            for call in turn.calls.values()
        ],
        "permissions": [[str(option.get("kind")) for option in request.options] for request in talk.person.permissions],
    }


# -- masking ----------------------------------------------------------------------------------------------------------


class _Mask:
    """Takes what belongs to one machine or one run out of messages."""

    def __init__(self, *folders: tuple[str, str]) -> None:
        self._folders = folders

    def line(self, kept: Mapping[str, Any]) -> Line:
        """Return a line of a transcript for a recording."""
        message = cast("Mapping[str, Any]", kept["message"])
        if kept["direction"] == "sent":  # ours: the method is enough
            return {"sent": {key: message[key] for key in ("id", "method") if key in message}}
        return {"received": self._value(message)}

    def _value(self, value: Any) -> Any:
        match value:
            case str():
                return self._text(value)
            case list():
                return [self._value(item) for item in cast("list[Any]", value)[:_MAX_ITEMS]]
            case dict():
                return {self._text(key): self._value(item) for key, item in cast("dict[str, Any]", value).items()}
            case _:
                return value

    def _text(self, text: str) -> str:
        for folder, name in self._folders:
            text = text.replace(folder, name)
        text = _LOOPBACK.sub("127.0.0.1:1", _MACHINE_PATH.sub("/machine", text))
        return text if len(text) <= _MAX_TEXT else f"{text[:_MAX_TEXT]}…"


# -- files and shapes -------------------------------------------------------------------------------------------------


def file_of(name: str, version: str) -> Path:
    """Return the recording of one version of an agent."""
    return FOLDER / f"{name}-{version}.jsonl"


def read(file: Path) -> list[Line]:
    """Return the lines of a recording."""
    return [json.loads(line) for line in file.read_text().splitlines()]


def write(file: Path, lines: Sequence[Line]) -> None:
    """Write a recording."""
    file.write_text("".join(f"{json.dumps(line, ensure_ascii=False, sort_keys=True)}\n" for line in lines))


def record(agent: AgentUnderTest, folder: Path, player: Path | None = None) -> list[Line]:
    """Play the scenario with the agent, or with the player of a recording; return the recording."""
    recorded: list[Line] = []

    async def story(stage: agent_conformance.Stage) -> None:
        recorded.extend(await play_scenario(stage, agent, player))

    agent_conformance.play(agent, folder, story)
    return recorded


def is_recording() -> bool:
    """True if the recordings are to be written anew."""
    return os.environ.get("SKELO_RECORD") == "1"


def shapes(lines: Sequence[Line]) -> Shapes:
    """Return the shapes of all messages that the agent has sent."""
    found: Shapes = {}
    asked: dict[tuple[int, Any], str] = {}
    for line in lines:
        sent, received = line.get("sent"), line.get("received")
        if sent is not None and "method" in sent:
            asked[line["process"], sent.get("id")] = sent["method"]
        if received is not None:
            name, body = _kind(received, line["process"], asked)
            found.setdefault(name, set()).update(_keys(body, 0))
    return found


def _kind(message: Line, process: int, asked: Mapping[tuple[int, Any], str]) -> tuple[str, Any]:
    if "method" not in message:
        return f"answer to {asked.get((process, message.get('id')), '?')}", message
    update = cast("Line", message.get("params", {}).get("update", {}))
    if message["method"] == "session/update":
        return f"update {update.get('sessionUpdate')}", update
    return str(message["method"]), message.get("params")


def _keys(value: Any, depth: int) -> Iterator[str]:
    """Yield the paths of the keys in a value; items of a list share theirs, and what is the agent's own is not read."""
    if isinstance(value, list):
        for item in cast("list[Any]", value):
            yield from _keys(item, depth)
    elif isinstance(value, dict) and depth < _MAX_DEPTH:
        for key, item in cast("Line", value).items():
            yield key
            if key not in ("_meta", "rawInput", "rawOutput"):
                yield from (f"{key}.{inner}" for inner in _keys(item, depth + 1))


def differences(recorded: Shapes, seen: Shapes) -> list[str]:
    """Return in words how what was seen differs from what was recorded."""
    problems = [f"{name} is not sent any more" for name in sorted(set(recorded) - set(seen))]
    problems += [f"{name} is new" for name in sorted(set(seen) - set(recorded))]
    for name in sorted(set(recorded) & set(seen)):
        gone, new = sorted(recorded[name] - seen[name]), sorted(seen[name] - recorded[name])
        if gone:
            problems.append(f"{name} has no {', '.join(gone)} any more")
        if new:
            problems.append(f"{name} has {', '.join(new)}, which is new")
    return problems
