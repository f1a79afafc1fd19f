"""What an attempt takes in: its inputs, held to the contract, hashed, and copied for the work.

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Intake:
    """The hash of the inputs, the work's own copy of them, and what is wrong with them."""

    hash: str
    own: JsonObject
    problems: tuple[str, ...] = ()


def take(of: task.Task, contract: ports.Ports, where: place.Place) -> Intake:
    """The task's inputs (InvalidInput when they are no JSON at all)."""
    if of.item_index is not None:
        return _take_item(of, of.shared or task.Shared(of.inputs, (of.item,)), contract, where)
    data = canonical.dumps(of.inputs)
    return Intake(
        hash=canonical.digest_bytes(data), own=orjson.loads(data), problems=contract.problems(of.inputs, where)
    )


def _take_item(of: task.Task, shared: task.Shared, contract: ports.Ports, where: place.Place) -> Intake:
    if not shared.hash:
        shared.data = canonical.dumps(shared.inputs)
        shared.hash = canonical.digest_bytes(shared.data)
    own: dict[str, Json] = orjson.loads(shared.data)
    name = "" if of.node.foreach is None else of.node.foreach.name
    declared = name in of.inputs
    if declared:
        own[name] = orjson.loads(canonical.dumps(of.item))
    problems: tuple[str, ...] = ()
    if not shared.checked:
        problems = contract.problems(of.inputs, where)
        shared.checked = not problems
    elif declared:
        problems = contract.problems_of(name, of.item, where)
    return Intake(hash=canonical.digest({"inputs": shared.hash, "item": of.item}), own=own, problems=problems)
