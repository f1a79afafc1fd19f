"""Forking a plan: a new run from one of its steps, with the variables as they were when it was last entered."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from openskelo import errors
from openskelo.engine import contexts, door, forking, unfolding
from openskelo.executors import keeping, task
from openskelo.kernel import commands, definition
from openskelo.kernel.flows import plan as scheduler
from openskelo.kernel.json import Json, JsonObject, Stored
from openskelo.kernel.run import Course, Run
from openskelo.stores import log
from openskelo.values import canonical, plan_expression, refs


async def plan(
    store: log.Log, run: Run, node: str, changes: JsonObject, target: definition.Workflow, project: task.Project
) -> forking.Plan:
    """What the new run begins with: `changes` name inputs of the run, or variables of the plan."""
    known = {port.name for port in target.inputs}
    on_run = {name: value for name, value in changes.items() if name in known}
    variables, kept = await _before(store, run.id, node)
    on_plan = {name: value for name, value in changes.items() if name not in known}
    _refuse_unknown(on_plan, variables, target)
    for name, value in on_plan.items():
        variables[name] = await keeping.store(store, {scheduler.UNSAVED: canonical.admit(value)})
    before = cast("JsonObject", await keeping.load(store, run.inputs))
    given = {**{name: before[name] for name in before if name in known}, **on_run}
    inputs = door.Inputs(target).complete(given, project, option=forking.OPTION)
    kept = {key: done for key, done in kept.items() if key in target.nodes and key != node}
    _refuse_stale(target, kept, {name for name in on_run if before.get(name) != inputs[name]})
    parent: dict[str, Json] = {"runId": run.id, "node": node}
    if on_plan:
        parent["set"] = on_plan
    return forking.Plan(
        workflow=target,
        inputs=await keeping.store(store, inputs),
        parent=parent,
        kept=kept,
        contexts=await contexts.again(store, project, target, run),
        variables=variables,
    )


async def variables_before(store: log.Log, run_id: str, node: str) -> JsonObject:
    """The values of a plan's variables as they were when `node` was last entered, or as they are now."""
    variables, _ = await _before(store, run_id, node)
    return {name: scheduler.value(await keeping.load(store, stored)) for name, stored in variables.items()}


async def _before(store: log.Log, run_id: str, node: str) -> tuple[dict[str, Stored], dict[str, commands.Kept]]:
    """The variables and the finished steps as they were when `node` was last entered, or as they are now."""
    entered = 0
    variables: dict[str, Stored] = {}
    kept: dict[str, commands.Kept] = {}
    run: Run | None = None
    async for run, _ in unfolding.unfold(store, run_id):
        state = run.nodes.get(node)
        if state is not None and state.visit > entered:
            entered = state.visit
            variables, kept = _now(run)
    return (variables, kept) if entered or run is None else _now(run)


def _now(run: Run) -> tuple[dict[str, Stored], dict[str, commands.Kept]]:
    kept = {
        key: commands.Kept(outcome="succeeded", outputs=state.outputs)
        for key, state in run.nodes.items()
        if state.outcome == "succeeded" and state.outputs is not None
    }
    return dict(cast("Course", run.course).variables), kept


def _refuse_unknown(changes: JsonObject, variables: Mapping[str, Stored], target: definition.Workflow) -> None:
    saved = {node.step.save_as for node in target.nodes.values() if node.step is not None}
    unknown = sorted(set(changes) - set(variables) - {name for name in saved if name is not None})
    if unknown:
        raise errors.InvalidInput(
            f"the plan has no input and no variable {', '.join(unknown)}",
            code="INPUT_UNKNOWN",
            hint="inputs and variables of the plan can be changed",
        )


def _refuse_stale(target: definition.Workflow, kept: Mapping[str, commands.Kept], changed: set[str]) -> None:
    """A kept step must not have read an input that the fork changes: its value would belong to another run."""
    for key in kept:
        read = _inputs_read(cast("definition.Step", target.nodes[key].step)) & changed
        if read:
            raise errors.InvalidInput(
                f"{key} is kept, and it has read the old {', '.join(sorted(read))}",
                code="FORK_STALE",
                hint=f"fork from {key} instead",
            )


def _inputs_read(step: definition.Step) -> set[str]:
    found = {ref.name for _, ref in refs.find(step.op, step.args) if ref.kind == "input"}
    cond = step.args.get("cond")
    texts = (step.args.get("expr"), cond.get("expr") if isinstance(cond, Mapping) else None)
    for text in texts:
        if isinstance(text, str):
            found |= plan_expression.compile(text).names.get("input") or set()
    return found
