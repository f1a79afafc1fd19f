"""What a node is given: bindings, items and defaults turned into its inputs, and an attempt into a task."""

from __future__ import annotations

import asyncio
import functools
import itertools
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from openskelo import errors
from openskelo.executors import keeping, task
from openskelo.frozen import replace
from openskelo.kernel import definition
from openskelo.kernel.json import Json, JsonObject
from openskelo.kernel.run import InFlight, Run

if TYPE_CHECKING:
    from openskelo.executors import purse as purses


def is_trouble(error: errors.OpenSkeloError) -> bool:
    """Whether an error is about the store's means (room, locks) and not about the run: it may be gone next time."""
    return isinstance(error, errors.StoreError) and not isinstance(error, errors.Corrupt)


async def outputs(blobs: keeping.Blobs, run: Run, key: str) -> JsonObject:
    """A finished node's outputs; those of a foreach are lists, in the order of its items, and empty without any.

    What an item has not given is null there, also if no item has given it.
    """
    node = run.nodes[key]
    if node.item_outputs is None:
        stored = node.outputs
        if stored is not None and "value" in stored:
            return cast("JsonObject", stored["value"])
        return cast("JsonObject", await keeping.load(blobs, stored) or {})
    items: list[Any] = [
        stored["value"] if "value" in stored else await keeping.load(blobs, stored) for stored in node.item_outputs
    ]
    names = dict.fromkeys(port.name for port in run.workflow.nodes[key].outputs)
    names.update(dict.fromkeys(itertools.chain.from_iterable(items)))
    return {name: [item.get(name) for item in items] for name in names}


async def bound(blobs: keeping.Blobs, run: Run, node: definition.Node) -> dict[str, Json]:
    """The node's inputs by its bindings and defaults, before any transform; what has no value is absent."""
    inputs = _at_hand(run, node, {})
    if inputs is None:
        sources = {binding.node for binding in node.bindings.values()}
        inputs = _at_hand(run, node, {key: await _source(blobs, run, key) for key in sources})
    return cast("dict[str, Json]", inputs)  # with all its sources there


def _at_hand(run: Run, node: definition.Node, fetched: Mapping[str, JsonObject]) -> dict[str, Json] | None:
    """What `bound` gives if every source is fetched or held by the events themselves, as they mostly are; else None."""
    inputs: dict[str, Json] = {}
    bindings = node.bindings
    for port in node.inputs:
        name = port.name
        if name in bindings:
            binding = bindings[name]
            key = binding.node
            stored = run.nodes[key].outputs if key else run.inputs
            if stored is not None and "value" in stored:
                source: Any = stored["value"]
            elif key in fetched:
                source = fetched[key]
            else:
                return None
            if binding.port in source:
                inputs[name] = source[binding.port]
                continue
        if port.has_default:
            inputs[name] = port.default
    return inputs


async def _source(blobs: keeping.Blobs, run: Run, key: str) -> JsonObject:
    if key:
        return await outputs(blobs, run, key)
    return cast("JsonObject", await keeping.load(blobs, run.inputs))


def inputs(blobs: keeping.Blobs, run: Run, node: definition.Node) -> Awaitable[dict[str, Json]]:
    """The node's inputs as this visit sees them: transforms, edited approvals and a fork's changes applied."""
    if run.is_dag:
        return _changed(blobs, run, node)
    return (_turns() if node.step is None else _arguments())(blobs, run, node)


async def _changed(blobs: keeping.Blobs, run: Run, node: definition.Node) -> dict[str, Json]:
    state = run.nodes[node.key]
    if state.edited:
        return {**cast("JsonObject", await keeping.load(blobs, state.inputs))}
    values = await bound(blobs, run, node)
    if state.inputs is not None:
        values.update(cast("JsonObject", await keeping.load(blobs, state.inputs)))
    values.update(forked(run, node.key))
    return values


_Materialise: TypeAlias = Callable[[keeping.Blobs, Run, definition.Node], Awaitable[dict[str, Json]]]


@functools.cache
def _arguments() -> _Materialise:
    """What gives a step of a plan its inputs; loaded when first needed, as is what gives them to a turn."""
    from openskelo.engine import arguments  # noqa: PLC0415  only plans have steps

    return arguments.materialise


@functools.cache
def _arguments_at_hand() -> Callable[[Run, definition.Node], dict[str, Json] | None]:
    from openskelo.engine import arguments  # noqa: PLC0415  only plans have steps

    return arguments.at_hand


@functools.cache
def _turns() -> _Materialise:
    from openskelo.engine import turns  # noqa: PLC0415  only live graphs have turns

    return turns.materialise


def forked(run: Run, key: str) -> JsonObject:
    """What a fork changed on the node it starts from."""
    if run.parent is None or run.parent.get("node") != key:
        return {}
    return cast("JsonObject", run.parent.get("set") or {})


_MOST_VISITS = 32
_NOTHING: Mapping[str, JsonObject] = {}


class Visits:
    """What the items of a visit share, by node and visit: whoever drives a run keeps it while it is of use.

    And what all who ask models share: the run's purse.
    """

    __slots__ = ("_purse", "_reading", "known")

    def __init__(self) -> None:
        self.known: dict[tuple[str, int], task.Shared] = {}
        self._reading: asyncio.Lock | None = None
        self._purse: purses.Purse | None = None

    def purse(self, run: Run) -> purses.Purse:
        """The purse of the run."""
        if self._purse is None:
            from openskelo.executors import purse as purses  # noqa: PLC0415  only runs with limits that ask models need it

            self._purse = purses.Purse(run)
        return self._purse

    async def read(self, blobs: keeping.Blobs, run: Run, node: definition.Node) -> task.Shared:
        """Find it out, once: items that begin together wait for the first of them."""
        if self._reading is None:
            self._reading = asyncio.Lock()
        async with self._reading:
            state = run.nodes[node.key]
            found = self.known.get((node.key, state.visit))
            if found is None or found.of is not state.inputs:
                items = cast("list[Json]", await keeping.load(blobs, state.items))
                name = "" if node.foreach is None else node.foreach.name
                taken = name if any(port.name == name for port in node.inputs) else ""
                found = task.Shared(await inputs(blobs, run, node), items, taken, state.inputs)
                if ("value" not in run.inputs or node.inside) and _tells_of_run(node):
                    found.run_inputs = await run_inputs(blobs, run, node)
                if len(self.known) >= _MOST_VISITS:
                    del self.known[next(iter(self.known))]
                self.known[node.key, state.visit] = found
            return found


async def make_task(blobs: keeping.Blobs, run: Run, flight: InFlight, visits: Visits) -> task.Task:
    """Everything an executor needs to know about one attempt."""
    workflow = run.workflow
    node = workflow.nodes[flight.node]
    state = run.nodes[flight.node]
    slot = state.slots[flight.slot]
    item: Json = None
    shared: task.Shared | None = None
    if flight.item is not None and node.foreach is not None:
        shared = visits.known.get((node.key, state.visit))
        if shared is None or shared.of is not state.inputs:  # a person has changed them since then
            shared = await visits.read(blobs, run, node)
        item = shared.items[flight.item]
        values = {**shared.inputs, shared.item_name: item} if shared.item_name else shared.inputs
    else:
        values = None
        if run.course is not None:
            values = _arguments_at_hand()(run, node)
        elif run.is_dag and state.inputs is None and run.parent is None:
            values = _at_hand(run, node, _NOTHING)
        if values is None:
            values = await inputs(blobs, run, node)
    given: Any = run.inputs
    given = given["value"] if "value" in given and not node.inside else await _given(blobs, run, node, shared)
    made = task.Task(
        run_id=run.id,
        workflow_name=workflow.name,
        node=node,
        visit=flight.visit,
        attempt=flight.attempt,
        inputs=values,
        now=state.entered_at,
        item_index=flight.item,
        item=item,
        shared=shared,
        feedback=slot.feedback,
        run_inputs=given,
        plan_mode="normal" if workflow.plan is None else workflow.plan.mode,
    )
    if slot.unjudged is not None:
        made = replace(made, done=cast("JsonObject", await keeping.load(blobs, slot.unjudged)))
    return replace(made, purse=visits.purse(run)) if run.limited and _tells_of_run(node) else made


async def _given(blobs: keeping.Blobs, run: Run, node: definition.Node, shared: task.Shared | None) -> JsonObject:
    """The run's inputs where they are not at hand, for work that may look at them; else none."""
    if shared is not None:
        return shared.run_inputs
    return await run_inputs(blobs, run, node) if _tells_of_run(node) else {}


async def run_inputs(blobs: keeping.Blobs, run: Run, node: definition.Node) -> JsonObject:
    """What the node's expressions see as `run.inputs`: those of the file that it stands in."""
    if node.inside:
        return await outputs(blobs, run, node.inside)
    return cast("JsonObject", await keeping.load(blobs, run.inputs))


def _tells_of_run(node: definition.Node) -> bool:
    """Whether the node has expressions that may name the run: those of its prompt or of its gates."""
    return node.mode == "ai" or bool(node.pre_gates or node.post_gates)


def about(run: Run, run_inputs: JsonObject) -> Mapping[str, Json]:
    """What expressions see as `run`."""
    return {"id": run.id, "name": run.workflow.name, "inputs": run_inputs}
