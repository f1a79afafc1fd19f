"""Forking a foreach: which of its items are done, and are not done again."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Mapping
from typing import Literal, TypeAlias, cast

from openskelo import errors
from openskelo.engine import kept_items, resolve, same_work, wiring
from openskelo.executors import keeping
from openskelo.frozen import frozen
from openskelo.kernel import commands, definition
from openskelo.kernel.json import Json, JsonObject, Stored
from openskelo.kernel.run import NodeState, Run

#: What a fork from a foreach does again: all its items, those that were not done, or also those with these indexes.
Again: TypeAlias = Literal["all", "unfinished"] | Collection[int]


@frozen
class Wanted:
    """What a fork into `workflow` is to do again: `node`, of that the items `again` (None: as is best), and `after`.

    `anew`: nothing is taken over that nobody has asked for.
    """

    workflow: definition.Workflow
    node: str
    after: Collection[str]
    again: Again | None
    anew: bool


async def kept(
    blobs: keeping.Blobs, run: Run, wanted: Wanted, worker: resolve.Worker
) -> Mapping[str, tuple[commands.KeptItem, ...]]:
    """The items that the new run may take over, by node.

    Of a foreach that did not come to its end those that were done, if they would be done in the same way again; of the
    node that the fork begins with, all but those that are asked for. InvalidInput for items that it does not have.
    """
    _check(run, wanted)
    found: dict[str, tuple[commands.KeptItem, ...]] = {}
    for key, node in wanted.workflow.nodes.items():
        state = run.nodes.get(key)
        if node.foreach is None or state is None or state.items is None or key in wanted.after:
            continue
        again = wanted.again if key == wanted.node else None
        if again == "all" or state.edited:  # what an item saw that was done before a person's change is not known
            continue
        asked = again is not None
        if asked or (not wanted.anew and state.outcome != "succeeded" and _is_same(run, state, node, worker)):
            named = () if again in (None, "unfinished") else again
            items = [item async for item in _done(blobs, run, node, worker) if item.index not in named]
            if items:
                found[key] = tuple(items)
    return found


def _check(run: Run, wanted: Wanted) -> None:
    """Refuse a choice of items where there are none to choose from."""
    again = wanted.again
    if again is None:
        return
    key = wanted.node
    if again not in ("all", "unfinished") and (isinstance(again, str) or any(type(one) is not int for one in again)):
        raise errors.InvalidInput("not items of a foreach", code="USAGE", hint="`all`, `unfinished`, or their indexes")
    if wanted.workflow.nodes[key].foreach is None:
        raise errors.InvalidInput(
            f"{key} has no items: it is no foreach", code="FORK_INVALID", hint="fork from it without naming items"
        )
    state = run.nodes.get(key)
    if again == "all":
        return
    if state is None or state.items is None:
        where = "" if run.parent is None else f", or fork run {run.parent.get('runId')}, which may have done them"
        raise errors.InvalidInput(
            f"run {run.id} has not worked on items of {key}", code="FORK_INVALID", hint=f"do all of them{where}"
        )
    if state.edited:
        raise errors.InvalidInput(
            f"a person has changed what {key} was given: its items cannot be taken over",
            code="FORK_INVALID",
            hint="do all of them",
        )
    unknown = [] if again == "unfinished" else sorted(index for index in again if not 0 <= index < len(state.slots))
    if unknown:
        raise errors.InvalidInput(
            f"{key} has no item {', '.join(map(str, unknown))}",
            code="FORK_INVALID",
            hint=f"it has {len(state.slots)}, counted from 0",
        )


def _is_same(run: Run, state: NodeState, node: definition.Node, worker: resolve.Worker) -> bool:
    """Whether what is left would be done just as what was done.

    An effect that happens once has happened, whatever code would do it now.
    """
    before = run.workflow.nodes[node.key]
    if before != node and same_work.on_an_item(before) != same_work.on_an_item(node):
        return False
    if definition.is_once(node):
        return True
    try:
        now = worker.code(node)
    except errors.AttemptFailed:
        return False
    return not now or now == state.code


async def _done(
    blobs: keeping.Blobs, run: Run, node: definition.Node, worker: resolve.Worker
) -> AsyncIterator[commands.KeptItem]:
    """The items that were done, but for those that the node's contract refuses now."""
    before, state = run.workflow.nodes[node.key], run.nodes[node.key]
    inputs = await wiring.inputs(blobs, run, before)
    digest = kept_items.seen_by(node, inputs, await wiring.run_inputs(blobs, run, before))
    items = cast("list[Json]", await keeping.load(blobs, state.items))
    sure = before.outputs == node.outputs and all(port.kind == "json" for port in node.outputs)
    for index, slot in enumerate(state.slots):
        if slot.outputs is None or not (sure or await _stands(blobs, run, node, slot.outputs, worker)):
            continue
        yield commands.KeptItem(index=index, inputs_hash=digest(items[index]), outputs=slot.outputs)


async def _stands(
    blobs: keeping.Blobs, run: Run, node: definition.Node, stored: Stored, worker: resolve.Worker
) -> bool:
    """Whether what an item gave is what the node would be content with: files and artifacts may be gone."""
    try:
        return await worker.stands(run.id, node, cast("JsonObject", await keeping.load(blobs, stored)))
    except errors.AttemptFailed:
        return False
