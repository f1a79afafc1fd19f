"""Talking with a person at a terminal: lines read without blocking the event loop, values asked for by their schema."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Mapping

from openskelo import errors
from openskelo.cli import ink, inputs, members, output
from openskelo.kernel.json import Json, JsonObject
from openskelo.values import composition
from openskelo.values import schema as schemas

#: What people type for the answers to a question that can be answered so.
_PLAINLY = {"y": "approve", "yes": "approve", "n": "deny", "no": "deny"}


def is_interactive(*, as_json: bool) -> bool:
    """Whether somebody is there to be asked."""
    return not as_json and sys.stdin.isatty() and sys.stderr.isatty()


class Lines:
    """Reads lines from standard input while the event loop goes on."""

    def __init__(self) -> None:
        self._buffer = b""

    async def ask(self, prompt: str) -> str:
        """Write `prompt` to stderr and give the line that is typed, without its end; EOFError when there is no more."""
        sys.stderr.write(prompt)
        sys.stderr.flush()
        while b"\n" not in self._buffer:
            chunk = await self._read()
            if not chunk:
                sys.stderr.write("\n")
                raise EOFError
            self._buffer += chunk
        line, _, self._buffer = self._buffer.partition(b"\n")
        return line.decode(errors="replace").rstrip("\r")

    async def _read(self) -> bytes:
        loop = asyncio.get_running_loop()
        ready: asyncio.Future[None] = loop.create_future()
        number = sys.stdin.fileno()
        loop.add_reader(number, lambda: None if ready.done() else ready.set_result(None))
        try:
            await ready
        finally:
            loop.remove_reader(number)
        return os.read(number, 65536)


async def ask_form(lines: Lines, form: JsonObject, suggested: JsonObject) -> dict[str, Json]:
    """Ask for every property of a form; an empty line takes the suggested value or leaves an optional one out."""
    needed = members.list_at(form, "required")
    values: dict[str, Json] = {}
    for name in members.object_at(form, "properties"):
        schema = composition.part(form, name)
        default = suggested.get(name, schema.get("default"))
        answer = await ask_value(lines, name, schema, default=default, required=name in needed)
        if answer is not None:
            values[name] = answer
    return values


async def ask_value(lines: Lines, name: str, schema: JsonObject, *, default: Json, required: bool) -> Json:
    """One value that fits `schema`, asked again until it does; None when it is optional and left out."""
    paint = ink.Ink(sys.stderr).paint
    about = schema.get("description")
    if isinstance(about, str) and about:
        output.note(f"  {paint(ink.one_line(about), 'dim')}")
    shown = f" [{output.compact(default, 40)}]" if default is not None else "" if required else " [leave out]"
    prompt = f"  {paint(ink.one_line(name), 'bold')} ({_wanted(schema)}){shown}: "
    checker = schemas.compile(schema)
    while True:
        text = await lines.ask(prompt)
        if not text and (default is not None or not required):
            return default
        try:
            value = _read(name, text, schema)
        except errors.InvalidInput as error:
            output.note(f"  {paint(ink.one_line(error.hint or error.message), 'red')}")
            continue
        violations = checker.check(value)
        if not violations:
            return value
        output.note(f"  {paint(ink.one_line(violations[0].message), 'red')}")


async def choose(lines: Lines, question: str, answers: Mapping[str, str]) -> str:
    """One of the keys of `answers`, by its first letter or whole; a plain yes or no is understood, too."""
    paint = ink.Ink(sys.stderr).paint
    offered = ", ".join(f"{paint(key[0], 'bold')}{key[1:]}" for key in answers)
    while True:
        text = (await lines.ask(f"{question} ({offered}): ")).strip().lower()
        text = _PLAINLY.get(text, text)
        found = [key for key in answers if text and key.startswith(text)]
        if len(found) == 1:
            return found[0]
        for key, meaning in answers.items():
            output.note(f"  {key:<8} {meaning}")


def _wanted(schema: JsonObject) -> str:
    return "yes or no" if schema.get("type") == "boolean" else ink.one_line(inputs.describe(schema), 60)


def _read(name: str, text: str, schema: JsonObject) -> Json:
    if schema.get("type") == "boolean":
        word = text.strip().lower()
        if word in ("y", "yes", "true"):
            return True
        if word in ("n", "no", "false"):
            return False
        raise errors.InvalidInput(f"{name} is yes or no", code="INPUT_INVALID", hint="answer yes or no")
    return inputs.parse(name, text, schema)
