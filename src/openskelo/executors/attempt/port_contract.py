"""The contract of a node's ports, compiled once: which values are valid, and in which ways others break it.

Ports are checked as one JSON Schema of an object. Only if that fails, the values are checked port by port, to say which
one is wrong. Ports of the kinds `file` and `artifact` hold references, and what they refer to has to exist.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import cast, overload

from openskelo import errors
from openskelo.executors import artifacts
from openskelo.executors.attempt import lazy_copies, running_attempt
from openskelo.handlers import file_access
from openskelo.kernel import definition
from openskelo.kernel.json import Json, JsonObject
from openskelo.values import canonical
from openskelo.values.schema import composition, validator

#: The types of JSON values that cannot be changed.
_IMMUTABLE = frozenset({str, int, float, bool, type(None)})
_ARTIFACT = re.compile(r"artifact://[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")


class PortContract:
    """The inputs or the outputs of a node as one compiled contract.

    `word` is `input` or `output`. With `roots`, the path of a `file` port must lead into one of them. A `free` contract
    allows any values.
    """

    def __init__(
        self, ports: Sequence[definition.Port], word: str, roots: Sequence[Path] | None, *, free: bool = False
    ) -> None:
        self._ports = {port.name: port for port in ports}
        self._word = word
        self._roots = roots
        self._free = free
        self._references = tuple(port for port in ports if port.kind != "json")
        #: The names of the ports that hold references to artifacts.
        self.artifact_ports = tuple(port.name for port in ports if port.kind == "artifact")
        self.schema = _object_schema(ports)
        self.defaults = {port.name: port.default for port in ports if port.has_default}
        self._compiled = validator.compile(self.schema)
        self._compiled_ports: dict[str, validator.Schema] = {}

    def problems(self, values: JsonObject, place: file_access.Access) -> tuple[str, ...]:
        """Return every way in which `values` break the contract, without the values; empty if they keep it."""
        if self._free:
            return ()
        if violations := self._compiled.check(values):
            return self._explain(values) or tuple(violation.message for violation in violations)
        return tuple(
            problem
            for port in self._references
            if port.name in values
            for problem in self._reference_problems(port, values[port.name], place)
        )

    def item_problems(self, name: str, value: Json, place: file_access.Access) -> tuple[str, ...]:
        """Return the problems of one port with this value, all others being known to be valid."""
        port = self._ports[name]
        violations = self._violations(name, value)
        if violations or port.kind == "json":
            return tuple(violations)
        return tuple(self._reference_problems(port, value, place))

    async def missing_artifacts(
        self, values: JsonObject, index: artifacts.ArtifactIndex, run_id: str | None = None
    ) -> list[str]:
        """Return the problems of valid `values` (of a node of `run_id`) that name artifacts which no run has kept."""
        problems: list[str] = []
        for name in self.artifact_ports:
            value = values.get(name)
            if not isinstance(value, str):
                continue
            if not (_ARTIFACT.fullmatch(value) and await index.has(value, run_id)):
                problems.append(f"{self._word} {name!r}: there is no such artifact")
        return problems

    def _explain(self, values: JsonObject) -> tuple[str, ...]:
        """Return what is wrong with values that break the contract, port by port."""
        problems = [
            f"{self._word} {name!r} is required and missing"
            for name, port in self._ports.items()
            if port.required and name not in values
        ]
        problems += [f"{self._word} {name!r} is not declared" for name in values if name not in self._ports]
        violations = (self._violations(name, value) for name, value in values.items() if name in self._ports)
        problems += itertools.islice(itertools.chain.from_iterable(violations), validator.MAX_VIOLATIONS)
        return tuple(problems)

    def _violations(self, name: str, value: Json) -> list[str]:
        schema = self._compiled_ports.get(name)
        if schema is None:
            schema = self._compiled_ports[name] = validator.compile(self._ports[name].schema)
        return [self._describe(name, violation) for violation in schema.check(value)]

    def _describe(self, name: str, violation: validator.Violation) -> str:
        place = f" at {violation.path}" if violation.path else ""
        return f"{self._word} {name!r}{place}: {violation.message}"

    def _reference_problems(self, port: definition.Port, value: Json, place: file_access.Access) -> list[str]:
        """Return what is wrong with a value that refers to a file or an artifact."""
        where = f"{self._word} {port.name!r}"
        if not isinstance(value, str):
            if value is None and not port.required:
                return []
            return [f"{where}: not a reference"]
        if port.kind == "artifact":
            if _ARTIFACT.fullmatch(value):
                return []
            return [f"{where}: not of the form artifact://<uuid>"]
        try:
            if self._roots is None:
                path = file_access.absolute_path(value, place)
            else:
                path = file_access.resolve_inside(value, self._roots, place)[0]
            exists = path.is_file()
        except errors.AttemptFailed as error:
            return [f"{where}: {error.message}"]
        except OSError as error:
            return [f"{where}: {error.strerror}"]
        if exists:
            return []
        return [f"{where}: there is no such file"]


def _object_schema(ports: Sequence[definition.Port]) -> JsonObject:
    required: list[Json] = [port.name for port in ports if port.required]
    return composition.object_of(
        {port.name: port.schema for port in ports}, {"required": required, "additionalProperties": False}
    )


# The inputs of an attempt: hashed for the receipt, checked against the contract, and copied for the work.


def take_inputs(attempt: running_attempt.RunningAttempt) -> None:
    """Set the attempt's hash of its inputs and its copy of them; raise InvalidInput if they are not JSON."""
    request = attempt.request
    if request.item_index is None:
        data = canonical.dumps(request.inputs)
        attempt.inputs_hash = canonical.digest_bytes(data)
        attempt.inputs = copy_values(request.inputs, data)
        return
    visit = request.visit_inputs or running_attempt.VisitInputs(request.inputs, (request.item,))
    if not visit.hash:
        visit.hash = canonical.digest(visit.inputs)
        if not _only_reads(request.node):
            visit.encoded = lazy_copies.encode(visit.inputs)
    attempt.inputs_hash = canonical.digest({"inputs": visit.hash, "item": request.item})
    if visit.encoded is None:
        return
    attempt.inputs = lazy_copies.LazyCopies(visit.inputs, visit.encoded)
    if visit.item_name:
        attempt.inputs[visit.item_name] = copy_json(request.item)


def find_problems(
    request: running_attempt.AttemptRequest, contract: PortContract, place: file_access.Access
) -> tuple[str, ...]:
    """Return every way in which the inputs break the contract; inputs that items share are checked once a visit."""
    visit = request.visit_inputs
    if request.item_index is None or visit is None:
        return contract.problems(request.inputs, place)
    if visit.checked:
        if visit.item_name:
            return contract.item_problems(visit.item_name, request.item, place)
        return ()
    problems = contract.problems(request.inputs, place)
    visit.checked = not problems
    return problems


def copy_values(values: JsonObject, data: bytes) -> JsonObject:
    """Return a copy of `values`, whose canonical bytes are `data`, in the order of the bytes.

    Text, numbers, booleans and null cannot be changed: if there is nothing else, they are not decoded again.
    """
    if _is_flat(values):
        return _copy_flat(values)
    return cast("JsonObject", canonical.loads_canonical(data))


@overload
def copy_json(value: JsonObject) -> JsonObject: ...
@overload
def copy_json(value: Json) -> Json: ...
def copy_json(value: Json) -> Json:
    """Return a copy of `value` that its receiver may change; immutable values are returned as they are."""
    if type(value) in _IMMUTABLE:
        return value
    if isinstance(value, Mapping) and _is_flat(value):
        return _copy_flat(value)
    if isinstance(value, Mapping | list):
        return canonical.loads_canonical(canonical.dumps(value))
    return value


def _is_flat(values: JsonObject) -> bool:
    """True if no value can be changed. Encoding and decoding it takes longer than `_copy_flat`: 4 us for each item."""
    return all(type(value) in _IMMUTABLE for value in values.values())


def _copy_flat(values: JsonObject) -> JsonObject:
    return {name: values[name] for name in sorted(values)}


def _only_reads(node: definition.Node) -> bool:
    """True if the work never changes its inputs: a model, an agent, or a built-in handler."""
    handler = node.handler or "builtin:pass"
    return node.work.has_prompt or handler.startswith("builtin:")
