"""What an attempt takes in: its inputs, hashed, held to the contract, and copied for the work.

The items of a foreach share everything but the item: that is looked at once a visit, so that a visit of many items does
not cost the square of their number.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import NoneType

import orjson

from openskelo.executors import ports, task
from openskelo.frozen import maker
from openskelo.handlers import place
from openskelo.kernel.json import Json, JsonObject
from openskelo.values import canonical

#: What cannot be changed, and needs no copy.
_PLAIN = (str, int, float, NoneType)


@dataclass(slots=True)
class Intake:
    """The inputs of one attempt: their hash, and their canonical bytes unless it is an item's, which shares them."""

    task: task.Task
    hash: str
    data: bytes = b""
    shared: task.Shared | None = None

    def problems(self, contract: ports.Ports, where: place.Place) -> tuple[str, ...]:
        """Every way in which the inputs break the contract."""
        of, shared = self.task, self.shared
        if shared is None or not shared.checked:
            found = contract.problems(of.inputs, where)
            if shared is not None:
                shared.checked = not found
            return found
        name = _item_name(of)
        return contract.problems_of(name, of.item, where) if name in of.inputs else ()

    def own(self) -> JsonObject:
        """A copy for the work: what it does to it concerns nobody else."""
        if self.shared is None:
            return orjson.loads(self.data)
        values = {name: copy() for name, copy in self.shared.copies.items()}
        name = _item_name(self.task)
        if name in self.task.inputs:
            values[name] = _copier(self.task.item)()
        return values


_intake = maker(Intake)


def take(of: task.Task) -> Intake:
    """The task's inputs (InvalidInput when they are no JSON)."""
    if of.item_index is None:
        data = canonical.dumps(of.inputs)
        return _intake(of, canonical.digest_bytes(data), data)
    shared = of.shared or task.Shared(of.inputs, (of.item,))
    if not shared.hash:
        shared.hash = canonical.digest(shared.inputs)
        shared.copies = {name: _copier(value) for name, value in shared.inputs.items()}
    digest = canonical.digest({"inputs": shared.hash, "item": of.item})
    return _intake(of, digest, shared=shared)


def _copier(value: Json) -> Callable[[], Json]:
    """What makes copies of a value. A list or map of plain values, as foreach likes them, is copied without reading."""
    if isinstance(value, _PLAIN):
        return lambda: value
    if isinstance(value, list) and all(isinstance(part, _PLAIN) for part in value):
        return value.copy
    if isinstance(value, dict) and all(isinstance(part, _PLAIN) for part in value.values()):
        return value.copy
    data = canonical.dumps(value)
    return lambda: orjson.loads(data)


def _item_name(of: task.Task) -> str:
    return "" if of.node.foreach is None else of.node.foreach.name
