"""Values from the user: `k=v` and `k=@file` arguments, JSON files, and lines typed at a terminal.

The schema of a value decides how its text is read: as it is if the schema wants a string, otherwise as JSON. Lines
are read without blocking the event loop, so that the run goes on while the user types.
"""

from __future__ import annotations

import asyncio
import os
import re
import shlex
import shutil
import sys
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path

from openskelo import errors, files
from openskelo.cli import json_fields, output
from openskelo.kernel import definition
from openskelo.kernel.json import Json, JsonObject
from openskelo.values import canonical
from openskelo.values.schema import composition
from openskelo.values.schema import validator as schemas

#: The schema of a value in a .json file: anything; a text is written in quotes.
_JSON_FILE: JsonObject = {"type": ["object", "array", "number", "boolean", "null"]}
#: The most that is read of a file of values, so that a device without an end does not fill the memory.
_LARGEST_BYTES = 256 * 1024 * 1024
#: A text that starts like a JSON object, list or string, or that is a number.
_LIKE_JSON = re.compile(r"""\s*([{\["]|-?\d[\d.]*([eE][+-]?\d*)?\s*$)""")
#: Examples of JSON, by the type that `describe` returns.
_SUCH_AS = {"string[]": ', such as ["a", "b"]', "object": ', such as {"a": 1}'}


def of_run(ports: Iterable[definition.Port], pairs: Iterable[str], file: str | None) -> dict[str, Json]:
    """Return the inputs of a run: those of the file, overridden by the pairs."""
    values = from_file(file) if file else {}
    values.update(from_pairs(pairs, {port.name: port.schema for port in ports}))
    return values


def from_file(file: str, *, pair_option: str = "--input") -> dict[str, Json]:
    """Return the JSON object in `file`; `-` is standard input.

    `pair_option` is the option for single values, named in the error if `file` is a `k=v` pair.
    """
    hint = f"did you mean {pair_option} {file}?" if "=" in file else None
    text = sys.stdin.buffer.read() if file == "-" else _read(Path(file), hint)
    value = canonical.loads_untrusted(text)
    if not isinstance(value, Mapping):
        raise errors.InvalidInput(
            f"{file} holds {kind_of(value)}, not an object", code="INPUT_INVALID", hint='write {"name": value, …}'
        )
    return dict(value)


def from_pairs(pairs: Iterable[str], schemas: Mapping[str, JsonObject]) -> dict[str, Json]:
    """Return the values of `k=v` pairs; the schema of `k`, if known, says whether `v` is text or JSON."""
    values: dict[str, Json] = {}
    for pair in pairs:
        name, equals, text = pair.partition("=")
        if not equals or not name:
            raise errors.InvalidInput(
                f"{pair!r} is not of the form name=value", code="USAGE", hint="for example topic=bees"
            )
        if name in values:
            raise errors.InvalidInput(f"{name} is given twice", code="USAGE")
        values[name] = _value(name, text, schemas.get(name, {}))
    return values


def contexts(pairs: Iterable[str]) -> dict[str, Json]:
    """Return the values of `k=v` and `k=@file` pairs: texts, and the JSON value of a file that ends in `.json`."""
    pairs = list(pairs)
    schemas: dict[str, JsonObject] = {}
    for name, _, text in (pair.partition("=") for pair in pairs):
        is_file = text.startswith("@") and not text.startswith("@@")
        schemas[name] = _JSON_FILE if is_file and text.endswith(".json") else {"type": "string"}
    return from_pairs(pairs, schemas)


def parse(name: str, text: str, schema: JsonObject) -> Json:
    """Return `text` as a value of `schema`: as it is if a string is wanted, else as JSON. Raise InvalidInput."""
    if wants_text(schema):
        return canonical.admit(text)
    try:
        return canonical.loads_untrusted(text)
    except errors.InvalidInput as error:
        if error.code != "JSON_INVALID":
            raise errors.InvalidInput(f"{name}: {error.message}", code=error.code, hint=error.hint) from error
        if _takes_text(text, schema):
            return canonical.admit(text)
        wanted = describe(schema)
        hint = f"{name} wants {wanted}, written as JSON{_SUCH_AS.get(wanted, '')}"
        raise errors.InvalidInput(f"{name}: {error.message}", code="INPUT_INVALID", hint=hint) from error


def wants_text(schema: JsonObject) -> bool:
    """True if the schema allows only strings."""
    choices = schema.get("enum")
    if isinstance(choices, list | tuple) and choices:
        return all(isinstance(choice, str) for choice in choices)
    return schema.get("type") == "string"


def describe(schema: JsonObject) -> str:
    """Return the type of a schema in a few words."""
    choices = schema.get("enum")
    if isinstance(choices, list | tuple):
        if choices:
            return "one of " + ", ".join(map(str, choices))
        return "no value (the enum is empty)"
    type_name = schema.get("type")
    if type_name == "array":
        items = schema.get("items")
        inner = describe(items) if isinstance(items, Mapping) and items else ""
        return f"{inner}[]" if inner else "array"
    if isinstance(type_name, list | tuple):
        return " or ".join(map(str, type_name))
    return str(type_name) if type_name else "any JSON"


def kind_of(value: Json) -> str:
    """Return the type of a JSON value in a few words."""
    match value:
        case None:
            return "null"
        case bool():
            return "a boolean"
        case int() | float():
            return "a number"
        case str():
            return "a string"
        case Mapping():
            return "an object"
        case _:
            return "a list"


def _value(name: str, text: str, schema: JsonObject) -> Json:
    if text.startswith("@@"):
        return parse(name, text[1:], schema)
    if not text.startswith("@"):
        return parse(name, text, schema)
    data = _read(Path(text[1:]))
    try:
        return parse(name, data.decode(), schema)
    except UnicodeDecodeError as error:
        raise errors.InvalidInput(f"{name}: {text[1:]} is not UTF-8 text", code="INPUT_INVALID") from error


def _takes_text(text: str, schema: JsonObject) -> bool:
    """True if a text that is not JSON is meant as a text: if any value is allowed, `{"a"` is a broken document."""
    type_name = schema.get("type")
    if type_name is None:
        return not _LIKE_JSON.match(text)
    return isinstance(type_name, list | tuple) and "string" in type_name


def _read(path: Path, hint: str | None = None) -> bytes:
    try:
        data = files.read_given(path, _LARGEST_BYTES)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise errors.InvalidInput(f"cannot read {path}: {reason}", code="FILE_UNREADABLE", hint=hint) from error
    if len(data) > _LARGEST_BYTES:
        raise errors.InvalidInput(f"{path} is larger than {_LARGEST_BYTES} bytes", code="FILE_TOO_LARGE")
    return data


#: Other words for approve and deny.
_YES_OR_NO = {"y": "approve", "yes": "approve", "n": "deny", "no": "deny"}


def is_interactive(*, as_json: bool) -> bool:
    """True if there is a user at a terminal who can be asked."""
    return not as_json and sys.stdin.isatty() and sys.stderr.isatty()


class Lines:
    """Reads lines from standard input without blocking the event loop."""

    def __init__(self) -> None:
        self._buffer = b""

    async def ask(self, prompt: str) -> str:
        """Write `prompt` to stderr and return the typed line. Raise EOFError at the end of the input."""
        sys.stderr.write(prompt)
        sys.stderr.flush()
        while b"\n" not in self._buffer:
            chunk = await self._read_chunk()
            if not chunk and self._buffer:  # the last line of a file may have no end
                chunk = b"\n"
            if not chunk:
                sys.stderr.write("\n" if prompt else "")
                raise EOFError
            self._buffer += chunk
        line, _, self._buffer = self._buffer.partition(b"\n")
        return line.decode(errors="replace").rstrip("\r")

    async def _read_chunk(self) -> bytes:
        loop = asyncio.get_running_loop()
        ready: asyncio.Future[None] = loop.create_future()
        number = sys.stdin.fileno()
        try:
            loop.add_reader(number, lambda: None if ready.done() else ready.set_result(None))
        except PermissionError:  # a file, which can always be read
            return os.read(number, 65536)
        try:
            await ready
        finally:
            loop.remove_reader(number)
        return os.read(number, 65536)


async def ask_form(lines: Lines, form: JsonObject, suggested: JsonObject) -> dict[str, Json]:
    """Ask for every property of a form; an empty line accepts the suggested value or omits an optional one."""
    required = json_fields.list_at(form, "required")
    values: dict[str, Json] = {}
    for name in json_fields.object_at(form, "properties"):
        schema = composition.property_of(form, name)
        default = suggested.get(name, schema.get("default"))
        answer = await ask_value(lines, name, schema, default=default, required=name in required)
        if answer is not None:
            values[name] = answer
    return values


async def ask_value(lines: Lines, name: str, schema: JsonObject, *, default: Json, required: bool) -> Json:
    """Ask for a value until it matches `schema`, and return it; None if it is optional and omitted.

    A form's title stands for the name. A text can be written in the user's editor instead of on one line.
    """
    paint = output.Painter(sys.stderr).paint
    title = schema.get("title")
    label = title if isinstance(title, str) and title.strip() else name
    takes_editor = schema.get("type") == "string" and "enum" not in schema
    description = schema.get("description")
    if isinstance(description, str) and description:
        output.note(f"  {paint(output.one_line(description), 'dim')}")
    default_text = "" if required else " [leave out]"
    if default is not None:
        default_text = f" [{output.compact(default, _SHOWN_DEFAULT)}]"
    if takes_editor and isinstance(default, str) and ("\n" in default or len(default) > _SHOWN_DEFAULT):
        output.note(f"  {paint(f'{_EDIT} opens all of it in your editor', 'dim')}")
    prompt = f"  {paint(output.one_line(label), 'bold')} ({_describe_wanted(schema)}){default_text}: "
    checker = schemas.compile(schema)
    while True:
        text = await lines.ask(prompt)
        if not text and (default is not None or not required):
            return default
        try:
            if takes_editor and text.strip() == _EDIT:
                value: Json = await _edit(_find_editor(), default if isinstance(default, str) else "")
            else:
                value = _read_answer(name, text, schema)
        except errors.InvalidInput as error:
            output.note(f"  {paint(output.one_line(error.hint or error.message), 'red')}")
            continue
        violations = checker.check(value)
        if not violations:
            return value
        output.note(f"  {paint(output.one_line(violations[0].message), 'red')}")


#: What the user types to write a text in the editor.
_EDIT = ":edit"
#: How many characters of a suggested value are shown.
_SHOWN_DEFAULT = 40
#: What is opened if neither VISUAL nor EDITOR is set. Debian's `editor` is the one the user has chosen.
_EDITORS = ("editor", "nano", "vi")


def _find_editor() -> list[str]:
    """Return the command of the user's editor. Raise InvalidInput without one."""
    command = os.environ.get("VISUAL") or os.environ.get("EDITOR") or next(filter(shutil.which, _EDITORS), "")
    try:
        words = shlex.split(command)
    except ValueError:
        words = []
    if not words:
        reason = "there is no editor: set EDITOR to the command of one"
        raise errors.InvalidInput(reason, code="INPUT_INVALID", hint=reason)
    return words


async def _edit(editor: list[str], text: str) -> str:
    """Return `text` as the user has changed it in the editor (InvalidInput if the editor failed)."""
    with tempfile.TemporaryDirectory(prefix="skelo-") as folder:
        path = Path(folder) / "answer.txt"
        await asyncio.to_thread(path.write_text, text, "utf-8")
        try:
            process = await asyncio.create_subprocess_exec(*editor, str(path))
        except OSError as error:
            reason = f"{editor[0]} cannot be started: {error.strerror}"
            raise errors.InvalidInput(reason, code="INPUT_INVALID", hint=f"{reason}; set EDITOR") from error
        if await process.wait() != 0:
            reason = f"{editor[0]} ended with an error; the text was not changed"
            raise errors.InvalidInput(reason, code="INPUT_INVALID", hint=reason)
        new_text = await asyncio.to_thread(files.read_plain, path)
    # Editors end a file with a line break, which is no part of a text that had none.
    if text.endswith("\n"):
        return new_text.decode(errors="replace")
    return new_text.decode(errors="replace").rstrip("\n")


async def choose(lines: Lines, question: str, answers: Mapping[str, str]) -> str:
    """Ask until the user types one of the keys of `answers`, or its first letter; yes and no work, too."""
    paint = output.Painter(sys.stderr).paint
    choices_text = ", ".join(f"{paint(key[0], 'bold')}{key[1:]}" for key in answers)
    while True:
        text = (await lines.ask(f"{question} ({choices_text}): ")).strip().lower()
        text = _YES_OR_NO.get(text, text)
        matches = [key for key in answers if text and key.startswith(text)]
        if len(matches) == 1:
            return matches[0]
        for key, meaning in answers.items():
            output.note(f"  {key:<8} {meaning}")


def _describe_wanted(schema: JsonObject) -> str:
    if schema.get("type") == "boolean":
        return "yes or no"
    return output.one_line(describe(schema), 60)


def _read_answer(name: str, text: str, schema: JsonObject) -> Json:
    if schema.get("type") == "boolean":
        word = text.strip().lower()
        if word in ("y", "yes", "true"):
            return True
        if word in ("n", "no", "false"):
            return False
        raise errors.InvalidInput(f"{name} is yes or no", code="INPUT_INVALID", hint="answer yes or no")
    return parse(name, text, schema)
