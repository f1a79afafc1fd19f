"""The blocks that put together what a run gives, where a plan may end at several steps and give different outputs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from openskelo.kernel.json import Json, JsonObject
from openskelo.workflows.convert import block_text

#: What an emit gives: each output, and where it stands in the value of the emit's block.
EMITTED: Mapping[str, str] = {"result": "AT.result", "audit": "AT.audit"}


def picks(outputs: JsonObject) -> dict[str, str]:
    """Where each of a plan's `outputs` stands in the value of an emit that has all of their refs as its evidence."""
    found: dict[str, str] = {}
    count = 0
    for name, value in outputs.items():
        many = isinstance(value, list)
        length = len(value) if isinstance(value, list) else 1
        each = [f"AT.audit[{count + index}]" for index in range(length)]
        found[name.removesuffix("_refs").removesuffix("_ref")] = f"dyn([{', '.join(each)}])" if many else each[0]
        count += len(each)
    return found


def refs(outputs: JsonObject) -> list[Json]:
    """All refs of a plan's `outputs`, in their order."""
    return [ref for value in outputs.values() for ref in (value if isinstance(value, list) else [value])]


def blocks(
    sides: Iterable[tuple[str, Mapping[str, str]]], name: Callable[[int], str], after: list[str]
) -> tuple[list[JsonObject], JsonObject]:
    """The blocks, one for all outputs of the same endings, and the outputs of the file.

    `sides` are the blocks that end the run, each with what it gives; `name` names the n-th block.
    """
    listed = list(sides)
    groups: dict[tuple[str, ...], dict[str, Json]] = {}
    for output in dict.fromkeys(output for _, parts in listed for output in parts):
        own = {key: parts[output] for key, parts in listed if output in parts}
        groups.setdefault(tuple(own), {})[output] = _last(own)
    made: list[JsonObject] = []
    outputs: dict[str, Json] = {}
    for number, (keys, texts) in enumerate(groups.items(), 1):
        key = name(number)
        ports: JsonObject = {block_text.word(one): {"from": f"{one}.value", "required": False} for one in keys}
        block = block_text.deterministic(key, ports, dict.fromkeys(texts, "json"), "builtin:transform", {"map": texts})
        when = " || ".join(f"has(inputs.{port})" for port in ports)
        made.append({**block, **block_text.ordered(when, after)})
        outputs |= {output: f"{key}.{output}" for output in texts}
    return made, outputs


def _last(own: Mapping[str, str]) -> str:
    """What the last of several blocks gives, in CEL; null where none has."""
    text = "null"
    for key, part in own.items():
        at = f"inputs.{block_text.word(key)}"
        text = f"has({at}) ? {part.replace('AT', at)} : ({text})"
    return text
