"""Encode a workflow as JSON and decode it: the form that a run pins, and whose hash is the workflow's hash.

The form is exact and stable: fields stand under their own names, and a field that has its default is left out. So a
new field with a default changes no stored hash. msgspec checks a document against the declared types. Three things
differ from the classes:

- `nodes` are a list, because their order counts and canonical JSON sorts the keys of a map;
- `outputs` are a map if their names are sorted, else a list of [name, binding] pairs, for the same reason;
- an empty `hash` is left out, so that the hash can be taken over the rest.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import compress
from operator import is_not
from typing import TypeVar, cast

import msgspec
from msgspec import structs

from openskelo import errors
from openskelo.kernel import definition
from openskelo.kernel.json import Json, JsonObject
from openskelo.structs import fields, replace

_T = TypeVar("_T")

_SCALARS = frozenset({str, int, float, bool, type(None)})


def encode(workflow: definition.Workflow) -> JsonObject:
    """Return the workflow as JSON, without the fields that have their default and without an empty `hash`."""
    document = _encode_fields(cast("msgspec.Struct", replace(workflow, nodes={})))
    document["nodes"] = [_encode(node) for node in workflow.nodes.values()]
    if workflow.outputs and not _is_sorted(workflow.outputs):
        document["outputs"] = [[name, _encode(binding)] for name, binding in workflow.outputs.items()]
    if not workflow.hash:
        del document["hash"]
    return document


def seal(workflow: definition.Workflow, digest: Callable[[JsonObject], str]) -> definition.Workflow:
    """Return the workflow with its hash, which `digest` computes from its JSON form."""
    return replace(workflow, hash=digest(encode(replace(workflow, hash=""))))


def encode_node(node: definition.Node) -> JsonObject:
    """Return one node as JSON: two nodes with equal JSON do the same work."""
    return cast("JsonObject", _encode(node))


def decode_node(document: JsonObject) -> definition.Node:
    """Return the node that `encode_node` has encoded; raise InvalidInput DEFINITION_INVALID for other documents."""
    return _convert(document, definition.Node)


def decode(document: JsonObject) -> definition.Workflow:
    """Return the workflow that `encode` has encoded; raise InvalidInput DEFINITION_INVALID for other documents."""
    nodes = _convert(document.get("nodes"), list[definition.Node])
    rest: dict[str, Json] = {"hash": "", **document, "nodes": {}, "outputs": {}}
    workflow = _convert(rest, definition.Workflow)
    outputs = _decode_outputs(document.get("outputs", {}))
    return replace(workflow, nodes={node.key: node for node in nodes}, outputs=outputs)


def _decode_outputs(document: Json) -> Mapping[str, definition.Binding]:
    if not isinstance(document, list):
        return _convert(document, dict[str, definition.Binding])
    outputs = dict(_convert(document, list[tuple[str, definition.Binding]]))
    if len(outputs) < len(document) or _is_sorted(outputs):
        raise _invalid("the list of outputs is sorted, or names an output twice")
    return outputs


def _convert(document: Json, cls: type[_T]) -> _T:
    try:
        return msgspec.convert(document, cls)
    except msgspec.ValidationError as error:
        raise _invalid(str(error)) from None


def _invalid(reason: str) -> errors.InvalidInput:
    return errors.InvalidInput(f"not an encoded workflow: {reason}", code="DEFINITION_INVALID")


def _encode(value: object) -> Json:
    # A workflow has many small parts: asking for the exact types first makes starting a large one four times as fast.
    kind = type(value)
    if kind in _SCALARS:
        return cast("Json", value)
    if kind is tuple:
        return [_encode(part) for part in cast("tuple[object, ...]", value)]
    if isinstance(value, msgspec.Struct):
        return _encode_fields(value)
    if kind is dict or isinstance(value, Mapping):
        return {name: _encode(part) for name, part in cast("Mapping[str, object]", value).items()}
    return cast("Json", value)


def _encode_fields(struct: msgspec.Struct) -> dict[str, Json]:
    """Return the fields of a value that differ from their default. Most are the default: C code passes over these."""
    names, defaults = _defaults(type(struct))
    values = structs.astuple(struct)
    changed = compress(zip(names, values, defaults, strict=True), map(is_not, values, defaults))
    return {name: _encode(value) for name, value, default in changed if value != default}


@functools.cache
def _defaults(cls: type) -> tuple[Sequence[str], Sequence[object]]:
    """Return the names of the fields and their defaults; nothing equals that of a required field."""
    described = fields(cls)
    return (
        [field.name for field in described],
        [object() if field.required else field.default for field in described],
    )


def _is_sorted(names: Iterable[str]) -> bool:
    names_list = list(names)
    return names_list == sorted(names_list)
