"""Forking: a new run from a node of another one, which keeps everything that came before it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from openskelo import errors
from openskelo.engine import door, fork_items, resolve
from openskelo.executors import gate, keeping, task
from openskelo.frozen import field, frozen, replace
from openskelo.kernel import commands, definition, fresh, places
from openskelo.kernel.flows import dag
from openskelo.kernel.json import Json, JsonObject, Stored
from openskelo.kernel.run import Run
from openskelo.stores import log
from openskelo.values import schema
from openskelo.workflows import inline

#: What gives an input of a forked run on the command line.
OPTION = "--set"


@frozen
class Plan:
    """What the new run begins with."""

    workflow: definition.Workflow
    inputs: Stored
    parent: JsonObject
    kept: Mapping[str, commands.Kept]
    contexts: Stored | None = None
    variables: Mapping[str, Stored] | None = None
    unjudged: Stored | None = None
    items: Mapping[str, tuple[commands.KeptItem, ...]] = field(default_factory=fresh.a_dict)


@frozen
class Wish:
    """Where to begin, and what to change: `changes` name inputs of the node, or inputs of the run.

    One that names both is for the node, and for the run as well where that has no such input yet, or one that a changed
    `workflow` refuses. Work that only has to be judged is taken over, unless it is to be done `anew`; so are items of a
    foreach that are done, unless `items` says which are done again.
    """

    node: str
    changes: JsonObject
    workflow: definition.Workflow | None = None
    anew: bool = False
    items: fork_items.Again | None = None


async def plan(store: log.Log, run: Run, wish: Wish, project: task.Project, worker: resolve.Worker) -> Plan:
    """Which nodes are kept and what is changed. A node that is a sub-workflow is done again from its beginning.

    `worker` is who would do it.
    """
    node, changes = wish.node, wish.changes
    target = wish.workflow or run.workflow
    _admit(run, target, wish)
    if target.plan is not None:
        from openskelo.engine import fork_plan  # noqa: PLC0415  only plans need it

        return await fork_plan.plan(store, run, node, changes, target, project)
    unjudged = None if wish.anew or changes else _unjudged(run, target, node)
    node = beginning(target, node) if unjudged is None else node
    ports = {port.name: port for port in target.nodes[node].inputs}
    on_node = await _on_node(store, ports, changes, project)
    before = cast("JsonObject", await keeping.load(store, run.inputs))
    owed = _owed(target, before)
    on_run = {name: value for name, value in changes.items() if name not in ports or name in owed}
    known = {port.name for port in target.inputs}
    kept = _kept(run, target, node)
    given = {**{name: before[name] for name in before if name in known}, **on_run}
    settled = _unread(target, kept, node, on_node) - set(on_run)
    inputs = door.Inputs(target).complete(given, project, settled=settled, option=OPTION)
    await door.check_artifacts(target.inputs, on_run, store)
    _refuse_stale(target, kept, {name for name in on_run if before.get(name) != inputs[name]})
    await _refuse_broken(store, run, target, kept)
    parent: dict[str, Json] = {"runId": run.id, "node": node}
    if on_node:
        parent["set"] = on_node
    stored = await keeping.store(store, inputs)
    after = _at_or_after(dag.graph(target), node) - {node}
    wanted = fork_items.Wanted(workflow=target, node=node, after=after, again=wish.items, anew=wish.anew)
    items = await fork_items.kept(store, run, wanted, worker)
    return Plan(workflow=target, inputs=stored, parent=parent, kept=kept, unjudged=unjudged, items=items)


def _admit(run: Run, target: definition.Workflow, wish: Wish) -> None:
    """Refuse what cannot be forked so: a live graph, from a node that there is not, a plan as blocks."""
    node = wish.node
    if run.live is not None or target.live:
        raise errors.InvalidInput("a live graph is not forked", code="FORK_INVALID", hint="begin another one")
    if node not in target.nodes:
        raise errors.NotFound(
            f"there is no node {node} in {target.name}", code="NODE_NOT_FOUND", hint=f"it has {', '.join(target.nodes)}"
        )
    if (target.plan is None) != (run.course is None):
        raise errors.InvalidInput("a plan is forked as a plan, and blocks as blocks", code="FORK_INVALID")
    if target.plan is not None and wish.items is not None:
        raise errors.InvalidInput("a plan has no foreach", code="FORK_INVALID", hint="fork it without naming items")


def beginning(workflow: definition.Workflow, node: str) -> str:
    """The node with which `node` begins: itself, or the entry of the sub-workflow that it stands for."""
    entry = inline.entry(node)
    return entry if entry in workflow.nodes else node


async def _on_node(
    store: log.Log, ports: Mapping[str, definition.Port], changes: JsonObject, project: task.Project
) -> JsonObject:
    """The changes that are for the node, which keep its contract (InvalidInput)."""
    on_node = {name: value for name, value in changes.items() if name in ports}
    for name, value in on_node.items():
        found = schema.compile(ports[name].schema).check(value)
        if found:
            raise errors.InvalidInput(f"{name}{found[0].path}: {found[0].message}", code="INPUT_INVALID")
    door.check_references(ports.values(), on_node, project)
    await door.check_artifacts(ports.values(), on_node, store)
    return on_node


def _owed(target: definition.Workflow, before: JsonObject) -> set[str]:
    """The inputs of a workflow that a run's do not give, or not as it takes them."""
    return {
        port.name
        for port in target.inputs
        if port.name not in before or schema.compile(port.schema).check(before[port.name])
    }


async def _refuse_broken(
    store: log.Log, run: Run, target: definition.Workflow, kept: Mapping[str, commands.Kept]
) -> None:
    """A kept node's outputs must keep its contract, also where a changed workflow has changed that."""
    for key, taken in kept.items():
        ports = target.nodes[key].outputs
        if taken.outcome == "skipped" or ports == run.workflow.nodes[key].outputs:
            continue
        for stored in (taken.outputs,) if taken.items is None else taken.items:
            found = door.breaches(ports, cast("JsonObject", await keeping.load(store, stored)))
            if found:
                raise errors.InvalidInput(
                    f"{key} is kept, and its outputs break its contract: {'; '.join(found)}",
                    code="KEPT_INVALID",
                    hint=f"fork from {key} instead",
                )


def _refuse_stale(workflow: definition.Workflow, kept: Mapping[str, commands.Kept], changed: set[str]) -> None:
    """A kept node must not have read an input that the fork changes: its outputs would belong to another run."""
    for key in kept:
        read = {binding.port for binding in workflow.nodes[key].bindings.values() if not binding.node} & changed
        if read:
            raise errors.InvalidInput(
                f"{key} is kept, and it has read the old {', '.join(sorted(read))}",
                code="FORK_STALE",
                hint=f"fork from {key} instead",
            )


def _unread(
    workflow: definition.Workflow, kept: Mapping[str, commands.Kept], node: str, changed: JsonObject
) -> set[str]:
    """The run's inputs that nobody will read: only kept nodes did, or ports of `node` that are `changed`."""
    read = {
        binding.port
        for key, ahead in workflow.nodes.items()
        for name, binding in ahead.bindings.items()
        if key not in kept and not binding.node and not (key == node and name in changed)
    }
    return {port.name for port in workflow.inputs} - read


def _kept(run: Run, workflow: definition.Workflow, node: str) -> dict[str, commands.Kept]:
    """Finished nodes that do not depend on `node`, each with its sources kept too."""
    shape = dag.graph(workflow)
    again = _at_or_after(shape, node)
    kept: dict[str, commands.Kept] = {}
    for key, state in run.nodes.items():
        if key in again or key not in workflow.nodes or state.outcome not in ("succeeded", "skipped"):
            continue
        kept[key] = commands.Kept(outcome=state.outcome, outputs=state.outputs, items=state.item_outputs)
    return kept


def _unjudged(run: Run, workflow: definition.Workflow, node: str) -> Stored | None:
    """What the node gave, where nobody could be asked to judge it and the new run would do just the same again.

    What a sub-workflow gave is there once all of it was done: then its end alone is judged.
    """
    slots = run.nodes[node].slots if node in run.nodes else []
    if len(slots) != 1 or slots[0].unjudged is None or workflow.inputs != run.workflow.inputs:
        return None
    before, now = run.workflow.nodes, workflow.nodes
    inside = [key for key in now if key.startswith(f"{node}/")]
    if _work(before[node]) != _work(now[node]) or any(before.get(key) != now[key] for key in inside):
        return None
    asks = now[node].foreach is not None or places.asks(run, now[node])  # a person may change the inputs
    done = {key for key, state in run.nodes.items() if state.outcome in ("succeeded", "skipped")}
    begins = done.issuperset(dag.graph(workflow).sources[node])
    return slots[0].unjudged if begins and not asks and gate.can_judge_later(now[node]) else None


def _work(node: definition.Node) -> definition.Node:
    """The node without what is done about its work, and says nothing of the work itself."""
    return replace(
        node, label="", description="", post_gates=(), post_composition="all", retry=definition.ONE_TRY, bounces=()
    )


def _at_or_after(shape: dag.Graph, node: str) -> set[str]:
    found = {node}
    todo = [node]
    while todo:
        for key in shape.targets[todo.pop()]:
            if key not in found:
                found.add(key)
                todo.append(key)
    return found
