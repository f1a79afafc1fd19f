"""What a person sees beside a question: the work that a yes would let happen, or the details that a plan shows."""

from __future__ import annotations

from collections.abc import Mapping

from openskelo.cli import ink, members, output
from openskelo.kernel.json import Json, JsonObject

#: So many columns of a value are shown.
_VALUE = 200
#: So much of a text among the details is shown, as lines.
_CHARACTERS = 4000
_LINES = 40


def lines(approval: JsonObject, painter: ink.Ink) -> list[str]:
    """What an open approval is about, as lines to put under its prompt; none when the prompt says it all."""
    return _work(approval, painter) or _details(approval, painter)


def proposed(approval: JsonObject) -> JsonObject:
    """The values that a plain yes would take over: what is asked about, unless a plan asks for something new."""
    return {} if approval.get("kind") == "ask_human" else members.object_at(approval, "args")


def _work(approval: JsonObject, painter: ink.Ink) -> list[str]:
    """What exactly an answer would let happen: who does it, and what it is given; nothing for other questions."""
    about = members.object_at(approval, "work")
    if not about:
        return []
    given = about.get("inputs", approval.get("args"))
    values: dict[str, Json] = dict(given) if isinstance(given, Mapping) else {"": given}
    if "item" in about:
        values["item"] = about["item"]
    size = max(map(ink.width, values), default=0)
    config = members.object_at(about, "config")
    found = [f"{painter.paint('done by', 'dim')} {ink.one_line(str(about.get('by')))}"]
    found += [f"{painter.paint('config ', 'dim')} {output.compact(config, _VALUE)}"] if config else []
    for number, (name, value) in enumerate(values.items()):
        head = painter.paint("given  " if not number else "       ", "dim")
        found.append(f"{head} {ink.pad(ink.one_line(name), size)}  {output.compact(value, _VALUE)}".rstrip())
    if "items" in about:
        items = members.list_at(about, "items")
        each = f"{output.count(len(items), 'item')}  {output.compact(items, _VALUE)}"
        found.append(f"{painter.paint('for    ', 'dim')} {each}")
    return found


def _details(approval: JsonObject, painter: ink.Ink) -> list[str]:
    """What a plan wants a person to look at, value by value; texts as they are, everything else as JSON."""
    asked = members.object_at(approval, "args")
    if approval.get("kind") != "ask_human" or "details" not in asked:
        return []
    details = asked["details"]
    values: JsonObject = details if isinstance(details, Mapping) else {"details": details}
    names = {name: ink.one_line(name, _VALUE) for name in values}
    size = max(map(ink.width, names.values()), default=0)
    found: list[str] = []
    whole = True
    for name, value in values.items():
        (first, *more), all_of_it = _text(value)
        found.append(f"{painter.paint(ink.pad(names[name], size), 'dim')}  {first}".rstrip())
        found += [f"{' ' * size}  {line}".rstrip() for line in more]
        whole = whole and all_of_it
    if not whole:
        hint = f"not all of it is shown: skelo approvals {approval.get('runId')} --json"
        found.append(painter.paint(hint, "dim"))
    return found


def _text(value: Json) -> tuple[list[str], bool]:
    """A value as lines, at least one, and whether they are all of it; else the last one ends in …"""
    if not isinstance(value, str):
        line = output.compact(value, _VALUE)
        return [line], line == output.compact(value)
    text = value.rstrip("\n")
    shown = text[:_CHARACTERS].split("\n")[:_LINES]
    whole = len("\n".join(shown)) == len(text)
    return [*map(ink.clean, shown), *([] if whole else ["…"])], whole
