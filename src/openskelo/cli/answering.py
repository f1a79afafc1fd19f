"""Putting an open approval to the person at this terminal."""

from __future__ import annotations

import sys

from openskelo.cli import evidence, identity, ink, members, output, render, terminal
from openskelo.frozen import frozen
from openskelo.kernel import commands
from openskelo.kernel.json import JsonObject

_LATER = {"later": "leave it open and stop here"}
_CHOICES = {
    "approval": {"approve": "say yes", "deny": "say no, with a reason"},
    "uncertain": {
        "again": "do it again",
        "happened": "it did happen: give its outputs",
        "fail": "count it as failed",
    },
    "stalled": {"approve": "go on trying", "deny": "end the run"},
}


@frozen
class Answer:
    """What a person decided."""

    status: commands.Answer
    values: JsonObject | None = None
    reason: str | None = None


def may_answer(approval: JsonObject) -> bool:
    """Whether the person here is one who is asked."""
    approvers = members.list_at(approval, "approvers")
    return not approvers or identity.user() in approvers


async def ask(lines: terminal.Lines, approval: JsonObject) -> Answer | None:
    """Show one approval and take the answer; None when the person wants to answer later."""
    paint = ink.Ink(sys.stderr).paint
    output.note()
    output.note(f"{paint('?', 'yellow', 'bold')} {paint(ink.one_line(str(approval.get('node'))), 'bold')} asks:")
    output.note(f"  {render.indented(str(approval.get('prompt', '')), 2)}")
    for line in evidence.lines(approval, ink.Ink(sys.stderr)):
        output.note(f"  {line}")
    form = members.object_at(approval, "form")
    choices = dict(_CHOICES.get(str(approval.get("kind")), _CHOICES["approval"]))
    if members.object_at(form, "properties"):
        choices["edit"] = "say yes with other values"
    match await terminal.choose(lines, "Your answer", choices | _LATER):
        case "approve":
            return await _approve(lines, form, evidence.proposed(approval))
        case "again":
            return Answer(status="approved")
        case "edit":
            values = await terminal.ask_form(lines, form, evidence.proposed(approval))
            return Answer(status="modified", values=values)
        case "happened":
            return Answer(status="modified", values=await _outputs(lines, approval))
        case "deny" | "fail":
            return Answer(status="denied", reason=await _reason(lines))
        case _:
            return None


async def _reason(lines: terminal.Lines) -> str:
    """Why somebody says no: whoever tries again is told, and the record keeps it."""
    while not (reason := (await lines.ask("  Why: ")).strip()):
        output.note("  a no needs a reason")
    return reason


async def _approve(lines: terminal.Lines, form: JsonObject, asked: JsonObject) -> Answer:
    """A plain yes, unless the form demands values that nobody has given yet."""
    if all(name in asked for name in members.list_at(form, "required")):
        return Answer(status="approved")
    return Answer(status="modified", values=await terminal.ask_form(lines, form, asked))


async def _outputs(lines: terminal.Lines, approval: JsonObject) -> JsonObject:
    """The outputs of work that did happen, one after the other; the engine checks them against the node's contract."""
    return await terminal.ask_form(lines, members.object_at(members.object_at(approval, "work"), "outputs"), {})
