"""The built-in transforms: pure functions of a step's arguments. `assemble_prompt` is the one most plans begin with."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import TypeAlias

from openskelo import errors
from openskelo.executors import answer
from openskelo.kernel.json import Json, JsonObject
from openskelo.values import canonical, template

#: Makes a value of the arguments; `written` are the same with their refs still in place.
Transform: TypeAlias = Callable[[JsonObject, JsonObject], Json]

_FENCE = re.compile(r"^(`{3,}|~{3,})[^\n`]*\n(.*?)^\1[ \t]*$", re.DOTALL | re.MULTILINE)


def assemble_prompt(args: JsonObject, written: JsonObject) -> Json:
    """The task, then the instructions, then each of `refs` under its own heading and between fences, as data."""
    parts = [template.as_text(args[name]) for name in ("task", "instructions") if args.get(name) not in (None, "")]
    names = _list(written.get("refs"))
    for number, value in enumerate(_list(args.get("refs"))):
        name = names[number] if number < len(names) else None
        heading = name if isinstance(name, str) and name != value else f"part {number + 1}"
        parts.append(f"## {heading}\n\n{answer.fenced(value)}")
    return "\n\n".join(part.strip("\n") for part in parts)


def join(args: JsonObject, written: JsonObject) -> Json:  # noqa: ARG001 -- the shape of a transform
    """The texts of `refs` (other values as JSON), with `separator` between them."""
    separator = args.get("separator", "\n\n")
    return str(separator).join(template.as_text(value) for value in _list(args.get("refs")))


def pick(args: JsonObject, written: JsonObject) -> Json:  # noqa: ARG001
    """Those of `keys` that the object has."""
    found = _mapping(args.get("from_ref"))
    return {str(key): found[str(key)] for key in _list(args.get("keys")) if str(key) in found}


def merge(args: JsonObject, written: JsonObject) -> Json:  # noqa: ARG001
    """The keys of all objects; of two with the same key, the later counts."""
    merged: dict[str, Json] = {}
    for value in _list(args.get("refs")):
        merged.update(_mapping(value))
    return merged


def fill_template(args: JsonObject, written: JsonObject) -> Json:  # noqa: ARG001
    """`template` with every `{{ CEL }}` in it replaced; it sees `values`."""
    values = _mapping(args.get("values") or {})
    return template.compile(template.as_text(args.get("template")), {"values": None}).render({"values": values})


def parse_json(args: JsonObject, written: JsonObject) -> Json:  # noqa: ARG001
    """The value of a JSON text, alone or in one fence."""
    text = _text_only(args.get("from_ref"))
    try:
        return canonical.loads(_inside(text))
    except errors.InvalidInput as error:
        raise _failed(f"it is not JSON: {error.message}") from error


def unfence(args: JsonObject, written: JsonObject) -> Json:  # noqa: ARG001
    """What is inside the first fence of a text, or the text itself when it has none."""
    return _inside(_text_only(args.get("from_ref")))


BUILTIN: Mapping[str, Transform] = MappingProxyType(
    {
        "assemble_prompt": assemble_prompt,
        "join": join,
        "pick": pick,
        "merge": merge,
        "template": fill_template,
        "parse_json": parse_json,
        "unfence": unfence,
    }
)


def _inside(text: str) -> str:
    found = _FENCE.search(text)
    return found.group(2) if found else text


def _text_only(value: Json) -> str:
    if not isinstance(value, str):
        raise _failed("it is not a text")
    return value


def _list(value: Json) -> Sequence[Json]:
    return value if isinstance(value, Sequence) and not isinstance(value, str) else ()


def _mapping(value: Json) -> JsonObject:
    if not isinstance(value, Mapping):
        raise _failed("it is not an object")
    return value


def _failed(why: str) -> errors.AttemptFailed:
    return errors.AttemptFailed(why, code="TRANSFORM_FAILED", retryable=False)
