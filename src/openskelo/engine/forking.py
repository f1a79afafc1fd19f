"""Fork: start a new run from a node of an earlier run, and keep the results of the nodes before it.

    parent run, node, changes ──> plan_fork ──> ForkPlan ──> CreateRun (`engine.local.Engine.fork`)

The nodes that do not depend on the first node of the fork are kept with their outputs. The first node and every node
after it are done again, on the parent's inputs with the caller's changes. Two parts of that work can be kept, too:
outputs that only a gate has not judged yet, and finished items of a foreach that did not succeed as a whole.

A fork is refused if a kept result would not belong to the new run: a kept node read an input that the fork changes
(FORK_STALE), or its outputs break the contract of a changed workflow (KEPT_INVALID).
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Mapping
from typing import Literal, TypeAlias, cast

from openskelo import errors, ops
from openskelo.engine import run_start
from openskelo.engine.commands import input_checks
from openskelo.engine.resolving import resolve, same_work
from openskelo.executors import gate_evaluation, stored_values
from openskelo.executors.inputs import node_inputs
from openskelo.history import loading
from openskelo.kernel import commands, definition
from openskelo.kernel.flows import plan as scheduler
from openskelo.kernel.flows import visits
from openskelo.kernel.json import Json, JsonObject, Stored
from openskelo.kernel.run import NodeState, Run
from openskelo.project import Project
from openskelo.stores import api
from openskelo.structs import field, frozen, replace
from openskelo.values import canonical, plan_refs
from openskelo.values.cel import plan_expression
from openskelo.values.schema import validator
from openskelo.workflows.blocks import inlining

#: The command line option that sets an input of a forked run; hints name it.
OPTION = "--set"
#: Which items of a foreach a fork does again: all, the unfinished ones, or the unfinished ones and these indexes.
ItemsToRedo: TypeAlias = Literal["all", "unfinished"] | Collection[int]


@frozen
class ForkRequest:
    """The arguments of a fork."""

    node: str
    #: Values by name: of inputs of the node, else of inputs of the run. A name that both have changes the node's input;
    #: it also changes the run's if the parent's value is missing or the changed `workflow` refuses it.
    changes: JsonObject
    workflow: definition.Workflow | None = None
    #: The fork keeps neither unjudged outputs nor items.
    no_reuse: bool = False
    #: The items that are done again.
    items: ItemsToRedo | None = None


@frozen
class ForkPlan:
    """The start state of a forked run: its workflow and inputs, and the nodes and items that it keeps."""

    workflow: definition.Workflow
    inputs: Stored
    parent: JsonObject
    kept: Mapping[str, commands.Kept]
    contexts: Stored | None = None
    variables: Mapping[str, Stored] | None = None
    unjudged: Stored | None = None
    items: Mapping[str, tuple[commands.KeptItem, ...]] = field(default_factory=dict[str, tuple[commands.KeptItem, ...]])


async def plan_fork(
    store: api.Store, run: Run, request: ForkRequest, project: Project, worker: resolve.NodeWork
) -> ForkPlan:
    """Return what a fork of `run` starts with (InvalidInput, NotFound).

    A node that stands for a sub-workflow is done again from the sub-workflow's first node. `worker` would do the work:
    it says whether its code is still the code that the parent used.
    """
    changes = request.changes
    target = request.workflow or run.workflow
    _check_request(run, target, request)
    if target.plan is not None:
        return await _plan_steps(store, run, request.node, changes, target, project)
    unjudged_outputs = None if request.no_reuse or changes else _unjudged_outputs(run, target, request.node)
    node = request.node if unjudged_outputs is not None else first_node(target, request.node)
    ports = {port.name: port for port in target.nodes[node].inputs}
    node_changes = await _node_changes(store, ports, changes, project)
    before = cast("JsonObject", await stored_values.load(store, run.inputs))
    needed_inputs = _needed_inputs(target, before)
    run_changes = {name: value for name, value in changes.items() if name not in ports or name in needed_inputs}
    kept_nodes = _kept_nodes(run, target, node)
    input_names = {port.name for port in target.inputs}
    values = {**{name: before[name] for name in before if name in input_names}, **run_changes}
    unread_inputs = _unread_inputs(target, kept_nodes, node, node_changes) - set(run_changes)
    inputs = input_checks.Inputs(target).complete(values, project, settled=unread_inputs, option=OPTION)
    await input_checks.check_artifacts(target.inputs, run_changes, store)
    _refuse_stale(target, kept_nodes, {name for name in run_changes if before.get(name) != inputs[name]})
    await _refuse_broken(store, run, target, kept_nodes)
    parent: dict[str, Json] = {"runId": run.id, "node": node}
    if node_changes:
        parent["set"] = node_changes
    return ForkPlan(
        workflow=target,
        inputs=await stored_values.store(store, inputs),
        parent=parent,
        kept=kept_nodes,
        unjudged=unjudged_outputs,
        items=await _kept_items(store, run, target, replace(request, node=node), worker),
    )


def first_node(workflow: definition.Workflow, node: str) -> str:
    """Return the node with which `node` starts: itself, or the entry of the sub-workflow that it stands for."""
    entry = inlining.entry(node)
    return entry if entry in workflow.nodes else node


def _check_request(run: Run, target: definition.Workflow, request: ForkRequest) -> None:
    """Raise InvalidInput (FORK_INVALID) or NotFound for a fork that cannot be."""
    node = request.node
    if run.graph_state is not None or target.live:
        raise errors.InvalidInput("a live graph is not forked", code="FORK_INVALID", hint="start another one")
    if node not in target.nodes:
        raise errors.NotFound(
            f"there is no node {node} in {target.name}", code="NODE_NOT_FOUND", hint=f"it has {', '.join(target.nodes)}"
        )
    if (target.plan is None) != (run.plan_state is None):
        raise errors.InvalidInput("a plan is forked as a plan, and blocks as blocks", code="FORK_INVALID")
    if target.plan is not None and request.items is not None:
        raise errors.InvalidInput("a plan has no foreach", code="FORK_INVALID", hint="fork it without naming items")


# -- changed inputs ---------------------------------------------------------------------------------------------------


async def _node_changes(
    store: api.Store, ports: Mapping[str, definition.Port], changes: JsonObject, project: Project
) -> JsonObject:
    """Return the changes of the node's inputs; raise InvalidInput if one breaks the node's contract."""
    node_changes = {name: value for name, value in changes.items() if name in ports}
    for name, value in node_changes.items():
        violations = validator.compile(ports[name].schema).check(value)
        if violations:
            raise errors.InvalidInput(f"{name}{violations[0].path}: {violations[0].message}", code="INPUT_INVALID")
    input_checks.check_references(ports.values(), node_changes, project)
    await input_checks.check_artifacts(ports.values(), node_changes, store)
    return node_changes


def _needed_inputs(target: definition.Workflow, before: JsonObject) -> set[str]:
    """Return the inputs of the workflow for which the parent has no value, or one that the workflow refuses."""
    return {
        port.name
        for port in target.inputs
        if port.name not in before or validator.compile(port.schema).check(before[port.name])
    }


def _unread_inputs(
    workflow: definition.Workflow, kept: Mapping[str, commands.Kept], node: str, node_changes: JsonObject
) -> set[str]:
    """Return the run's inputs that the new run never reads: only kept nodes did, or changed inputs of `node`."""
    read = {
        binding.port
        for key, ahead in workflow.nodes.items()
        for name, binding in ahead.bindings.items()
        if key not in kept and not binding.node and not (key == node and name in node_changes)
    }
    return {port.name for port in workflow.inputs} - read


# -- kept nodes -------------------------------------------------------------------------------------------------------


def _kept_nodes(run: Run, workflow: definition.Workflow, node: str) -> dict[str, commands.Kept]:
    """Return the finished nodes that do not depend on `node`; their sources are kept, too."""
    redone = _node_and_later(definition.build_dependencies(workflow), node)
    kept_nodes: dict[str, commands.Kept] = {}
    for key, state in run.nodes.items():
        if key in redone or key not in workflow.nodes or state.outcome not in ("succeeded", "skipped"):
            continue
        kept_nodes[key] = commands.Kept(
            outcome=state.outcome, outputs=state.outputs, items=state.item_outputs, errors=state.item_errors
        )
    return kept_nodes


def _node_and_later(shape: definition.Dependencies, node: str) -> set[str]:
    """Return the node and every node that depends on it."""
    reachable_keys = {node}
    todo = [node]
    while todo:
        for key in shape.targets[todo.pop()]:
            if key not in reachable_keys:
                reachable_keys.add(key)
                todo.append(key)
    return reachable_keys


async def _refuse_broken(
    store: api.Store, run: Run, target: definition.Workflow, kept: Mapping[str, commands.Kept]
) -> None:
    """Raise InvalidInput (KEPT_INVALID) if outputs of a kept node break a contract that the workflow has changed."""
    for key, node in kept.items():
        if node.errors and not target.nodes[key].keeps_failed_items:
            raise errors.InvalidInput(
                f"{key} is kept with {len(node.errors)} failed items, and no longer keeps failed items",
                code="KEPT_INVALID",
                hint=f"fork from {key} instead",
            )
        ports = target.nodes[key].outputs
        if node.outcome == "skipped" or ports == run.workflow.nodes[key].outputs:
            continue
        for stored_outputs in (node.outputs,) if node.items is None else node.items:
            if stored_outputs is None and node.items is not None:
                continue  # a failed item
            breaches = input_checks.breaches(ports, cast("JsonObject", await stored_values.load(store, stored_outputs)))
            if breaches:
                raise errors.InvalidInput(
                    f"{key} is kept, and its outputs break its contract: {'; '.join(breaches)}",
                    code="KEPT_INVALID",
                    hint=f"fork from {key} instead",
                )


def _refuse_stale(workflow: definition.Workflow, kept: Mapping[str, commands.Kept], changed: set[str]) -> None:
    """Raise InvalidInput (FORK_STALE) if a kept node has read an input that the fork changes."""
    for key in kept:
        read = {binding.port for binding in workflow.nodes[key].bindings.values() if not binding.node} & changed
        if read:
            raise errors.InvalidInput(
                f"{key} is kept, and it has read the old {', '.join(sorted(read))}",
                code="FORK_STALE",
                hint=f"fork from {key} instead",
            )


def _unjudged_outputs(run: Run, workflow: definition.Workflow, node: str) -> Stored | None:
    """Return the node's outputs if no reviewer could judge them and the new run would do exactly the same work.

    The outputs of a sub-workflow are complete once all of its nodes are done: then only its end is judged.
    """
    slots = run.nodes[node].slots if node in run.nodes else []
    if len(slots) != 1 or slots[0].unjudged is None or workflow.inputs != run.workflow.inputs:
        return None
    before, now = run.workflow.nodes, workflow.nodes
    inside = [key for key in now if key.startswith(f"{node}/")]
    if _without_judging(before[node]) != _without_judging(now[node]):
        return None
    if any(before.get(key) != now[key] for key in inside):
        return None
    if now[node].foreach is not None or visits.asks_person(run, now[node]):  # a person may change the inputs
        return None
    done_keys = {key for key, state in run.nodes.items() if state.outcome in ("succeeded", "skipped")}
    can_start = done_keys.issuperset(definition.build_dependencies(workflow).sources[node])
    if can_start and gate_evaluation.can_judge_later(now[node]):
        return slots[0].unjudged
    return None


def _without_judging(node: definition.Node) -> definition.Node:
    """Return the node with only what its outputs depend on: no texts, post gates, retries or bounces."""
    return replace(
        node, label="", description="", post_gates=(), post_composition="all", retry=definition.ONE_TRY, bounces=()
    )


# -- kept items of a foreach ------------------------------------------------------------------------------------------


async def _kept_items(
    blobs: api.Blobs, run: Run, target: definition.Workflow, request: ForkRequest, worker: resolve.NodeWork
) -> Mapping[str, tuple[commands.KeptItem, ...]]:
    """Return the finished items that the new run may keep, by node (InvalidInput for items that do not exist).

    Without `request.items` these are the items of each foreach that did not succeed, if the unfinished items would be
    done in the same way. With it, the caller chooses for the first node of the fork.
    """
    _check_items(run, target, request)
    later = _node_and_later(definition.build_dependencies(target), request.node) - {request.node}
    kept_items: dict[str, tuple[commands.KeptItem, ...]] = {}
    for key, node in target.nodes.items():
        state = run.nodes.get(key)
        if node.foreach is None or state is None or state.items is None or key in later:
            continue
        redo = request.items if key == request.node else None
        if redo == "all" or state.edited:  # the log does not say what items saw that were done before a person's edit
            continue
        if redo is None and (request.no_reuse or state.outcome == "succeeded"):
            continue
        if redo is None and not _is_same_work(run, state, node, worker):
            continue
        indexes = () if redo in (None, "unfinished") else redo
        items = [item async for item in _finished_items(blobs, run, node, worker) if item.index not in indexes]
        if items:
            kept_items[key] = tuple(items)
    return kept_items


def _check_items(run: Run, target: definition.Workflow, request: ForkRequest) -> None:
    """Raise InvalidInput (USAGE, FORK_INVALID) if the first node does not have the items that the caller chooses."""
    redo = request.items
    if redo is None:
        return
    key = request.node
    if redo not in ("all", "unfinished") and (isinstance(redo, str) or any(type(index) is not int for index in redo)):
        raise errors.InvalidInput(
            "the items to do again are not given as items", code="USAGE", hint="`all`, `unfinished`, or indexes"
        )
    if target.nodes[key].foreach is None:
        raise errors.InvalidInput(
            f"{key} has no items, because it is not a foreach",
            code="FORK_INVALID",
            hint="fork from it without naming items",
        )
    state = run.nodes.get(key)
    if redo == "all":
        return
    if state is None or state.items is None:
        where = "" if run.parent is None else f", or fork run {run.parent.get('runId')}, which may have done them"
        raise errors.InvalidInput(
            f"run {run.id} has not worked on items of {key}", code="FORK_INVALID", hint=f"do all of them{where}"
        )
    if state.edited:
        raise errors.InvalidInput(
            f"a person has changed the inputs of {key}: its items cannot be kept",
            code="FORK_INVALID",
            hint="do all of them",
        )
    unknown = [] if redo == "unfinished" else sorted(index for index in redo if not 0 <= index < len(state.slots))
    if unknown:
        raise errors.InvalidInput(
            f"{key} has no item {', '.join(map(str, unknown))}",
            code="FORK_INVALID",
            hint=f"it has {len(state.slots)}, counted from 0",
        )


def _is_same_work(run: Run, state: NodeState, node: definition.Node, worker: resolve.NodeWork) -> bool:
    """True if the unfinished items would be done exactly as the finished ones were.

    A changed handler does not matter for an effect that happens once: it has happened.
    """
    before = run.workflow.nodes[node.key]
    if before != node and same_work.item_work_document(before) != same_work.item_work_document(node):
        return False
    if definition.is_once(node):
        return True
    try:
        code = worker.code_digest(node)
    except errors.AttemptFailed:
        return False
    return not code or code == state.code


async def _finished_items(
    blobs: api.Blobs, run: Run, node: definition.Node, worker: resolve.NodeWork
) -> AsyncIterator[commands.KeptItem]:
    """Yield the finished items whose outputs the node's contract still accepts."""
    before, state = run.workflow.nodes[node.key], run.nodes[node.key]
    inputs = await node_inputs.inputs(blobs, run, before)
    digest = same_work.item_digest(node, inputs, await node_inputs.run_inputs(blobs, run, before))
    items = cast("list[Json]", await stored_values.load(blobs, state.items))
    is_valid = before.outputs == node.outputs and all(port.kind == "json" for port in node.outputs)
    for index, slot in enumerate(state.slots):
        if slot.outputs is None or not (is_valid or await _are_valid(blobs, run, node, slot.outputs, worker)):
            continue
        yield commands.KeptItem(index=index, inputs_hash=digest(items[index]), outputs=slot.outputs)


async def _are_valid(
    blobs: api.Blobs, run: Run, node: definition.Node, stored: Stored, worker: resolve.NodeWork
) -> bool:
    """True if the node's contract accepts an item's outputs now: files and artifacts may be gone."""
    try:
        outputs = cast("JsonObject", await stored_values.load(blobs, stored))
        return await worker.are_outputs_valid(run.id, node, outputs)
    except errors.AttemptFailed:
        return False


# -- plans ------------------------------------------------------------------------------------------------------------


async def _plan_steps(
    store: api.Store,
    run: Run,
    node: str,
    changes: JsonObject,
    target: definition.Workflow,
    project: Project,
) -> ForkPlan:
    """Return what a fork of a plan starts with: `changes` name inputs of the run, or variables of the plan."""
    input_names = {port.name for port in target.inputs}
    run_changes = {name: value for name, value in changes.items() if name in input_names}
    variables, kept_steps = await loading.plan_state_before(store, run.id, node)
    plan_changes = {name: value for name, value in changes.items() if name not in input_names}
    _refuse_unknown(plan_changes, variables, target)
    for name, value in plan_changes.items():
        variables[name] = await stored_values.store(store, {scheduler.UNSAVED: canonical.admit(value)})
    before = cast("JsonObject", await stored_values.load(store, run.inputs))
    values = {**{name: before[name] for name in before if name in input_names}, **run_changes}
    inputs = input_checks.Inputs(target).complete(values, project, option=OPTION)
    kept_steps = {key: kept_step for key, kept_step in kept_steps.items() if key in target.nodes and key != node}
    _refuse_stale_steps(target, kept_steps, {name for name in run_changes if before.get(name) != inputs[name]})
    parent: dict[str, Json] = {"runId": run.id, "node": node}
    if plan_changes:
        parent["set"] = plan_changes
    return ForkPlan(
        workflow=target,
        inputs=await stored_values.store(store, inputs),
        parent=parent,
        kept=kept_steps,
        contexts=await run_start.fork_contexts(store, project, target, run),
        variables=variables,
    )


def _refuse_unknown(changes: JsonObject, variables: Mapping[str, Stored], target: definition.Workflow) -> None:
    """Raise InvalidInput (INPUT_UNKNOWN) for changes that name no variable of the plan."""
    saved_names = {node.step.save_as for node in target.nodes.values() if node.step is not None}
    unknown = sorted(set(changes) - set(variables) - {name for name in saved_names if name is not None})
    if unknown:
        raise errors.InvalidInput(
            f"the plan has no input and no variable {', '.join(unknown)}",
            code="INPUT_UNKNOWN",
            hint="inputs and variables of the plan can be changed",
        )


def _refuse_stale_steps(target: definition.Workflow, kept: Mapping[str, commands.Kept], changed: set[str]) -> None:
    """Raise InvalidInput (FORK_STALE) if a kept step has read an input that the fork changes."""
    for key in kept:
        read = _inputs_read(cast("definition.Step", target.nodes[key].step)) & changed
        if read:
            raise errors.InvalidInput(
                f"{key} is kept, and it has read the old {', '.join(sorted(read))}",
                code="FORK_STALE",
                hint=f"fork from {key} instead",
            )


def _inputs_read(step: definition.Step) -> set[str]:
    """Return the names of the run's inputs that a step reads, by references or in expressions."""
    names = {ref.name for _, ref in plan_refs.find(step.args, ops.free_paths(step.op)) if ref.kind == "input"}
    cond = step.args.get("cond")
    texts = (step.args.get("expr"), cond.get("expr") if isinstance(cond, Mapping) else None)
    for text in texts:
        if isinstance(text, str):
            names |= plan_expression.compile(text).names.get("input") or set()
    return names
