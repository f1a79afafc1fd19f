"""Two thousand plans by chance: the engine does with each exactly what the naive interpreter does, and no more.

A seed that fails is played again with `play([seed])`.
"""

from __future__ import annotations

import asyncio
import copy
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from random import Random
from typing import Any, cast

import pytest

import openskelo
from openskelo.executors.inputs import node_inputs
from openskelo.history import loading, verify
from openskelo.history.run_document import RunDocument
from openskelo.kernel.flows import plan as scheduler
from openskelo.kernel.json import JsonObject
from openskelo.kernel.run import Run
from openskelo.providers import scripted
from openskelo.record import receipts
from openskelo.stores import memory
from tests.engine import random_plans, reference_plan

PLANS = 2000
PARTS = 8
INPUTS: dict[str, Any] = {"i": {"deep": [1]}}
CONTEXTS: dict[str, Any] = {"ctx:c": [0, {"x": "var:a"}], "snap:s": "text"}


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
def test_the_engine_and_the_reference_agree(part: int, tmp_path: Path) -> None:
    endings, doubts = asyncio.run(_play(tmp_path, range(part, PLANS, PARTS)))
    assert sum(endings.values()) == PLANS // PARTS
    assert min(endings[ending] for ending in ("ok", "failed", "budget_exceeded", "denied", "escalated")) > 1
    assert doubts


def play(seeds: Iterable[int]) -> None:
    """Play these seeds again."""
    asyncio.run(_play(Path.cwd(), seeds))


async def _play(root: Path, seeds: Iterable[int]) -> tuple[Counter[str], int]:
    """How the runs ended, and of how many effects somebody was asked whether they happened."""
    project = openskelo.Project(root=root, data_dir=root / ".skelo")
    store = memory.MemoryStore(memory.MemoryData())
    performer = random_plans.Scripted(project=project, blobs=store, provider=scripted.Scripted({}))
    performer.worlds = {}
    engine = openskelo.Engine(project, store, performer)
    engine._driver.start()  # pyright: ignore[reportPrivateUsage] -- what `open` does with a performer of its own
    async with engine:
        endings = Counter[str]()
        for seed in seeds:
            chance = Random(seed)
            plan = random_plans.plan(chance)
            world = random_plans.world(chance, plan)
            expected = reference_plan.Interpreter(plan, copy.deepcopy(world), INPUTS, CONTEXTS).run()
            found = await _drive(engine, performer, plan, world)
            assert found == expected, f"seed {seed}"
            _check_bounds(plan, found)
            endings[found["ending"]] += 1
        doubts = sum(key.endswith("?") for world in performer.worlds.values() for key in world.given)
        return endings, doubts


async def _drive(
    engine: openskelo.Engine, performer: random_plans.Scripted, plan: dict[str, Any], world: reference_plan.World
) -> dict[str, Any]:
    """The plan through the real engine; people answer as their world says."""
    run_id = "00000000-0000-4000-8000-" + f"{len(performer.worlds):012x}"
    performer.worlds[run_id] = world
    workflow = random_plans.workflow(plan)
    await engine.start(workflow, INPUTS, run_id=run_id, contexts=CONTEXTS)
    document = await engine.wait(run_id)
    while document["status"] == "paused":
        (asked,) = cast("list[JsonObject]", document["approvals"])
        await engine.answer(cast("str", asked["id"]), **_said(plan, world, asked))
        document = await engine.wait(run_id)
    proof = await verify.verify_run(engine.store, run_id)
    assert proof.intact, proof.problems
    run = (await loading.load(engine.store, run_id)).run
    return await _seen(engine, run, document)


def _said(plan: dict[str, Any], world: reference_plan.World, asked: JsonObject) -> dict[str, Any]:
    """What a person answers, who knows by the world whether an effect happened."""
    key = cast("str", asked["node"])
    said = world.next(f"{key}?" if asked["kind"] == "uncertain" else key)
    if said["kind"] == "denied":
        return {"status": "denied", "reason": "no"}
    if said["kind"] == "happened":
        return {"status": "modified", "modified_args": {plan["steps"][key]["save_as"]: said["value"]}}
    return {"status": "approved", "modified_args": said.get("value")}


async def _seen(engine: openskelo.Engine, run: Run, document: RunDocument) -> dict[str, Any]:
    lines = [line async for chunk in engine.store.read_events(run.id) for line in chunk]
    done: list[Any] = receipts.collect(lines)
    course = run.plan_state
    assert course is not None
    variables = {name: scheduler.value(stored["value"]) for name, stored in course.variables.items()}
    error: Any = run.error
    if error is not None:
        error = {key: error[key] for key in ("code", "node", "cause") if key in error}
        if "cause" in error:
            error["cause"] = error["cause"]["code"]
    outputs = await node_inputs.plan_outputs(engine.store, run)
    assert outputs == document["outputs"]
    spent = run.spent
    return {
        "ending": run.ending,
        "error": error,
        "trace": [(one["step_id"], one["visit"], one["attempt"], one["status"]) for one in done],
        "used": {"steps": spent.steps, "tokens": spent.tokens, "tool": spent.tool_nanousd},
        "variables": variables,
        "outputs": outputs,
    }


def _check_bounds(plan: dict[str, Any], found: dict[str, Any]) -> None:
    """No more steps than the budget has, no more visits than a step allows, no more tries than its retry."""
    tries = Counter((step, visit) for step, visit, _, _ in found["trace"])
    most = max((step["tries"] for step in plan["steps"].values() if step["op"] == "retry"), default=1)
    steps = len({(step, visit, attempt) for step, visit, attempt, _ in found["trace"]})
    assert found["used"]["steps"] == steps <= plan["budgets"].get("steps", steps)
    for (key, visit), tried in tries.items():
        step = plan["steps"][key]
        assert visit <= step.get("max_visits", visit)
        assert tried <= most + step.get("repairs", 0) or step.get("effect") == "once"  # which people may let be tried
