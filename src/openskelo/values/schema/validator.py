"""Compile JSON Schemas and check values against them: offline, bounded in time, without values in the messages.

`jsonschema-rs` does the checking. A value may be a secret and a message is logged, so the library masks values. What
it does not bound is bounded here before a schema is compiled, because a schema may come from anywhere:

- A schema could make the library fetch something. So `$schema` must be a draft that the library has built in, and a
  reference must lead to a place in the schema itself. Nothing is ever read from the network or from a file.
- References can multiply. A definition that refers twice to the next one, which refers twice to the next, costs 2**n
  checks for n definitions, on any value. Only keywords that apply to the same value count (`$ref`, `allOf`, `if`, …):
  what goes into a part of the value is bounded by the value. See `_CheckCounter`.
- The parts of a large value, times the checks of each, take minutes, in which no other thread of the process works:
  thousands of `patternProperties` over as many thousand keys. So such a value is not valid. See `Schema._is_too_large`.
- Whether a value is valid takes linear time, but listing what is wrong tries every path through a schema that refers
  back to itself. So for a deep value of a recursive schema only "invalid" is reported. See `_count_recursions`.
"""

from __future__ import annotations

import functools
import itertools
import urllib.parse
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol, cast

import orjson

from openskelo import errors
from openskelo.kernel.json import Json
from openskelo.structs import frozen
from openskelo.values import canonical, json_pointer
from openskelo.values.schema import keywords
from openskelo.values.schema.compatibility import JsonSchema

__all__ = ["MAX_BYTES", "MAX_VIOLATIONS", "JsonSchema", "Schema", "Violation", "compile"]

#: How long a schema may be, in bytes of canonical JSON.
MAX_BYTES = 256 * 1024
#: How many violations `check` reports at most.
MAX_VIOLATIONS = 20

#: What stands in the library's messages in place of a value.
_MASK = "the value"
_MAX_MESSAGE = 500
#: How many paths through a recursive schema `check` may try to list the violations of a value.
_MAX_RECURSION = 4096
#: How many times one place of a value may be checked.
_MAX_CHECKS = 10_000
#: How many checks the parts of a value may take together: a few seconds at worst.
_MAX_WORK = 1 << 30
#: With fewer checks for each part no value that a request can hold takes too many.
_FEW_CHECKS = 64
#: How many references may follow each other.
_MAX_CHAIN = 200

_REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")
# Keywords that apply one schema, or a list of schemas, to the same value.
_ONE_SCHEMA = ("not", "if", "then", "else")
_SCHEMA_LISTS = ("allOf", "anyOf", "oneOf")
# Keywords all of whose entries are compared with each object, or with each of its keys.
_ENTRIES = ("patternProperties", "dependentRequired")
_ENTRY_CHECKS = 5  # as many as a schema with one keyword counts


@frozen
class Violation:
    """One thing wrong with a value: where (`/a/0/b`, empty for the value itself) and what, without the value."""

    path: str
    message: str


class _Kind(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def value(self) -> object: ...


class _Error(Protocol):
    @property
    def instance_path(self) -> list[str | int]: ...
    @property
    def message(self) -> str: ...
    @property
    def kind(self) -> _Kind: ...


class _Validator(Protocol):
    def is_valid(self, instance: object, /) -> bool: ...
    def iter_errors(self, instance: object, /) -> Iterable[_Error]: ...


@frozen
class Schema:
    """A compiled schema."""

    digest: str
    _validator: _Validator
    _recursions: int
    #: How often one part of a value is checked at most.
    _checks: int

    def is_valid(self, value: Json) -> bool:
        """True if `value`, in plain lists and dicts, is valid."""
        return not self._is_too_large(value) and self._validator.is_valid(value)

    def _is_too_large(self, value: Json) -> bool:
        """True if checking the parts of `value` could take more than `_MAX_WORK`; TypeError if it is not plain JSON."""
        if self._checks <= _FEW_CHECKS:
            return False
        data = orjson.dumps(value)
        parts = 1 + sum(map(data.count, (b",", b":", b"[", b"{")))  # those in texts are counted, too
        return parts * self._checks > _MAX_WORK

    def check(self, value: Json) -> tuple[Violation, ...]:
        """Return the violations of `value`, at most 20; an empty tuple when it is valid.

        Raise `InvalidInput` with a code of `canonical.admit` when `value` is not JSON at all.
        """
        try:
            is_valid = self.is_valid(value)
        except (ValueError, TypeError):
            # Not in plain lists and dicts, or not JSON: `admit` converts it or raises.
            value = canonical.admit(value)
            is_valid = self.is_valid(value)
        if is_valid:
            return ()
        if self._is_too_large(value):
            return (Violation(path="", message="the value is too large to be checked by this schema"),)
        if self._recursions > 1 and self._recursions ** _depth(value) > _MAX_RECURSION:
            return (
                Violation(path="", message="the value does not match the schema; it nests too deeply to say where"),
            )
        failures = itertools.islice(self._validator.iter_errors(value), MAX_VIOLATIONS)
        return tuple(
            Violation(path=json_pointer.of(error.instance_path), message=_message(error)) for error in failures
        )


def _depth(value: Json) -> int:
    match value:
        case str():
            return 0
        case Mapping():
            return 1 + max(map(_depth, value.values()), default=0)
        case Sequence():
            return 1 + max(map(_depth, value), default=0)
        case _:
            return 0


def _message(error: _Error) -> str:
    """Return the message of an error; for alternatives also the error of each, because the author must fix one."""
    message = _own_message(error)
    branches = cast("list[list[_Error]]", error.kind.value) if error.kind.name in ("anyOf", "oneOf") else []
    reasons = [
        f"{json_pointer.of(branch[0].instance_path)} {_own_message(branch[0])}".strip() for branch in branches if branch
    ]
    if reasons:
        message = f"{message}: {'; or '.join(reasons)}"
    if len(message) <= _MAX_MESSAGE:
        return message
    return message[: _MAX_MESSAGE - 3] + "..."


def _own_message(error: _Error) -> str:
    """Return the library's message, but with every value that an `enum` allows: the reader has to choose one."""
    allowed_values = cast("list[Json]", error.kind.value) if error.kind.name == "enum" else None
    if allowed_values == []:
        return f"{_MASK} is refused, as any would be: the `enum` is empty"
    if allowed_values is None or len(allowed_values) < 4:  # the library itself lists up to three
        return error.message
    *other_values, last = (orjson.dumps(value).decode() for value in allowed_values)
    message = f"{_MASK} is not one of {', '.join(other_values)} or {last}"
    if len(message) <= _MAX_MESSAGE:
        return message
    return error.message


def compile(schema: JsonSchema) -> Schema:  # noqa: A001 -- read as `schema.compile`
    """Return the compiled `schema`, cached by content; raise `InvalidInput` SCHEMA_INVALID if it is not valid.

    `$ref` reaches only into the schema itself; `format` is asserted; `pattern` takes linear time, without look-around.
    """
    try:
        checked_schema = canonical.admit(schema)
        data = canonical.dumps(checked_schema)
    except errors.InvalidInput as error:
        raise _invalid(error.message) from None
    return _compile(data)


@functools.lru_cache(maxsize=1024)
def _compile(data: bytes) -> Schema:
    import jsonschema_rs  # noqa: PLC0415 -- it would slow every start

    if len(data) > MAX_BYTES:
        raise _invalid(f"it has more than {MAX_BYTES} bytes")
    if data[:1] not in (b"{", b"t", b"f"):
        raise _invalid("a schema is an object, true or false")
    schema = cast("dict[str, Any] | bool", canonical.loads_canonical(data))
    if reason := _draft_problem(schema) or _reference_problem(schema):
        raise _invalid(reason)
    try:
        # First without the mask: a schema is its author's own text, so the message may quote it.
        # Both calls refuse what `_draft_problem` and `_reference_problem` have refused already: without a registry
        # the first one would fetch an unknown `$schema`, from the network or from a file.
        jsonschema_rs.meta.validate(schema, registry=jsonschema_rs.Registry([]))
        validator = jsonschema_rs.validator_for(
            schema,
            validate_formats=True,
            offline=True,
            mask=_MASK,
            pattern_options=jsonschema_rs.RegexOptions(),
        )
    except jsonschema_rs.ValidationError as error:
        where = json_pointer.of(error.instance_path) or "/"
        raise _invalid(f"{_message(error)} (at {where})".replace(_MASK, "it")) from None
    except (ValueError, jsonschema_rs.ReferencingError) as error:
        raise _invalid(str(error)) from None
    return Schema(
        digest=canonical.digest_bytes(data),
        _validator=cast(_Validator, validator),
        _recursions=_count_recursions(schema),
        _checks=_count_checks(schema),
    )


def _invalid(reason: str) -> errors.InvalidInput:
    return errors.InvalidInput(
        f"not a valid JSON Schema: {reason}",
        code="SCHEMA_INVALID",
        hint="draft 2020-12 (leave $schema out); $ref only within the schema; pattern without look-around",
    )


def _draft_problem(schema: object) -> str | None:
    """Return which `$schema` is not a draft that the library has built in; None when all are."""
    for part in _all_schemas(schema):
        identifier = part.get("$schema")
        if isinstance(identifier, str) and not keywords.is_known_draft(identifier):
            return f"$schema {identifier[:100]!r} is not a known draft, and nothing is fetched"
    return None


def _reference_problem(schema: object) -> str | None:
    """Return why checking by `schema` may cost too much, or which reference leads out of it; None when all is well."""
    targets = dict(_reference_targets(schema))
    for part in _all_schemas(schema):
        for reference in _references(part):
            if reference not in targets:
                return f"$ref {reference!r} is not in the schema itself (write '#/$defs/name' or '#anchor')"
    if _count_checks(schema) > _MAX_CHECKS:
        return f"its references multiply: one value could be checked more than {_MAX_CHECKS} times"
    return None


def _count_checks(schema: object) -> int:
    """Return how often one part of a value is checked at most, or something above `_MAX_CHECKS`."""
    counter = _CheckCounter(dict(_reference_targets(schema)))
    return max(map(counter.count, _all_schemas(schema)), default=1)


class _CheckCounter:
    """Counts how many schemas are tried on one value, for each schema that the value is first checked against."""

    def __init__(self, targets: Mapping[str, object]) -> None:
        self._targets = targets
        self._counts: dict[int, int] = {}
        self._path: set[int] = set()

    def count(self, schema: object) -> int:
        """Return the upper bound; a schema that leads back to itself counts once, as the library detects that."""
        identity = id(schema)
        if not isinstance(schema, Mapping) or identity in self._path:
            return 1
        if identity in self._counts:
            return self._counts[identity]
        if len(self._path) > _MAX_CHAIN:
            return _MAX_CHECKS + 1
        self._path.add(identity)
        total = 1
        for other in self._schemas_of_same_value(cast("Mapping[str, object]", schema)):
            total = min(total + self.count(other), _MAX_CHECKS + 1)
        for keyword in _ENTRIES:
            entries = cast("Mapping[str, object]", schema).get(keyword)
            if isinstance(entries, Mapping):
                total = min(total + _ENTRY_CHECKS * len(cast("Mapping[str, object]", entries)), _MAX_CHECKS + 1)
        self._path.discard(identity)
        self._counts[identity] = total
        return total

    def _schemas_of_same_value(self, schema: Mapping[str, object]) -> Iterator[object]:
        """Yield the schemas that `schema` applies to the same value."""
        for reference in _references(schema):
            yield self._targets.get(reference)
        for keyword in _ONE_SCHEMA:
            yield schema.get(keyword)
        for keyword in _SCHEMA_LISTS:
            branches = schema.get(keyword)
            if isinstance(branches, list):
                yield from cast("list[object]", branches)
        dependents = schema.get("dependentSchemas")
        if isinstance(dependents, Mapping):
            yield from cast("Mapping[str, object]", dependents).values()


def _count_recursions(schema: object) -> int:
    """Return how many references lead back to themselves: the base of the work of listing a deep value's violations."""
    targets = dict(_reference_targets(schema))
    edges: dict[int, set[int]] = {}
    references: list[tuple[int, int]] = []
    for part in _all_schemas(schema):
        edges[id(part)] = {id(child) for child in _child_schemas(part)}
        references += [(id(part), id(targets.get(reference))) for reference in _references(part)]
    for source, target in references:
        edges[source].add(target)
    reversed_edges: dict[int, set[int]] = {node: set() for node in edges}
    for source, nodes in edges.items():
        for node in nodes & reversed_edges.keys():
            reversed_edges[node].add(source)
    cyclic = _reaching_a_cycle(edges) & _reaching_a_cycle(reversed_edges)
    return sum(source in cyclic and target in cyclic for source, target in references)


def _reaching_a_cycle(edges: Mapping[int, set[int]]) -> set[int]:
    """Return the nodes from which a cycle can be reached: those left after dead ends are removed again and again."""
    sources: dict[int, list[int]] = {}
    for node, targets in edges.items():
        for target in targets:
            sources.setdefault(target, []).append(node)
    open_targets = {node: len(targets & edges.keys()) for node, targets in edges.items()}
    dead_ends = [node for node, count in open_targets.items() if count == 0]
    for dead_end in dead_ends:
        for source in sources.get(dead_end, ()):
            open_targets[source] -= 1
            if open_targets[source] == 0:
                dead_ends.append(source)
    return edges.keys() - set(dead_ends)


def _references(schema: Mapping[str, object]) -> Iterator[str]:
    for keyword in _REFERENCES:
        reference = schema.get(keyword)
        if isinstance(reference, str):
            yield urllib.parse.unquote(reference)


def _all_schemas(value: object) -> Iterator[Mapping[str, object]]:
    """Yield every object within `value` that can be a schema, innermost first."""
    if isinstance(value, Mapping):
        schema = cast("Mapping[str, object]", value)
        for child in _child_schemas(schema):
            yield from _all_schemas(child)
        yield schema


def _child_schemas(schema: Mapping[str, object]) -> Iterator[Mapping[str, object]]:
    """Yield the objects directly below `schema`, in lists too."""
    for _, content in keywords.child_values(schema):
        yield from _objects(content)


def _objects(value: object) -> Iterator[Mapping[str, object]]:
    """Yield `value` if it is an object, or the objects in it if it is a list, or lists of lists."""
    if isinstance(value, Mapping):
        yield cast("Mapping[str, object]", value)
    elif isinstance(value, list):
        for item in cast("list[object]", value):
            yield from _objects(item)


def _reference_targets(value: object, pointer: str = "#") -> Iterator[tuple[str, object]]:
    """Yield what `$ref` may name within the schema: JSON pointers, anchors and ids, each with its schema.

    Data is not among them: what looks like a schema in there was not checked as one.
    """
    yield pointer, value
    if isinstance(value, Mapping):
        schema = cast("Mapping[str, object]", value)
        for keyword in ("$anchor", "$dynamicAnchor"):
            if isinstance(name := schema.get(keyword), str):
                yield f"#{name}", schema
        if isinstance(name := schema.get("$id"), str):
            yield name, schema
        for names, item in keywords.child_values(schema):
            yield from _reference_targets(item, pointer + json_pointer.of(names))
    elif isinstance(value, list):
        for index, item in enumerate(cast("list[object]", value)):
            yield from _reference_targets(item, f"{pointer}/{index}")
