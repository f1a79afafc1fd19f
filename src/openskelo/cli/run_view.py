"""Shows a run while it goes: the View protocol, its plain form for pipes and logs, its live form for
terminals, and events as sentences.
"""

from __future__ import annotations

import itertools
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Protocol

from rich import console, table, text
from rich.live import Live as RichLive

from openskelo.cli import json_fields, output
from openskelo.history.run_document import NodeDocument
from openskelo.kernel.json import Json, JsonObject
from openskelo.structs import mutable

_SKIPPED = {
    "when": "its condition is false",
    "upstream": "what it needs was skipped",
    "denied": "a person said no to it",
}


class View(Protocol):
    """Shows a run's events as they arrive."""

    def show(self, envelope: JsonObject) -> None: ...

    def log(self, node: str, lines: Sequence[str]) -> None:
        """Show what a handler logged in one attempt."""
        ...

    def model_text(self, node: str, text: str) -> None:
        """Show a piece of a model's answer while it is streamed."""
        ...

    def pause(self) -> None:
        """Stop drawing while the user is asked something."""
        ...

    def resume(self) -> None: ...

    def close(self) -> None: ...


class Silent:
    """Shows nothing."""

    def show(self, envelope: JsonObject) -> None: ...

    def log(self, node: str, lines: Sequence[str]) -> None: ...

    def model_text(self, node: str, text: str) -> None: ...

    def pause(self) -> None: ...

    def resume(self) -> None: ...

    def close(self) -> None: ...


class Plain:
    """Prints one line on stderr for each event that a reader of a log needs."""

    def __init__(self) -> None:
        self._painter = output.Painter(sys.stderr)
        self._calls = CallLines()

    def show(self, envelope: JsonObject) -> None:
        words = sentence(envelope) or self._calls.take(envelope)
        if not words:
            return
        node = data_of(envelope).get("node")
        where = f"{output.pad(output.one_line(str(node)), 16)} " if node else ""
        output.note(f"{self._painter.paint(_clock(envelope.get('ts')), 'dim')} {where}{words}")

    def log(self, node: str, lines: Sequence[str]) -> None:
        for line in lines:
            output.note(f"{'':8} {output.pad(output.one_line(node), 16)} | {output.clean(line)}")

    def model_text(
        self, node: str, text: str
    ) -> None: ...  # pieces would break the lines, and the whole answer is in the record

    def pause(self) -> None: ...

    def resume(self) -> None: ...

    def close(self) -> None: ...


def data_of(envelope: JsonObject) -> JsonObject:
    """Return the `data` of an envelope; empty if it was pruned."""
    return json_fields.object_at(envelope, "data")


def sentence(envelope: JsonObject) -> str:
    """Return an event as a sentence, without its node and time; empty for events that people do not need."""
    kind = str(envelope.get("type"))
    data = data_of(envelope)
    if kind.startswith("attempt."):
        return _attempt(kind, data)
    if kind.startswith("approval."):
        return _approval(kind, data)
    if kind.startswith("run."):
        return _run(kind, data)
    match kind:
        case "session.opened":
            return _session(data)
        case "node.skipped":
            return f"skipped: {_SKIPPED.get(str(data.get('reason')), '')}"
        case "node.failed":
            return f"failed: {error_text(data)}"
        case "item.failed":
            return f"failed item {data.get('item')}: {error_text(data)}; the other items go on"
        case "node.bounced":
            return f"sent back to {data.get('routeTo')} (bounce {data.get('bounce')})"
        case "node.kept":
            return f"kept from the earlier run ({data.get('outcome')})"
        case "node.unjudged":
            return "its work is kept from the earlier run; only its gates run again"
        case "node.finished":
            return "all items done"
        case "items.kept":
            return f"{_items(len(json_fields.list_at(data, 'items')))} done in the earlier run"
        case "node.resolved" if data.get("count") is not None:
            action = taken(data)
            return _items(data["count"]) + (f", {action} kept from the earlier run" if action else "")
        case _:
            return ""


def _session(data: JsonObject) -> str:
    """Return which agent works, with which permissions, and in which sandbox."""
    session = json_fields.object_at(data, "session")
    how = "continues" if session.get("continued") else "opens"
    number = output.one_line(str(session.get("sessionId")))[:8]
    kind = json_fields.object_at(session, "sandbox").get("kind", "none")
    sandbox = "no sandbox" if kind == "none" else f"sandbox {kind}"
    agent, permissions = output.one_line(str(session.get("agent"))), session.get("permissions")
    obeyed = ", ".join(output.one_line(str(path)) for path in json_fields.list_at(session, "obeyedSettings"))
    warning = f"; warning: it may obey settings of the repository: {obeyed}" if obeyed else ""
    return f"{agent} {how} session {number}, {permissions}, {sandbox}{warning}"


class CallLines:
    """Writes one line for each call of an agent, when it is over: tool, short argument, how it ended, how long."""

    def __init__(self) -> None:
        self._started: dict[str, tuple[str, bool]] = {}  # words and whether it was denied, by the id of the call

    def take(self, envelope: JsonObject) -> str:
        """Return the line of a call that is over with this event; empty for other events."""
        data = data_of(envelope)
        if envelope.get("type") == "call.started":
            call = json_fields.object_at(data, "call")
            self._started[str(call.get("id"))] = (call_words(data), is_denied(data))
            return ""
        if envelope.get("type") == "call.ruled" and (call_id := str(data.get("callId"))) in self._started:
            self._started[call_id] = (self._started[call_id][0], is_denied(data))
            return ""
        opening = self._started.pop(str(data.get("callId")), None)
        if envelope.get("type") != "call.completed" or opening is None:
            return ""
        words, was_denied = opening
        if was_denied:
            return f"{words}: denied, {output.one_line(str(json_fields.object_at(data, 'result').get('value')), 120)}"
        ending = "ok" if data.get("status") == "completed" else "failed"
        ms = data.get("durationMs")
        return f"{words}: {ending}" + (f", {output.duration(ms / 1000)}" if isinstance(ms, int) and ms else "")


#: The arguments that say most about a call, in this order.
_TELLING_ARGUMENTS = ("command", "cmd", "file_path", "path", "filePath", "url", "pattern", "query")


def call_words(data: JsonObject) -> str:
    """Return the tool of a `call.started` with its most telling argument."""
    tool = output.one_line(json_fields.text_at(json_fields.object_at(data, "call"), "tool"), 40)
    arguments = json_fields.object_at(json_fields.object_at(data, "args"), "value")
    candidates = (arguments.get(name) for name in _TELLING_ARGUMENTS)
    value = next((value for value in (*candidates, *arguments.values()) if isinstance(value, str) and value), "")
    argument = output.one_line(value, 80)
    if argument and argument not in tool:
        return f"{tool} {argument}"
    return tool


def is_denied(data: JsonObject) -> bool:
    """True if a `call.started` or a `call.ruled` is about a call that was not allowed."""
    return gate_of(data).get("decision") == "deny"


def gate_of(data: JsonObject) -> JsonObject:
    """Return what a `call.started` or a `call.ruled` says about the decision; empty if the agent did not ask."""
    return json_fields.object_at(data, "gate") or json_fields.object_at(json_fields.object_at(data, "call"), "gate")


def taken(data: JsonObject) -> int:
    """Return how many items a node has taken over from the run that this one was forked from."""
    return sum(number != -1 for number in json_fields.list_at(data, "taken"))


def _items(count: Json) -> str:
    return output.count(int(str(count)), "item")


def error_text(data: JsonObject) -> str:
    """Return the `error` of an event on one line."""
    error = json_fields.object_at(data, "error")
    return output.one_line(f"{json_fields.text_at(error, 'code')} {json_fields.text_at(error, 'message')}".strip())


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
                "repair": "is asked again with the validation errors",
                "retry": "will try again",
                "bounce": "goes back",
                "ask": "asks a person",
                "fail": "gives up",
                "keep": "the other items go on",
                "go": f"goes to {output.one_line(str(data.get('goto')))}",
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
            return f"waits for a person: {output.one_line(str(data.get('prompt', '')), 80)}"
        case "approval.resolved":
            items = f", {_items(data['count'])}" if data.get("count") is not None else ""
            return f"{_resolution(data)}{items}"
        case _:
            return "question withdrawn"


def _resolution(data: JsonObject) -> str:
    """Return the answer to a question, who gave it, and why."""
    resolution = json_fields.object_at(data, "resolution")
    status = json_fields.text_at(resolution, "status")
    status += f" for this {resolution['remember']}" if resolution.get("remember") else ""
    why = f": {output.one_line(str(data['reason']))}" if data.get("reason") else ""
    return f"{status} by {output.one_line(str(data.get('by')))}{why}"


def _run(kind: str, data: JsonObject) -> str:
    match kind:
        case "run.recovered":
            return "recovered: the process that drove this run has died"
        case "run.time_skipped":
            skipped = output.duration(int(json_fields.text_at(data, "skippedMs")) / 1000)
            return f"the system's clock skipped {skipped}, which does not count as wall time"
        case "run.paused":
            return f"run paused by {output.one_line(str(data.get('by')))}"
        case "run.resumed":
            return "run resumed"
        case "run.mode":
            return f"{data.get('mode')} and {data.get('globalMode')}, by {output.one_line(str(data.get('by')))}"
        case "run.stalled":
            return "makes no progress: the same result again and again"
        case "run.ending" if data.get("ending") != "ok":
            return f"run is ending: {data.get('ending')}"
        case _:
            return ""


def _took(data: JsonObject) -> str:
    ms = _work_ms(data)
    return f" in {output.duration(ms / 1000)}" if ms else ""


def _work_ms(data: JsonObject) -> int | None:
    """Return how long an attempt worked, without waits for a worker or a model; None if it has no receipt."""
    ms = json_fields.object_at(json_fields.object_at(data, "receipt"), "metrics").get("wall_ms")
    return ms if isinstance(ms, int) else None


def _clock(at: object) -> str:
    try:
        moment = _moment(at)
    except ValueError:
        return str(at)
    return "" if moment is None else moment.strftime("%H:%M:%S")


def _moment(at: object) -> datetime | None:
    """Return the `ts` of an envelope, or None, in local time (ValueError)."""
    if isinstance(at, str):
        return datetime.fromisoformat(at).astimezone()
    if isinstance(at, int):
        return datetime.fromtimestamp(at / 1000).astimezone()
    return None


# -- the live view ----------------------------------------------------------------------------------------------------
#
# The live view of a run on a terminal: a table of its nodes with badge, state, attempts and time.


#: The width below which remarks are not shown.
_MIN_REMARK = 8
#: The width that remarks get on a wide line before names get more than _USUAL_NAME.
_WIDE_REMARK = 30
_USUAL_NAME = 28
#: How many characters of a model's answer are kept for the screen.
_ANSWER_TAIL = 400
_SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
_STATES = {
    "waiting": ("·", "dim"),
    "running": ("", "bold"),
    "asking": ("?", "yellow"),
    "done": ("✓", "green"),
    "failed": ("✗", "red"),
    "skipped": ("-", "dim"),
}


@mutable
class _Row:
    mode: str
    state: str = "waiting"
    attempts: int = 0
    items: int = 0
    items_done: int = 0
    since: float = 0.0
    spent: float = 0.0
    remark: str = ""
    answer: str = ""
    call: str = ""  # what an agent is calling now
    is_asked_about_call: bool = False


class Live:
    """A table that stays in place; messages scroll above it."""

    def __init__(self, nodes: Mapping[str, NodeDocument]) -> None:
        """Show `nodes`, the nodes of the run's document with their current state."""
        self._rows = {key: _row(node) for key, node in nodes.items()}
        self._calls = CallLines()
        self._console = console.Console(file=sys.stderr, highlight=False)
        self._first: datetime | None = None  # when the first of the shown events happened
        self._held: list[text.Text] | None = None  # messages that wait while the user is asked something
        self._live = self._open()

    def show(self, envelope: JsonObject) -> None:
        data = data_of(envelope)
        kind = str(envelope.get("type"))
        self._first = self._first or _moment(envelope.get("ts"))
        row = self._rows.get(str(data.get("node")))
        if row is not None:
            _apply(row, kind, data)
        if kind in (
            "attempt.failed",
            "attempt.interrupted",
            "item.failed",
            "node.failed",
            "node.bounced",
            "run.stalled",
            "run.recovered",
        ):
            words = sentence(envelope)
            node = f"{output.one_line(str(data.get('node')))} " if data.get("node") else ""
            self._print(text.Text(f"{node}{words}", style="yellow"))
        if line := self._calls.take(envelope):
            is_ok = data.get("status") == "completed"
            self._print(
                text.Text(f"{output.one_line(str(data.get('node')))} {line}", style="dim" if is_ok else "yellow")
            )

    def log(self, node: str, lines: Sequence[str]) -> None:
        for line in lines:
            self._print(text.Text(f"{output.one_line(node)} | {output.clean(line)}", style="dim"))

    def model_text(self, node: str, text: str) -> None:
        row = self._rows.get(node)
        if row is not None:
            row.answer = (row.answer + text)[-_ANSWER_TAIL:]

    def pause(self) -> None:
        self._live.stop()
        self._held = []

    def resume(self) -> None:
        self._release()
        self._live = self._open()

    def close(self) -> None:
        self._live.stop()
        self._release()

    def _print(self, line: text.Text) -> None:
        """Print a line above the table, or keep it while the user is typing an answer."""
        if self._held is None:
            self._console.print(line)
        else:
            self._held.append(line)

    def _release(self) -> None:
        pending, self._held = self._held, None
        for line in pending or ():
            self._console.print(line)

    def __rich__(self) -> console.Group:
        shown_keys, hidden_count = self._fitting()
        grid = table.Table(box=None, show_header=False, padding=(0, 1), expand=False, pad_edge=False)
        widths = self._widths()
        for size in widths:
            grid.add_column(no_wrap=True, overflow="ellipsis", width=size)
        for key in shown_keys:
            grid.add_row(*itertools.islice(self._cells(key, self._rows[key], widths), len(widths)))
        elapsed_text = output.duration(max(0.1, round(self._elapsed(), 1)))
        total = sum(row.state in ("done", "skipped") for row in self._rows.values())
        more = f"… and {hidden_count} more. " if hidden_count else ""
        foot = text.Text(f"{more}{total} of {len(self._rows)} done, {elapsed_text}", style="dim")
        return console.Group(grid, foot)

    def _elapsed(self) -> float:
        """Return the seconds since the first of the shown events, which may have come before the view was opened."""
        return 0.0 if self._first is None else (datetime.now(UTC) - self._first).total_seconds()

    def _widths(self) -> tuple[int, ...]:
        """Return the widths of the columns: sign, badge, name, attempts or items, time, and the rest for the remark.

        A narrow terminal has no remark, a very narrow one only the first three columns.
        """
        beside = 1 + 5 + 10 + 9 + 2 * 6 + _WIDE_REMARK
        room = max(_USUAL_NAME, self._console.width - beside)
        name = min(room, max((output.width(key) for key in self._rows), default=0))
        fixed_widths = (1, 5, max(name, 16), 10, 9)
        free_width = self._console.width - sum(fixed_widths) - 2 * len(fixed_widths)
        if free_width >= _MIN_REMARK:
            return (*fixed_widths, free_width)
        if free_width >= 0:
            return fixed_widths
        return (1, 5, max(1, min(name, self._console.width - 12)))

    def _open(self) -> RichLive:
        live = RichLive(get_renderable=self.__rich__, console=self._console, refresh_per_second=8, transient=False)
        live.start()
        return live

    def _fitting(self) -> tuple[list[str], int]:
        """Return the nodes that fit on the screen, active ones first, and how many do not fit."""
        room = max(3, self._console.size.height - 4)
        if len(self._rows) <= room:
            return list(self._rows), 0
        urgency = {"failed": 0, "asking": 0, "running": 0, "waiting": 1, "done": 2, "skipped": 2}
        by_urgency = sorted(self._rows, key=lambda key: urgency[self._rows[key].state])
        chosen_keys = set(by_urgency[:room])
        return [key for key in self._rows if key in chosen_keys], len(by_urgency) - room

    def _cells(self, key: str, row: _Row, widths: tuple[int, ...]) -> Iterable[text.Text]:
        sign, colour = _STATES[row.state]
        if row.state == "running":
            sign = _SPINNER[int(time.monotonic() * 8) % len(_SPINNER)]
        seconds = row.spent + (time.monotonic() - row.since if row.since else 0.0)
        items = f"{row.items_done}/{row.items}" if row.items else ""
        again = f"attempt {row.attempts}" if row.attempts > 1 and not row.items else ""
        return (
            text.Text(sign, style=colour),
            text.Text(output.badge(row.mode), style=output.badge_colour(row.mode)),
            text.Text(_shortened(key, widths[2]), style=colour),
            text.Text(items or again, style="dim"),
            text.Text(output.duration(seconds) if seconds >= 0.001 else "", style="dim"),
            text.Text(row.call or row.remark or _end_of_answer(row.answer, widths[-1]), style="dim"),
        )


def _shortened(name: str, room: int) -> str:
    """Return a long name with its start and end: the names of blocks often differ in their end."""
    if len(name) <= room or not name.isascii():  # others are cut by their width on the screen
        return name
    end = (room - 1) * 2 // 3
    return f"{name[: room - 1 - end]}…{name[len(name) - end :]}"


def _end_of_answer(answer: str, room: int) -> str:
    """Return as much of the end of a model's answer as fits."""
    line = output.one_line(answer)
    return line if len(line) <= room else "…" + line[1 - room :]


def _row(node: NodeDocument) -> _Row:
    outcomes = {"succeeded": "done", "failed": "failed", "skipped": "skipped", "cancelled": "failed"}
    states = {"running": "running", "blocked": "asking"}
    state = outcomes.get(node["outcome"] or "") or states.get(node["status"], "waiting")
    return _Row(mode=node["mode"], state=state, attempts=node["attempts"])


def _apply(row: _Row, kind: str, data: JsonObject) -> None:
    """Update a node's row by one event."""
    _add_work(row, data)
    match kind:
        case "node.resolved" if isinstance(data.get("count"), int):
            row.items, row.items_done = int(str(data["count"])), taken(data)
        case "attempt.started":
            row.state, row.attempts, row.remark = "running", int(str(data.get("attempt", 1))), ""
            row.answer = "" if not row.items else row.answer
            row.since = row.since or time.monotonic()
        case "attempt.succeeded":
            row.items_done += 1
            if row.items_done >= row.items:
                _set_state(row, "done", "from the cache" if data.get("cached") else "")
        case "item.failed":
            row.items_done += 1
            row.remark = error_text(data)
        case "attempt.failed" if data.get("next") == "keep":
            row.items_done += 1
            row.remark = error_text(data)
        case "attempt.failed":
            _set_state(row, "failed" if data.get("next") == "fail" else "waiting", error_text(data))
        case "attempt.interrupted" | "attempt.cancelled":
            _set_state(row, "waiting", str(data.get("reason", "")))
        case "call.started":
            row.call, row.remark = ("" if is_denied(data) else call_words(data)), ""
        case "call.completed":
            row.call = ""
        case "approval.requested":
            row.is_asked_about_call = json_fields.text_at(json_fields.object_at(data, "tool"), "name") == "call"
            _set_state(row, "asking", output.one_line(str(data.get("prompt", "")), 60))
        case "approval.resolved" | "approval.withdrawn" if row.is_asked_about_call:
            if row.state == "asking":  # its attempt goes on
                row.state, row.remark, row.since = "running", "", time.monotonic()
        case "approval.resolved":
            if isinstance(data.get("count"), int):  # a person has changed the items
                row.items, row.items_done = int(str(data["count"])), 0
            _set_state(row, "waiting", _resolution(data))
        case "approval.withdrawn":
            _set_state(row, "waiting", "no longer asked")
        case "node.finished" | "node.kept":
            _set_state(row, "done", "kept" if kind == "node.kept" else "")
        case "node.skipped":
            _set_state(row, "skipped", "skipped")
        case "node.failed":
            _set_state(row, "failed", error_text(data))
        case _:
            pass


def _add_work(row: _Row, data: JsonObject) -> None:
    """Count the time that an ended attempt worked; the items of a foreach work side by side, so the clock counts."""
    work_ms = _work_ms(data)
    if work_ms is not None and not row.items:
        row.spent += work_ms / 1000
        row.since = 0.0


def _set_state(row: _Row, state: str, remark: str) -> None:
    if row.since:
        row.spent += time.monotonic() - row.since
    row.since, row.state, row.remark, row.answer, row.call = 0.0, state, remark or row.remark, "", ""
