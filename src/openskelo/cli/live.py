"""The run on a terminal: its nodes with badge, state, attempts and time, redrawn as events arrive."""

from __future__ import annotations

import itertools
import sys
import time
from collections.abc import Iterable, Sequence

from rich import console, table, text
from rich.live import Live as RichLive

from openskelo.cli import ink, members, output, view
from openskelo.frozen import mutable
from openskelo.kernel.json import JsonObject

#: The narrowest remark worth showing.
_REMARK = 8
#: What a remark has of a line that is wide, before names get more than their usual room.
_AMPLE_REMARK = 30
_USUAL_NAME = 28
#: How much of what a model says is kept for the screen.
_TAIL = 400
_SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
_COLOURS = {"ai": "magenta", "deterministic": "green", "approval": "yellow", "dag": "cyan"}
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
    said: str = ""


class Live:
    """A table that stays in place; what is worth keeping scrolls above it."""

    def __init__(self, nodes: JsonObject) -> None:
        """`nodes` are those of the run's document: where each stands now."""
        self._rows = {key: _row(members.as_object(node)) for key, node in nodes.items()}
        self._console = console.Console(file=sys.stderr, highlight=False)
        self._started = time.monotonic()
        self._held: list[text.Text] | None = None  # what was to be said while somebody is asked something
        self._live = self._open()

    def show(self, envelope: JsonObject) -> None:
        data = view.data_of(envelope)
        kind = str(envelope.get("type"))
        row = self._rows.get(str(data.get("node")))
        if row is not None:
            _note(row, kind, data)
        if kind in (
            "attempt.failed",
            "attempt.interrupted",
            "node.failed",
            "node.bounced",
            "run.stalled",
            "run.recovered",
        ):
            words = view.sentence(envelope)
            node = f"{ink.one_line(str(data.get('node')))} " if data.get("node") else ""
            self._say(text.Text(f"{node}{words}", style="yellow"))

    def log(self, node: str, lines: Sequence[str]) -> None:
        for line in lines:
            self._say(text.Text(f"{ink.one_line(node)} | {ink.clean(line)}", style="dim"))

    def hear(self, node: str, text: str) -> None:
        row = self._rows.get(node)
        if row is not None:
            row.said = (row.said + text)[-_TAIL:]

    def pause(self) -> None:
        self._live.stop()
        self._held = []

    def go_on(self) -> None:
        self._release()
        self._live = self._open()

    def close(self) -> None:
        self._live.stop()
        self._release()

    def _say(self, line: text.Text) -> None:
        """Print a line above the table; not while somebody is typing an answer."""
        if self._held is None:
            self._console.print(line)
        else:
            self._held.append(line)

    def _release(self) -> None:
        held, self._held = self._held, None
        for line in held or ():
            self._console.print(line)

    def __rich__(self) -> console.Group:
        shown, hidden = self._fitting()
        drawn = table.Table(box=None, show_header=False, padding=(0, 1), expand=False, pad_edge=False)
        widths = self._widths()
        for size in widths:
            drawn.add_column(no_wrap=True, overflow="ellipsis", width=size)
        for key in shown:
            drawn.add_row(*itertools.islice(self._cells(key, self._rows[key], widths), len(widths)))
        elapsed = output.duration(max(0.1, round(time.monotonic() - self._started, 1)))
        total = sum(row.state in ("done", "skipped") for row in self._rows.values())
        more = f"… and {hidden} more. " if hidden else ""
        foot = text.Text(f"{more}{total} of {len(self._rows)} done, {elapsed}", style="dim")
        return console.Group(drawn, foot)

    def _widths(self) -> tuple[int, ...]:
        """Sign, badge, name, attempts or items, time, and for the remark what is left of the line.

        A narrow line does without the remark, a very narrow one has the first three only.
        """
        beside = 1 + 5 + 10 + 9 + 2 * 6 + _AMPLE_REMARK
        room = max(_USUAL_NAME, self._console.width - beside)
        name = min(room, max((ink.width(key) for key in self._rows), default=0))
        fixed = (1, 5, max(name, 16), 10, 9)
        left = self._console.width - sum(fixed) - 2 * len(fixed)
        if left >= _REMARK:
            return (*fixed, left)
        return fixed if left >= 0 else (1, 5, max(1, min(name, self._console.width - 12)))

    def _open(self) -> RichLive:
        live = RichLive(get_renderable=self.__rich__, console=self._console, refresh_per_second=8, transient=False)
        live.start()
        return live

    def _fitting(self) -> tuple[list[str], int]:
        """The nodes that fit on the screen (those that move or ask before the rest), and how many do not."""
        room = max(3, self._console.size.height - 4)
        if len(self._rows) <= room:
            return list(self._rows), 0
        urgency = {"failed": 0, "asking": 0, "running": 0, "waiting": 1, "done": 2, "skipped": 2}
        ranked = sorted(self._rows, key=lambda key: urgency[self._rows[key].state])
        chosen = set(ranked[:room])
        return [key for key in self._rows if key in chosen], len(ranked) - room

    def _cells(self, key: str, row: _Row, widths: tuple[int, ...]) -> Iterable[text.Text]:
        sign, style = _STATES[row.state]
        if row.state == "running":
            sign = _SPINNER[int(time.monotonic() * 8) % len(_SPINNER)]
        spent = row.spent + (time.monotonic() - row.since if row.since else 0.0)
        items = f"{row.items_done}/{row.items}" if row.items else ""
        again = f"attempt {row.attempts}" if row.attempts > 1 and not row.items else ""
        return (
            text.Text(sign, style=style),
            text.Text(ink.BADGES.get(row.mode, row.mode), style=_COLOURS.get(row.mode, "")),
            text.Text(_shortened(key, widths[2]), style=style),
            text.Text(items or again, style="dim"),
            text.Text(output.duration(spent) if spent >= 0.001 else "", style="dim"),
            text.Text(row.remark or _last_words(row.said, widths[-1]), style="dim"),
        )


def _shortened(name: str, room: int) -> str:
    """A name with both of its ends: what tells blocks apart is often the last of it."""
    if len(name) <= room or not name.isascii():  # others are cut by their width on the screen
        return name
    end = (room - 1) * 2 // 3
    return f"{name[: room - 1 - end]}…{name[len(name) - end :]}"


def _last_words(said: str, room: int) -> str:
    """The end of what a model has said so far, as much as fits."""
    line = ink.one_line(said)
    return line if len(line) <= room else "…" + line[1 - room :]


def _row(node: JsonObject) -> _Row:
    outcomes = {"succeeded": "done", "failed": "failed", "skipped": "skipped", "cancelled": "failed"}
    states = {"running": "running", "blocked": "asking"}
    state = outcomes.get(members.text_at(node, "outcome")) or states.get(members.text_at(node, "status"), "waiting")
    attempts = node.get("attempts")
    return _Row(mode=members.text_at(node, "mode"), state=state, attempts=attempts if isinstance(attempts, int) else 0)


def _note(row: _Row, kind: str, data: JsonObject) -> None:
    """What one event changes in a node's line."""
    match kind:
        case "node.resolved" if isinstance(data.get("count"), int):
            row.items, row.items_done = int(str(data["count"])), view.taken(data)
        case "attempt.started":
            row.state, row.attempts, row.remark = "running", int(str(data.get("attempt", 1))), ""
            row.said = "" if not row.items else row.said
            row.since = row.since or time.monotonic()
        case "attempt.succeeded":
            row.items_done += 1
            if row.items_done >= row.items:
                _settle(row, "done", "from the cache" if data.get("cached") else "")
        case "attempt.failed":
            _settle(row, "failed" if data.get("next") == "fail" else "waiting", view.error_text(data))
        case "attempt.interrupted" | "attempt.cancelled":
            _settle(row, "waiting", str(data.get("reason", "")))
        case "approval.requested":
            _settle(row, "asking", ink.one_line(str(data.get("prompt", "")), 60))
        case "approval.resolved":
            if isinstance(data.get("count"), int):  # a person has changed the items
                row.items, row.items_done = int(str(data["count"])), 0
            status = members.text_at(members.object_at(data, "resolution"), "status")
            _settle(row, "waiting", f"{status} by {ink.one_line(str(data.get('by')))}")
        case "approval.withdrawn":
            _settle(row, "waiting", "no longer asked")
        case "node.finished" | "node.kept":
            _settle(row, "done", "kept" if kind == "node.kept" else "")
        case "node.skipped":
            _settle(row, "skipped", "skipped")
        case "node.failed":
            _settle(row, "failed", view.error_text(data))
        case _:
            pass


def _settle(row: _Row, state: str, remark: str) -> None:
    if row.since:
        row.spent += time.monotonic() - row.since
    row.since, row.state, row.remark, row.said = 0.0, state, remark or row.remark, ""
