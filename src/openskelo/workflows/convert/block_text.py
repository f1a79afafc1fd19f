"""The texts that a block is written with: its parts as a file has them, names of ports, and values as CEL."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Mapping

from openskelo.kernel import definition
from openskelo.kernel.json import Json, JsonObject
from openskelo.values import refs

#: A name that CEL can select by; others are asked for by an index.
_PLAIN = re.compile(r"(?!(?:in|true|false|null)\Z)[A-Za-z_][A-Za-z0-9_]*\Z")


def deterministic(key: str, inputs: JsonObject, outputs: JsonObject, handler: str, config: JsonObject) -> JsonObject:
    """A block that a handler does the work of."""
    return {
        "id": key,
        "mode": "deterministic",
        "inputs": inputs,
        "outputs": outputs,
        "deterministic": {"handler": handler, "config": config},
    }


def ordered(when: str | None, after: list[str]) -> dict[str, Json]:
    """When a block runs, and after which others."""
    found: dict[str, Json] = {} if when is None else {"when": when}
    return {**found, "after": list[Json](after)} if after else found


def declared(port: definition.Port) -> JsonObject:
    """An input of the whole file."""
    return {**port.schema, "default": port.default} if port.has_default else port.schema


def budget(limits: definition.Limits) -> JsonObject:
    """What of a budget means the same in both forms: steps do not, as each form has others."""
    money = {"max_cost_usd": limits.max_cost_nanousd, "max_tool_spend_usd": limits.max_tool_nanousd}
    found: dict[str, Json] = {"max_tokens": limits.max_tokens, "max_wall_ms": limits.max_wall_ms}
    found |= {name: None if nano is None else nano / 1_000_000_000 for name, nano in money.items()}
    return {name: value for name, value in found.items() if value is not None}


def literal(value: Json) -> Json:
    """A text of a plan without its escape."""
    return value[refs.LITERAL] if isinstance(value, Mapping) and refs.LITERAL in value else value


def port(root: str) -> str:
    """The input port that stands for a variable, an input or a context of a plan."""
    kind, _, name = root.partition(":")
    return word(name) if kind == "var" else f"{kind}_{word(name)}"


def entrance(root: str, contexts: Collection[str]) -> str:
    """The workflow input that brings an input or a context: an input keeps its name unless a context has it."""
    kind, _, name = root.partition(":")
    return name if kind == "input" and name not in map(port, contexts) else port(root)


def word(name: str) -> str:
    """A name that CEL can write."""
    return name.replace("-", "_")


def plain(name: str) -> str:
    """A name as a part of an id."""
    return re.sub(r"[^A-Za-z0-9_-]", "_", name)


def constant(value: Json) -> str:
    """A value as CEL writes it."""
    return json.dumps(value, ensure_ascii=False)


def member(part: str | int) -> str:
    """The way into a value in CEL."""
    return f".{part}" if isinstance(part, str) and _PLAIN.match(part) else f"[{constant(part)}]"


def value(given: Json, value_of: Callable[[refs.Ref], str]) -> str:
    """A value with refs in it as CEL, in which `value_of` writes each ref."""
    match given:
        case str():
            ref = refs.parse(given)
            return constant(given) if ref is None else value_of(ref)
        case list():
            return f"[{', '.join(value(one, value_of) for one in given)}]"
        case Mapping():
            if refs.LITERAL in given:
                return constant(given[refs.LITERAL])
            return f"{{{', '.join(f'{constant(name)}: {value(one, value_of)}' for name, one in given.items())}}}"
        case _:
            return constant(given)


def answer(fields: list[str], optional: list[str]) -> str:
    """An object of the inputs `fields` in CEL, without those of `optional` that are not there."""
    if not optional:
        return f"{{{', '.join(f'{constant(name)}: inputs{member(name)}' for name in fields)}}}"
    name, *others = optional
    without = [one for one in fields if one != name]
    return f"has(inputs.{name}) ? {answer(fields, others)} : {answer(without, others)}"
