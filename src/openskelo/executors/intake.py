"""What an attempt takes in: its inputs, hashed, held to the contract, and copied for the work.

The items of a foreach share everything but the item: that is looked at once a visit, so that a visit of many items does
not cost the square of their number.
"""

from __future__ import annotations

from dataclasses import dataclass

import orjson

from openskelo.executors import ports, task
from openskelo.handlers import place
from openskelo.kernel.json import Json, JsonObject
from openskelo.values import canonical


@dataclass(slots=True)
class Intake:
    """The inputs of one attempt: their hash, and `data`, the canonical bytes of what is not an item."""

    task: task.Task
    hash: str
    data: bytes
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
        values: dict[str, Json] = orjson.loads(self.data)
        name = _item_name(self.task)
        if self.shared is not None and name in self.task.inputs:
            values[name] = orjson.loads(canonical.dumps(self.task.item))
        return values


def take(of: task.Task) -> Intake:
    """The task's inputs (InvalidInput when they are no JSON)."""
    if of.item_index is None:
        data = canonical.dumps(of.inputs)
        return Intake(of, canonical.digest_bytes(data), data)
    shared = of.shared or task.Shared(of.inputs, (of.item,))
    if not shared.hash:
        shared.data = canonical.dumps(shared.inputs)
        shared.hash = canonical.digest_bytes(shared.data)
    digest = canonical.digest({"inputs": shared.hash, "item": of.item})
    return Intake(of, digest, shared.data, shared)


def _item_name(of: task.Task) -> str:
    return "" if of.node.foreach is None else of.node.foreach.name
