"""What an attempt takes in: its inputs, hashed, held to the contract, and copied for the work.

The items of a foreach share everything but the item: that is looked at once a visit, so that a visit of many items does
not cost the square of their number. Only a handler that somebody else wrote is given copies of it.
"""

from __future__ import annotations

from collections.abc import Callable
from types import NoneType

import orjson

from openskelo.executors import job, ports, task
from openskelo.handlers import place
from openskelo.kernel import definition
from openskelo.kernel.json import Json
from openskelo.values import canonical

#: The types of what cannot be changed, and needs no copy.
PLAIN: frozenset[type] = frozenset({str, int, float, bool, NoneType})


def take(one: job.Job) -> None:
    """Give the job the hash of its task's inputs and a copy of them (InvalidInput when they are no JSON).

    What the work does to its copy concerns nobody else. Work of our own on an item only reads, and is given no copy.
    """
    of = one.task
    if of.item_index is None:
        data = canonical.dumps(of.inputs)
        one.inputs_hash = canonical.digest_bytes(data)
        one.inputs = orjson.loads(data)
        return
    shared = of.shared or task.Shared(of.inputs, (of.item,))
    if not shared.hash:
        shared.hash = canonical.digest(shared.inputs)
        if not _only_reads(of.node):
            shared.copies = {name: _copier(value) for name, value in shared.inputs.items()}
    one.inputs_hash = canonical.digest({"inputs": shared.hash, "item": of.item})
    if shared.copies is None:
        return
    copies = {key: copy() for key, copy in shared.copies.items()}
    if shared.item_name:
        copies[shared.item_name] = of.item if type(of.item) in PLAIN else _copier(of.item)()
    one.inputs = copies


def problems(of: task.Task, contract: ports.Ports, where: place.Place) -> tuple[str, ...]:
    """Every way in which the task's inputs break the contract."""
    shared = of.shared
    if of.item_index is None or shared is None:
        return contract.problems(of.inputs, where)
    name = shared.item_name
    if shared.checked:
        return contract.problems_of(name, of.item, where) if name else ()
    found = contract.problems(of.inputs, where)
    shared.checked = not found
    if not found and not contract.artifacts:  # which may be gone by the time of the next item
        shared.holds = contract.holds_of(name) if name else ports.anything
    return found


def _only_reads(node: definition.Node) -> bool:
    """Whether the work is a model's or a built-in handler's, and not that of a step, which may call somebody else's."""
    handler = node.handler or "builtin:pass"
    return node.mode == "ai" or (handler.startswith("builtin:") and handler != "builtin:step")


def _copier(value: Json) -> Callable[[], Json]:
    """What makes copies of a value. A list or map of plain values, as foreach likes them, is copied without reading."""
    if type(value) in PLAIN:
        return lambda: value
    if isinstance(value, list) and PLAIN.issuperset(map(type, value)):
        return value.copy
    if isinstance(value, dict) and PLAIN.issuperset(map(type, value.values())):
        return value.copy
    data = canonical.dumps(value)
    return lambda: orjson.loads(data)
