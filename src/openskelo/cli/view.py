"""What a person sees of a run while it goes: the seam, and the plain form for pipes and log files."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from openskelo.cli import ink, members, output
from openskelo.kernel.json import Json, JsonObject

_SKIPPED = {
    "when": "its condition is false",
    "upstream": "what it needs was skipped",
    "denied": "a person said no to it",
}


class View(Protocol):
    """Shows a run's events as they come."""

    def show(self, envelope: JsonObject) -> None: ...

    def log(self, node: str, lines: Sequence[str]) -> None:
        """What a handler logged in one attempt."""
        ...

    def hear(self, node: str, text: str) -> None:
        """A piece of what a model says for a node, while it says it."""
        ...

    def pause(self) -> None:
        """Leave the terminal to a question."""
        ...

    def go_on(self) -> None: ...

    def close(self) -> None: ...


class Silent:
    """Shows nothing."""

    def show(self, envelope: JsonObject) -> None: ...

    def log(self, node: str, lines: Sequence[str]) -> None: ...

    def hear(self, node: str, text: str) -> None: ...

    def pause(self) -> None: ...

    def go_on(self) -> None: ...

    def close(self) -> None: ...


class Plain:
    """One line on stderr for everything a reader of a log would ask about."""

    def __init__(self) -> None:
        self._ink = ink.Ink(sys.stderr)

    def show(self, envelope: JsonObject) -> None:
        words = sentence(envelope)
        if not words:
            return
        node = data_of(envelope).get("node")
        where = f"{ink.pad(ink.one_line(str(node)), 16)} " if node else ""
        output.note(f"{self._ink.paint(_clock(envelope.get('ts')), 'dim')} {where}{words}")

    def log(self, node: str, lines: Sequence[str]) -> None:
        for line in lines:
            output.note(f"{'':8} {ink.pad(ink.one_line(node), 16)} | {ink.clean(line)}")

    def hear(self, node: str, text: str) -> None: ...  # the whole answer is in the record; pieces would tear the lines

    def pause(self) -> None: ...

    def go_on(self) -> None: ...

    def close(self) -> None: ...


def data_of(envelope: JsonObject) -> JsonObject:
    """The `data` of an envelope; empty when it was pruned."""
    return members.object_at(envelope, "data")


def sentence(envelope: JsonObject) -> str:
    """An event in words, without its node and time; empty when it says nothing to a person."""
    kind = str(envelope.get("type"))
    data = data_of(envelope)
    if kind.startswith("attempt."):
        return _attempt(kind, data)
    if kind.startswith("approval."):
        return _approval(kind, data)
    if kind.startswith("run."):
        return _run(kind, data)
    match kind:
        case "node.skipped":
            return f"skipped: {_SKIPPED.get(str(data.get('reason')), '')}"
        case "node.failed":
            return f"failed: {error_text(data)}"
        case "node.bounced":
            return f"sent back to {data.get('routeTo')} (bounce {data.get('bounce')})"
        case "node.kept":
            return f"kept from the earlier run ({data.get('outcome')})"
        case "node.unjudged":
            return "its work is kept from the earlier run, and only judged"
        case "node.finished":
            return "all items done"
        case "items.kept":
            return f"{_items(len(members.list_at(data, 'items')))} done in the earlier run"
        case "node.resolved" if data.get("count") is not None:
            kept = taken(data)
            return _items(data["count"]) + (f", {kept} kept from the earlier run" if kept else "")
        case _:
            return ""


def taken(data: JsonObject) -> int:
    """How many items a node, which has its values, has taken over from the run that this one was forked from."""
    return sum(number != -1 for number in members.list_at(data, "taken"))


def _items(count: Json) -> str:
    return output.count(int(str(count)), "item")


def error_text(data: JsonObject) -> str:
    """The `error` of an event, on one line."""
    error = members.object_at(data, "error")
    return ink.one_line(f"{members.text_at(error, 'code')} {members.text_at(error, 'message')}".strip())


def _attempt(kind: str, data: JsonObject) -> str:
    number = data.get("attempt")
    item = f" item {data['item']}" if data.get("item") is not None else ""
    again = f" (attempt {number})" if number not in (None, 1) else ""
    match kind:
        case "attempt.started":
            return f"started{item}{again}"
        case "attempt.succeeded":
            return f"done{item}{again}{' from the cache' if data.get('cached') else ''}{_took(data)}"
        case "attempt.failed":
            following = {
                "repair": "is asked again with what is wrong",
                "retry": "will try again",
                "bounce": "goes back",
                "ask": "asks a person",
                "fail": "gives up",
                "go": f"goes to {ink.one_line(str(data.get('goto')))}",
            }
            return f"failed{item}{again}: {error_text(data)}; {following.get(str(data.get('next')), '')}"
        case "attempt.interrupted":
            doubt = "; it is not known whether it took effect" if data.get("uncertain") else ""
            return f"interrupted{item}{again} ({data.get('reason')}){doubt}"
        case "attempt.cancelled":
            return f"stopped{item}{again}"
        case _:
            return ""


def _approval(kind: str, data: JsonObject) -> str:
    match kind:
        case "approval.requested":
            return f"waits for a person: {ink.one_line(str(data.get('prompt', '')), 80)}"
        case "approval.resolved":
            status = members.text_at(members.object_at(data, "resolution"), "status")
            why = f": {ink.one_line(str(data['reason']))}" if data.get("reason") else ""
            items = f", {_items(data['count'])}" if data.get("count") is not None else ""
            return f"{status} by {ink.one_line(str(data.get('by')))}{why}{items}"
        case _:
            return "question withdrawn"


def _run(kind: str, data: JsonObject) -> str:
    match kind:
        case "run.recovered":
            return "recovered: the process that drove this run has died"
        case "run.paused":
            return f"run paused by {ink.one_line(str(data.get('by')))}"
        case "run.resumed":
            return "run resumed"
        case "run.mode":
            return f"{data.get('mode')} and {data.get('globalMode')}, by {ink.one_line(str(data.get('by')))}"
        case "run.stalled":
            return "makes no progress: the same result again and again"
        case "run.ending" if data.get("ending") != "ok":
            return f"run is ending: {data.get('ending')}"
        case _:
            return ""


def _took(data: JsonObject) -> str:
    ms = members.object_at(members.object_at(data, "receipt"), "metrics").get("wall_ms")
    return f" in {output.duration(ms / 1000)}" if isinstance(ms, int) and ms else ""


def _clock(at: object) -> str:
    if isinstance(at, str):
        try:
            return datetime.fromisoformat(at).astimezone().strftime("%H:%M:%S")
        except ValueError:
            return at
    return datetime.fromtimestamp(at / 1000).astimezone().strftime("%H:%M:%S") if isinstance(at, int) else ""
