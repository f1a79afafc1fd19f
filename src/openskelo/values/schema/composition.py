"""Build one JSON Schema out of several, take a part out of one, and keep the order of its fields.

Inside a larger schema `#` refers to another place. So everything that a reference leads to is moved into the `$defs` of
the result, and the reference names it there (`#/$defs/name`): the one form that validators, grammars and model APIs all
accept. `_Document` moves the definitions of one schema.

Canonical JSON sorts names, but the fields of a form are shown in the order in which their author wrote them. So a form
is stored with that order in the keyword `x-order`, which validators ignore (`mark_field_order`).
"""

from __future__ import annotations

import itertools
import re
import urllib.parse
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import cast

import orjson

from openskelo import errors
from openskelo.kernel.json import Json, JsonObject
from openskelo.values import json_pointer
from openskelo.values.schema import keywords
from openskelo.values.schema.compatibility import JsonSchema

#: Keywords that are not copied: definitions are moved, and names of places mean nothing in the result.
_NOT_COPIED = frozenset({"$id", "$schema", "$anchor", "$dynamicAnchor", "$defs", "definitions"})
_REFERENCES = ("$ref", "$dynamicRef")
#: Keywords beside a reference that do not constrain the value.
_ANNOTATIONS = frozenset(
    {"title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly", "$comment"}
)
_NOT_IN_A_NAME = re.compile(r"[^A-Za-z0-9_-]")
#: A list of names beside `properties`; a validator takes it for an annotation.
_ORDER = "x-order"


def is_self_contained(schema: JsonSchema) -> bool:
    """True if a schema has no references and nothing to refer to, so that it means the same everywhere."""
    return b'"$' not in orjson.dumps(schema)


def object_of(properties: Mapping[str, JsonObject], rest: JsonObject) -> JsonObject:
    """Return the schema of an object with these properties, each a schema by itself, and the keywords of `rest`.

    A value is valid exactly if each of its properties is valid by its own schema. Raise `InvalidInput` SCHEMA_INVALID
    for a property of an older draft, whose keywords would mean something else in the result.
    """
    definitions: dict[str, Json] = {}
    own_schemas: dict[str, Json] = {}
    for name, schema in properties.items():
        if is_self_contained(schema):
            own_schemas[name] = schema
        else:
            document = _Document(schema, name, definitions)
            document.check_draft()
            own_schemas[name] = document.extract("")
    return _with_definitions({"type": "object", "properties": own_schemas, **rest}, definitions)


def all_of(schemas: Iterable[JsonObject]) -> JsonObject:
    """Return the schema of values that are valid by every one of `schemas`."""
    definitions: dict[str, Json] = {}
    branches: list[Json] = [_move(schema, "value", definitions) for schema in schemas]
    return _with_definitions({"allOf": branches}, definitions)


def array_of(item: JsonObject, *, or_null: bool = False) -> JsonObject:
    """Return the schema of a list whose items are valid by `item`, or null if `or_null`."""
    definitions: dict[str, Json] = {}
    items = _move(item, "item", definitions)
    if or_null:
        items = {"anyOf": [items, {"type": "null"}]}
    return _with_definitions({"type": "array", "items": items}, definitions)


def property_of(schema: JsonObject, name: str) -> JsonObject:
    """Return the schema of the property `name` by itself; `{}` where `schema` says nothing about it."""
    content = _properties(schema).get(name)
    if not isinstance(content, Mapping):
        return {}
    if is_self_contained(content):
        return content
    definitions: dict[str, Json] = {}
    subschema = _Document(schema, name, definitions).extract(f"/properties/{json_pointer.token(name)}")
    draft: JsonObject = {"$schema": schema["$schema"]} if "$schema" in schema else {}
    return _with_definitions({**draft, **subschema}, definitions)


def mark_field_order(schema: JsonObject) -> JsonObject:
    """Return the schema with the order of its properties in `x-order` wherever sorting would lose it.

    An order that is marked already stays.
    """
    result = _map_children(schema, mark_field_order)
    names = list(_properties(result))
    if _ORDER in result or names == sorted(names):
        return result
    return {**result, _ORDER: cast("list[Json]", names)}


def restore_field_order(schema: JsonObject) -> JsonObject:
    """Return the schema with its properties in the order of `x-order`, where it has one."""
    result = _map_children(schema, restore_field_order)
    order, properties = result.get(_ORDER), _properties(result)
    if not isinstance(order, list) or not properties:
        return result
    first = [name for name in order if isinstance(name, str) and name in properties]
    return {**result, "properties": {name: properties[name] for name in dict.fromkeys((*first, *properties))}}


def _map_children(schema: JsonObject, change: Callable[[JsonObject], JsonObject]) -> JsonObject:
    """Return `schema` with `change` applied to the schemas of its properties, definitions and items."""
    result: dict[str, Json] = dict(schema)
    for keyword in ("properties", "$defs"):
        subschemas = result.get(keyword)
        if isinstance(subschemas, Mapping):
            result[keyword] = {
                name: change(child) if isinstance(child, Mapping) else child for name, child in subschemas.items()
            }
    items = result.get("items")
    if isinstance(items, Mapping):
        result["items"] = change(items)
    return result


def _properties(schema: JsonObject) -> JsonObject:
    properties = schema.get("properties")
    return properties if isinstance(properties, Mapping) else {}


def _move(schema: JsonObject, name: str, definitions: dict[str, Json]) -> JsonObject:
    """Return `schema` in the form that it needs inside another; add the schemas that it refers to, to `definitions`."""
    if is_self_contained(schema):
        return schema
    return _Document(schema, name, definitions).extract("")


def _with_definitions(schema: JsonObject, definitions: Mapping[str, Json]) -> JsonObject:
    """Return `schema` with the definitions that it refers to, directly or through others."""
    used_definitions: dict[str, Json] = {}
    unread: list[Json] = [schema]
    while unread:
        for name in _referenced_definitions(unread.pop()):
            if name not in used_definitions and name in definitions:
                used_definitions[name] = definitions[name]
                unread.append(used_definitions[name])
    if not used_definitions:
        return schema
    return {**schema, "$defs": {name: used_definitions[name] for name in definitions if name in used_definitions}}


def _referenced_definitions(value: Json) -> Iterator[str]:
    """Yield the name of every definition that something in `value` refers to."""
    match value:
        case Mapping():
            if isinstance(reference := value.get("$ref"), str) and reference.startswith("#/$defs/"):
                yield reference.removeprefix("#/$defs/")
            for inner in value.values():
                yield from _referenced_definitions(inner)
        case list() | tuple():
            for inner in value:
                yield from _referenced_definitions(inner)
        case _:
            return


class _Document:
    """A schema by itself, while it and what it refers to are moved into another schema with these `definitions`.

    Places in it are JSON pointers. The constructor notes every reference and every place that one can name.
    """

    def __init__(self, root: JsonObject, name: str, definitions: dict[str, Json]) -> None:
        self._root = root
        self._name = name
        self._definitions = definitions
        #: The pointers of resources (`$id`) and of anchors, and the resource that each place belongs to.
        self._resources: dict[str, str] = {"": ""}
        self._anchors: dict[tuple[str, str], str] = {}
        self._bases: dict[str, str] = {}
        self._drafts: set[str] = set()
        self._references: list[tuple[str, str]] = []
        self._scan(root, "", "")
        targets = (self._find_target(reference, base) for reference, base in self._references)
        #: The places that are referred to, with the name of their definition once they have one.
        self._definition_names = {target: "" for target in targets if target is not None}
        self._to_define: list[str] = []

    def check_draft(self) -> None:
        """Raise SCHEMA_INVALID when a part of the schema says that it is of another draft."""
        other = next((draft for draft in sorted(self._drafts) if draft.rstrip("#") != keywords.DRAFT), None)
        if other is not None:
            raise errors.InvalidInput(
                f"not a valid JSON Schema: $schema is {other[:100]!r}, but only draft 2020-12 is supported here",
                code="SCHEMA_INVALID",
                hint="remove $schema, and write the schema in draft 2020-12",
            )

    def extract(self, pointer: str) -> JsonObject:
        """Return the schema at `pointer`; if that is only a reference, the schema that it refers to."""
        schema = self._move(self._value_at(pointer), pointer)
        while self._to_define:
            target = self._to_define.pop()
            name = self._definition_names[target]
            self._definitions[name] = self._move_content(self._value_at(target), target)
        seen_pointers: set[str] = set()
        while isinstance(schema, Mapping) and isinstance(reference := schema.get("$ref"), str):
            definition = self._definitions.get(reference.removeprefix("#/$defs/"))
            has_constraints = not (schema.keys() - {"$ref"}) <= _ANNOTATIONS
            if reference in seen_pointers or not isinstance(definition, Mapping) or has_constraints:
                break
            seen_pointers.add(reference)
            schema = {**definition, **{key: value for key, value in schema.items() if key != "$ref"}}
        return schema if isinstance(schema, Mapping) else {}

    def _scan(self, value: Json, pointer: str, base: str) -> None:
        """Note everything that a reference can name, and every reference."""
        if isinstance(value, list | tuple):
            for index, item in enumerate(value):
                self._scan(item, f"{pointer}/{index}", base)
        if not isinstance(value, Mapping):
            return
        if isinstance(identifier := value.get("$id"), str):
            base = urllib.parse.urljoin(base, identifier).rstrip("#")
            self._resources[base] = pointer
        self._bases[pointer] = base
        for keyword in ("$anchor", "$dynamicAnchor"):
            if isinstance(anchor := value.get(keyword), str):
                self._anchors[base, anchor] = pointer
        if isinstance(draft := value.get("$schema"), str):
            self._drafts.add(draft)
        for keyword in _REFERENCES:
            if isinstance(reference := value.get(keyword), str):
                self._references.append((reference, base))
        for names, content in keywords.child_values(value):
            self._scan(cast(Json, content), pointer + json_pointer.of(names), base)

    def _find_target(self, reference: str, base: str) -> str | None:
        """Return the pointer of what a reference names; None when that is not in the document."""
        uri = base + reference if reference.startswith("#") else urllib.parse.urljoin(base, reference)
        resource, _, fragment = uri.partition("#")
        fragment = urllib.parse.unquote(fragment)
        if fragment and not fragment.startswith("/"):
            return self._anchors.get((resource, fragment))
        if resource not in self._resources:
            return None
        pointer = self._resources[resource] + fragment
        try:
            self._value_at(pointer)
        except LookupError:
            return None
        return pointer

    def _value_at(self, pointer: str) -> Json:
        value: Json = self._root
        for token in pointer.split("/")[1:]:
            name = json_pointer.name_of(token)
            match value:
                case Mapping():
                    value = value[name]
                case list() | tuple() if name.isdecimal():
                    value = value[int(name)]
                case _:
                    raise LookupError(pointer)
        return value

    def _move(self, value: Json, pointer: str) -> Json:
        """Return what stands for `value` in the result: a reference to a definition, if `value` is referred to."""
        if pointer in self._definition_names:
            return {"$ref": self._define(pointer)}
        return self._move_content(value, pointer)

    def _define(self, target: str) -> str:
        """Return the reference to the definition of the place `target`, which gets a name of its own if it has none."""
        name = self._definition_names.get(target)
        if not name:
            base_name = _NOT_IN_A_NAME.sub("_", target.rpartition("/")[2] or self._name)
            name = next(candidate for candidate in _numbered(base_name) if candidate not in self._definitions)
            self._definition_names[target] = name
            self._definitions[name] = True  # reserves the name; `extract` replaces it by the definition
            self._to_define.append(target)
        return f"#/$defs/{name}"

    def _move_content(self, value: Json, pointer: str) -> Json:
        if isinstance(value, list | tuple):
            return [self._move(item, f"{pointer}/{index}") for index, item in enumerate(value)]
        if not isinstance(value, Mapping):
            return value
        result: dict[str, Json] = {}
        for keyword, content in value.items():
            below = f"{pointer}/{json_pointer.token(keyword)}"
            if keyword in _REFERENCES and isinstance(content, str):
                result |= self._move_reference(keyword, content, pointer, value)
            elif keyword in keywords.DATA:
                result[keyword] = content
            elif keyword in keywords.NAMED_SCHEMAS and isinstance(content, Mapping):
                if keyword not in _NOT_COPIED:
                    result[keyword] = {
                        name: self._move(schema, f"{below}/{json_pointer.token(name)}")
                        for name, schema in content.items()
                    }
            elif not (keyword in _NOT_COPIED and isinstance(content, str)):
                result[keyword] = self._move(content, below)
        return result

    def _move_reference(self, keyword: str, reference: str, pointer: str, schema: JsonObject) -> JsonObject:
        """Return the reference as it is in the result; one that leads nowhere, or is really dynamic, unchanged."""
        target = self._find_target(reference, self._bases.get(pointer, ""))
        # In a single resource a dynamic reference can only lead to one place.
        is_fixed = keyword == "$ref" or (len(set(self._bases.values())) == 1 and "$ref" not in schema)
        if target is None or not is_fixed:
            return {keyword: reference}
        return {"$ref": self._define(target)}


def _numbered(name: str) -> Iterator[str]:
    """Yield `name`, `name2`, `name3`, …"""
    yield name
    for number in itertools.count(2):
        yield f"{name}{number}"
