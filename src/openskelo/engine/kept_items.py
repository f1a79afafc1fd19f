"""Which items of a foreach are those that another run has done: the same values for the same work."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import cast

from openskelo.engine import same_work
from openskelo.kernel import definition
from openskelo.kernel.json import Json, JsonObject
from openskelo.values import canonical


def match(
    node: definition.Node, inputs: JsonObject, run_inputs: Json, items: Sequence[Json], earlier: Sequence[JsonObject]
) -> tuple[int, ...] | None:
    """For each item which of the `earlier` ones it is, -1 for none; None where all of them have to be done.

    It is one that saw the same values at the same place of the list, or at any place where the work cannot know.
    """
    digest = seen_by(node, inputs, run_inputs)
    wanted = [digest(item) for item in items]
    taken = [-1] * len(items)
    left: dict[str, list[int]] = {}
    for number, one in enumerate(earlier):
        index, saw = cast("int", one["index"]), cast("str", one["inputsHash"])
        if index < len(items) and wanted[index] == saw:
            taken[index] = number
        else:
            left.setdefault(saw, []).append(number)
    if not same_work.sees_its_place(node):
        for index, saw in enumerate(wanted):
            if taken[index] < 0 and left.get(saw):
                taken[index] = left[saw].pop(0)
    return tuple(taken) if max(taken, default=-1) >= 0 else None


def seen_by(node: definition.Node, inputs: JsonObject, run_inputs: Json) -> Callable[[Json], str]:
    """What gives the digest of all that the work on an item can look at."""
    hidden = same_work.list_port(node)
    common: dict[str, Json] = {"inputs": {name: value for name, value in inputs.items() if name != hidden}}
    if same_work.may_look_at_run(node):
        common["run"] = run_inputs
    shared = canonical.digest(common)
    return lambda item: canonical.digest({"shared": shared, "item": item})
