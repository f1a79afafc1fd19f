"""Putting an open approval to the person at this terminal."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Literal

from openskelo.cli import ink, members, output, render, terminal
from openskelo.kernel.json import JsonObject


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a person decided."""

    status: Literal["approved", "denied", "modified"]
    values: JsonObject | None = None
    reason: str | None = None


def open_questions(document: JsonObject) -> list[JsonObject]:
    """The open approvals of a run's document."""
    return members.objects_at(document, "approvals")


async def ask(lines: terminal.Lines, approval: JsonObject) -> Answer | None:
    """Show one approval and take the answer; None when the person wants to answer later."""
    paint = ink.Ink(sys.stderr).paint
    output.note()
    output.note(f"{paint('?', 'yellow', 'bold')} {paint(str(approval.get('node')), 'bold')} asks:")
    output.note(f"  {render.indented(str(approval.get('prompt', '')), 2)}")
    form = members.object_at(approval, "form")
    choices = {"approve": "say yes", "deny": "say no, with a reason", "later": "leave it open and stop here"}
    if members.object_at(form, "properties"):
        choices = {"approve": "say yes", "edit": "say yes with other values", **choices}
    match await terminal.choose(lines, "Your answer", choices):
        case "approve":
            return await _approve(lines, form, approval)
        case "edit":
            values = await terminal.ask_form(lines, form, members.object_at(approval, "args"))
            return Answer(status="modified", values=values)
        case "deny":
            reason = await lines.ask("  Why: ")
            return Answer(status="denied", reason=reason or None)
        case _:
            return None


async def _approve(lines: terminal.Lines, form: JsonObject, approval: JsonObject) -> Answer:
    """A plain yes, unless the form demands values that nobody has given yet."""
    asked = members.object_at(approval, "args")
    if all(name in asked for name in members.list_at(form, "required")):
        return Answer(status="approved")
    return Answer(status="modified", values=await terminal.ask_form(lines, form, asked))
