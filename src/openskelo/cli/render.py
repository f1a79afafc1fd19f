"""The document of a run as a person reads it: ending, outputs, nodes, budget, open questions."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import TypeAlias

from openskelo.cli import evidence, ink, members, output
from openskelo.kernel.json import Json, JsonObject

#: So much of an output is shown on a terminal.
_CHARACTERS = 2000
_LINES = 40
_BUDGET = {
    "steps": "steps",
    "tokens": "tokens",
    "costUsd": "USD",
    "wallMs": "ms of work",
    "toolSpendUsd": "USD for tools",
}
_COUNTED = ("steps", "tokens")

#: Makes of a command what its reader has to type (`suggested.Suggested`).
Typed: TypeAlias = Callable[[str], str]


def result(document: JsonObject, typed: Typed) -> None:
    """What `run` and its kin print at the end: how it ended, why, and what came out or who is waited for."""
    painter = ink.Ink(sys.stdout)
    output.say(f"{_ending(document, painter)}  {painter.paint(str(document['runId']), 'dim')}")
    _error(document)
    _outputs(document, painter, typed)
    _questions(document, typed)
    _advise(document, typed)


def whole(document: JsonObject, typed: Typed, *, title: str) -> None:
    """What `show` prints."""
    painter = ink.Ink(sys.stdout)
    output.say(f"{painter.paint(ink.one_line(title), 'bold')}  {document['runId']}")
    times = f"started {local_time(str(document['createdAt']))}, last moved {local_time(str(document['updatedAt']))}"
    output.say(f"{_ending(document, painter)}  {painter.paint(times, 'dim')}")
    _error(document)
    nodes = members.object_at(document, "nodes")
    if nodes:
        output.say()
        _nodes(nodes)
    _outputs(document, painter, typed)
    _budget(document)
    _questions(document, typed)
    _advise(document, typed)


def logs(kept: Iterable[JsonObject]) -> None:
    """What attempts have logged, each under its node, visit, item and attempt."""
    painter = ink.Ink(sys.stdout)
    for one in kept:
        item = f" item {one['item']}" if one.get("item") is not None else ""
        node = painter.paint(ink.one_line(str(one["node"])), "bold")
        output.say()
        output.say(f"{node} visit {one['visit']}{item} attempt {one['attempt']}:")
        for line in str(one["text"]).splitlines():
            output.say(f"  {ink.clean(line)}")


def _questions(document: JsonObject, typed: Typed) -> None:
    """The open approvals, each with the commands that answer it."""
    approvals = members.objects_at(document, "approvals")
    if not approvals:
        return
    output.say()
    output.say(f"waiting for {'a person' if len(approvals) == 1 else f'{len(approvals)} answers'}:")
    for approval in approvals:
        question(approval, typed)


def _advise(document: JsonObject, typed: Typed) -> None:
    """How to go on from a node that has failed the run. (A live graph cannot be forked, but no node fails it.)"""
    node = members.object_at(document, "error").get("node")
    if document.get("ending") in ("failed", "escalated") and isinstance(node, str):
        command = typed(f"skelo fork {document['runId']} --from {shlex.quote(ink.one_line(node))}")
        output.note(f"once its cause is gone, try again and keep what came before: {command}")


def question(approval: JsonObject, typed: Typed, *, run: str = "") -> None:
    """One open approval with the commands that answer it; `run` says whose it is where that is not plain."""
    painter = ink.Ink(sys.stdout)
    whose = painter.paint(f" ({ink.one_line(run)})", "dim") if run else ""
    node = painter.paint(ink.one_line(str(approval.get("node"))), "bold")
    output.say(f"  {node}{whose}: {indented(str(approval.get('prompt', '')))}")
    for line in evidence.lines(approval, painter):
        output.say(f"    {line}")
    approvers = members.list_at(approval, "approvers")
    if approvers:
        names = ink.one_line(", ".join(map(str, approvers)))
        output.say(f"    {painter.paint(f'only for {names}', 'dim')}")
    expires = approval.get("expiresAt")
    over = isinstance(expires, str) and datetime.fromisoformat(expires) <= datetime.now(UTC)
    if expires:
        until = f"{'expired at' if over else 'open until'} {local_time(str(expires))}"
        output.say(f"    {painter.paint(until, 'dim')}")
    late = [(f"skelo resume {approval.get('runId')}", "goes on as when nobody answers")]
    for command, meaning in late if over else _answers(approval):
        output.say(f"    {typed(command)}{painter.paint(f'   {meaning}', 'dim') if meaning else ''}")


def _answers(approval: JsonObject) -> list[tuple[str, str]]:
    """The commands that answer an approval, with their meaning where it is not plain."""
    approve, deny = f"skelo approve {approval['id']}", f"skelo deny {approval['id']} --reason …"
    match approval.get("kind"):
        case "uncertain":
            values = _settings(members.object_at(members.object_at(approval, "work"), "outputs"), {})
            happened = f"{approve} {values}" if values else f"echo '{{}}' | {approve} --values -"
            return [(approve, "do it again"), (happened, "it did happen"), (deny, "count it as failed")]
        case "stalled":
            return [(approve, "go on trying"), (deny, "end the run")]
        case _:
            values = _settings(members.object_at(approval, "form"), evidence.proposed(approval))
            return [(f"{approve} {values}".rstrip(), ""), (deny, "")]


def _settings(form: JsonObject, known: JsonObject) -> str:
    """The options that fill a form; what need not be given, for it is optional or `known`, is in brackets."""
    options: list[str] = []
    for name, part in members.object_at(form, "properties").items():
        needed = name in members.list_at(form, "required") and name not in known
        option = f"--set {ink.one_line(name)}=…"
        options.append(option if needed and "default" not in members.as_object(part) else f"[{option}]")
    return " ".join(options)


def local_time(text: str) -> str:
    """A recorded time in the reader's zone."""
    return datetime.fromisoformat(text).astimezone().strftime("%Y-%m-%d %H:%M:%S")


def indented(text: str, by: int = 4) -> str:
    """Text of several lines, the later ones moved in."""
    lines = ink.clean(text).strip().splitlines()
    return "\n".join(" " * by + line if number and line else line for number, line in enumerate(lines))


def _ending(document: JsonObject, painter: ink.Ink) -> str:
    return painter.ending(str(document.get("ending") or document.get("status")))


def _error(document: JsonObject) -> None:
    error = members.object_at(document, "error")
    if error:
        item = f"[{error['item']}]" if isinstance(error.get("item"), int) else ""
        at = f" in {ink.one_line(str(error['node']))}{item}" if error.get("node") else ""
        output.say(f"  {error.get('code')}{at}: {indented(str(error.get('message', '')))}")


def _outputs(document: JsonObject, painter: ink.Ink, typed: Typed) -> None:
    outputs = members.object_at(document, "outputs")
    if not outputs:
        return
    output.say()
    size = max(map(len, outputs))
    for name, value in outputs.items():
        text, rest = _beginning(value if isinstance(value, str) else output.compact(value))
        output.say(f"  {painter.paint(ink.pad(name, size), 'bold')}  {indented(text, size + 4)}")
        if rest:
            command = typed(f"skelo output {document['runId']} {ink.one_line(name)}")
            whole = f"… {rest} more characters; all of it: {command}"
            output.say(f"  {' ' * size}  {painter.paint(whole, 'dim')}")


def _beginning(text: str) -> tuple[str, int]:
    """As much of a value as a person wants on a terminal, and how many characters are left out; in a pipe none are."""
    if not sys.stdout.isatty():
        return text, 0
    cut = "".join(text[:_CHARACTERS].splitlines(keepends=True)[:_LINES])
    return cut, len(text) - len(cut)


def _nodes(nodes: JsonObject) -> None:
    rows = [
        [
            key,
            ink.BADGES.get(str(node.get("mode", "")), str(node.get("mode", ""))),
            _standing(node),
            str(node.get("visits", "")),
            str(node.get("attempts", "")),
            _beginning(output.compact(node["outputs"]))[0] if node.get("outputs") is not None else "",
        ]
        for key, node in ((key, members.as_object(value)) for key, value in nodes.items())
    ]
    output.table(["node", "mode", "outcome", "visits", "attempts", "outputs"], rows)


def _standing(node: JsonObject) -> str:
    """What became of the node, or what it does; one that was entered and is not at work waits."""
    if node.get("outcome"):
        kept = members.object_at(node, "items").get("kept")
        return f"{node['outcome']} ({kept} items kept)" if kept else str(node["outcome"])
    if node.get("status") != "idle" or not node.get("visits"):
        return str(node.get("status"))
    due = node.get("retryAt")
    return f"waiting until {local_time(due)}" if isinstance(due, str) else "waiting"


def _amount(value: Json) -> str:
    return output.dollars(value) if isinstance(value, float) else str(value)


def _budget(document: JsonObject) -> None:
    words: list[str] = []
    for key, value in members.object_at(document, "budget").items():
        amounts = members.as_object(value)
        used, limit = amounts.get("used"), amounts.get("limit")
        if used or limit is not None:
            noun = _BUDGET.get(key, key)
            noun = noun.removesuffix("s") if (used if limit is None else limit) == 1 and key in _COUNTED else noun
            amount = f"{_amount(used)} of {_amount(limit)}" if limit is not None else _amount(used)
            words.append(f"{amount} {noun}")
    if words:
        output.say()
        output.say(f"used {', '.join(words)}")
