"""Schemas put together into one, and taken out of one again, so that their references go on meaning what they did.

Inside a larger schema `#` is another place. So whatever a reference leads to becomes a definition of the whole, right
under its `$defs`, and the reference names it there: the one form that validators, grammars and model APIs all take.
"""

from __future__ import annotations

import re
import urllib.parse
from collections.abc import Iterable, Iterator, Mapping

import orjson

from openskelo import errors
from openskelo.kernel.json import Json, JsonObject
from openskelo.values import pointer as pointers
from openskelo.values.fit import JsonSchema

_DRAFT = "https://json-schema.org/draft/2020-12/schema"
#: What has a place of its own in the whole, or only says what a place is called.
_MOVED = frozenset({"$id", "$schema", "$anchor", "$dynamicAnchor", "$defs", "definitions"})
_REFERENCES = ("$ref", "$dynamicRef")
#: Keywords that hold data: a `$ref` in there is just a word.
_DATA = frozenset({"const", "enum", "default", "examples"})
#: Keywords that hold schemas by name: a name in there is no keyword.
_NAMED = frozenset({"properties", "patternProperties", "dependentSchemas", "$defs", "definitions"})
#: What beside a reference says nothing about the value.
_ASIDE = frozenset({"title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly", "$comment"})
_UNFIT = re.compile(r"[^A-Za-z0-9_-]")


def plain(schema: JsonSchema) -> bool:
    """Whether a schema has no references and nothing to refer to: it means the same everywhere."""
    return b'"$' not in orjson.dumps(schema)


def composed(parts: Mapping[str, JsonObject], rest: JsonObject) -> JsonObject:
    """The schema of an object with `parts` as its properties, and `rest` beside them.

    A value keeps it exactly if each of its properties keeps its own part, which is a schema by itself. `InvalidInput`
    SCHEMA_INVALID for a part of an older draft, whose keywords would mean something else in there.
    """
    definitions: dict[str, Json] = {}
    properties: dict[str, Json] = {}
    for name, part in parts.items():
        if plain(part):
            properties[name] = part
        else:
            document = _Document(part, name, definitions)
            document.demand_draft()
            properties[name] = document.taken("")
    return _with({"type": "object", "properties": properties, **rest}, definitions)


def together(schemas: Iterable[JsonObject]) -> JsonObject:
    """The schema of what keeps every one of `schemas`."""
    definitions: dict[str, Json] = {}
    every: list[Json] = [one if plain(one) else _Document(one, "value", definitions).taken("") for one in schemas]
    return _with({"allOf": every}, definitions)


def listed(one: JsonObject, *, or_null: bool = False) -> JsonObject:
    """The schema of a list whose elements each keep `one`, or may be null as well."""
    definitions: dict[str, Json] = {}
    items = one if plain(one) else _Document(one, "item", definitions).taken("")
    if or_null:
        items = {"anyOf": [items, {"type": "null"}]}
    return _with({"type": "array", "items": items}, definitions)


def part(whole: JsonObject, name: str) -> JsonObject:
    """The schema of the property `name` of `whole` by itself; `{}` where `whole` says nothing about it."""
    properties = whole.get("properties")
    found = properties.get(name) if isinstance(properties, Mapping) else None
    if not isinstance(found, Mapping) or plain(found):
        return found if isinstance(found, Mapping) else {}
    definitions: dict[str, Json] = {}
    taken = _Document(whole, name, definitions).taken(f"/properties/{pointers.token(name)}")
    own: JsonObject = {"$schema": whole["$schema"]} if "$schema" in whole else {}
    return _with({**own, **taken}, definitions)


def _with(schema: JsonObject, definitions: Mapping[str, Json]) -> JsonObject:
    """`schema` with those of the definitions that it refers to, or that these refer to."""
    used: dict[str, Json] = {}
    left: list[Json] = [schema]
    while left:
        for name in _named(left.pop()):
            if name not in used and name in definitions:
                used[name] = definitions[name]
                left.append(used[name])
    return {**schema, "$defs": {name: used[name] for name in definitions if name in used}} if used else schema


def _named(value: Json) -> Iterator[str]:
    """Every definition of the whole that something in `value` refers to."""
    match value:
        case Mapping():
            if isinstance(pointer := value.get("$ref"), str) and pointer.startswith("#/$defs/"):
                yield pointer.removeprefix("#/$defs/")
            for inner in value.values():
                yield from _named(inner)
        case list() | tuple():
            for inner in value:
                yield from _named(inner)
        case _:
            return


class _Document:
    """A schema by itself, while what it refers to is moved to the `definitions` of another."""

    def __init__(self, root: JsonObject, name: str, definitions: dict[str, Json]) -> None:
        self._root = root
        self._name = name
        self._definitions = definitions
        #: Where resources (`$id`) and anchors are, and which resource each place belongs to, by pointer.
        self._resources: dict[str, str] = {"": ""}
        self._anchors: dict[tuple[str, str], str] = {}
        self._bases: dict[str, str] = {}
        self._drafts: set[str] = set()
        self._references: list[tuple[str, str]] = []
        self._survey(root, "", "")
        targets = (self._target(reference, base) for reference, base in self._references)
        self._targets = {target: "" for target in targets if target is not None}
        self._owed: list[str] = []

    def demand_draft(self) -> None:
        """SCHEMA_INVALID when a part says that it is of another draft."""
        if other := next((draft for draft in sorted(self._drafts) if draft.rstrip("#") != _DRAFT), None):
            raise errors.InvalidInput(
                f"not a valid JSON Schema: $schema is {other[:100]!r}, and only draft 2020-12 is taken here",
                code="SCHEMA_INVALID",
                hint="leave $schema out, and write the schema as draft 2020-12 has it",
            )

    def taken(self, pointer: str) -> JsonObject:
        """What is at `pointer`; where that only refers to something else, that."""
        found = self._moved(self._at(pointer), pointer)
        while self._owed:
            target = self._owed.pop()
            name = self._targets[target]
            self._definitions[name] = self._content(self._at(target), target)
        seen: set[str] = set()
        while isinstance(found, Mapping) and isinstance(reference := found.get("$ref"), str):
            meant = self._definitions.get(reference.removeprefix("#/$defs/"))
            if reference in seen or not isinstance(meant, Mapping) or not (found.keys() - {"$ref"}) <= _ASIDE:
                break
            seen.add(reference)
            found = {**meant, **{key: value for key, value in found.items() if key != "$ref"}}
        return found if isinstance(found, Mapping) else {}

    def _survey(self, value: Json, pointer: str, base: str) -> None:
        """Note everything that a reference can name, and every reference."""
        if isinstance(value, list | tuple):
            for index, inner in enumerate(value):
                self._survey(inner, f"{pointer}/{index}", base)
        if not isinstance(value, Mapping):
            return
        if isinstance(own := value.get("$id"), str):
            base = urllib.parse.urljoin(base, own).rstrip("#")
            self._resources[base] = pointer
        self._bases[pointer] = base
        for keyword in ("$anchor", "$dynamicAnchor"):
            if isinstance(anchor := value.get(keyword), str):
                self._anchors[base, anchor] = pointer
        if isinstance(draft := value.get("$schema"), str):
            self._drafts.add(draft)
        self._references += [(name, base) for key in _REFERENCES if isinstance(name := value.get(key), str)]
        for key, inner in value.items():
            if key in _NAMED and isinstance(inner, Mapping):
                for name, one in inner.items():
                    self._survey(one, f"{pointer}/{key}/{pointers.token(name)}", base)
            elif key not in _DATA:
                self._survey(inner, f"{pointer}/{pointers.token(key)}", base)

    def _target(self, reference: str, base: str) -> str | None:
        """The pointer of what a reference names; None when that is not in the document."""
        full = base + reference if reference.startswith("#") else urllib.parse.urljoin(base, reference)
        resource, _, fragment = full.partition("#")
        fragment = urllib.parse.unquote(fragment)
        if fragment and not fragment.startswith("/"):
            return self._anchors.get((resource, fragment))
        if resource not in self._resources:
            return None
        pointer = self._resources[resource] + fragment
        try:
            self._at(pointer)
        except LookupError:
            return None
        return pointer

    def _at(self, pointer: str) -> Json:
        place: Json = self._root
        for token in pointer.split("/")[1:]:
            name = pointers.name_of(token)
            match place:
                case Mapping():
                    place = place[name]
                case list() | tuple() if name.isdecimal():
                    place = place[int(name)]
                case _:
                    raise LookupError(pointer)
        return place

    def _moved(self, value: Json, pointer: str) -> Json:
        """What stands in the whole where `value` stood: a reference, if it is somewhere referred to."""
        return {"$ref": self._define(pointer)} if pointer in self._targets else self._content(value, pointer)

    def _define(self, target: str) -> str:
        name = self._targets.get(target)
        if not name:
            wanted = _UNFIT.sub("_", target.rpartition("/")[2] or self._name)
            name = next(one for one in _spellings(wanted) if one not in self._definitions)
            self._targets[target] = name
            self._definitions[name] = True  # the name is taken; what it stands for comes when it is its turn
            self._owed.append(target)
        return f"#/$defs/{name}"

    def _content(self, value: Json, pointer: str) -> Json:
        if isinstance(value, list | tuple):
            return [self._moved(inner, f"{pointer}/{index}") for index, inner in enumerate(value)]
        if not isinstance(value, Mapping):
            return value
        found: dict[str, Json] = {}
        for key, inner in value.items():
            below = f"{pointer}/{pointers.token(key)}"
            if key in _REFERENCES and isinstance(inner, str):
                found |= self._reference(key, inner, pointer, value)
            elif key in _DATA:
                found[key] = inner
            elif key in _NAMED and isinstance(inner, Mapping):
                if key not in _MOVED:
                    found[key] = {
                        name: self._moved(one, f"{below}/{pointers.token(name)}") for name, one in inner.items()
                    }
            elif not (key in _MOVED and isinstance(inner, str)):
                found[key] = self._moved(inner, below)
        return found

    def _reference(self, key: str, name: str, pointer: str, beside: JsonObject) -> JsonObject:
        """The reference as the whole has it. One that cannot be moved stays: what it leads to is then not there."""
        target = self._target(name, self._bases.get(pointer, ""))
        # In a single resource a dynamic reference can only lead to one place.
        fixed = key == "$ref" or (len(set(self._bases.values())) == 1 and "$ref" not in beside)
        return {"$ref": self._define(target)} if target is not None and fixed else {key: name}


def _spellings(wanted: str) -> Iterator[str]:
    yield wanted
    number = 2
    while True:
        yield f"{wanted}{number}"
        number += 1
