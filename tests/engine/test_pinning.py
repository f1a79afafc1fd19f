"""Runs of the same workflow share it, whether it is read anew for each of them or brought back from their logs."""

from __future__ import annotations

from pathlib import Path

import openskelo
from openskelo.engine import pinning
from openskelo.kernel.json import Json
from tests.engine import stage

ASK: dict[str, Json] = {
    "id": "ask",
    "mode": "approval",
    "outputs": {"approved": "boolean"},
    "approval": {"prompt": "Go on?"},
}


def _workflow(name: str = "work") -> openskelo.Workflow:
    inputs: dict[str, Json] = {"approved": {"type": "boolean", "from": "ask.approved"}}
    return stage.workflow(ASK, stage.block(name, inputs=inputs, outputs={"done": "boolean"}))


def test_equal_workflows_have_one_pin() -> None:
    pins = pinning.Pins()
    first, again, other = _workflow(), _workflow(), _workflow("other")
    pin = pins.of(first)
    assert first is not again
    assert pins.of(again) is pin
    assert pins.of(other) is not pin
    assert pins.restore(pin.name, pin.data)[0] is first


def test_a_workflow_that_was_brought_back_is_shared_with_later_runs() -> None:
    pin = pinning.Pins().of(_workflow())
    pins = pinning.Pins()
    recalled, shape = pins.restore(pin.name, pin.data)
    assert shape == pin.dependencies
    assert recalled == pin.workflow
    assert pins.of(_workflow()).workflow is recalled


def test_only_so_many_are_remembered() -> None:
    pins = pinning.Pins()
    first = _workflow("w0")
    pin = pins.of(first)
    for number in range(1, pinning.MAX_PINS + 1):
        pins.of(_workflow(f"w{number}"))
    again = pins.of(first)
    assert again is not pin
    assert (again.workflow, again.name, again.data, again.dependencies) == (
        pin.workflow,
        pin.name,
        pin.data,
        pin.dependencies,
    )
    assert again.needs == pin.needs


def test_what_is_compiled_for_a_node_is_kept_once_for_all_runs(tmp_path: Path) -> None:
    async def work(_: openskelo.Context) -> dict[str, Json]:
        return {"done": True}

    async def story() -> tuple[list[Json], int]:
        async with stage.engine(tmp_path, work=work) as engine:
            endings: list[Json] = []
            for _ in range(5):
                run_id = await engine.start(_workflow())
                (asked,) = stage.approvals(await engine.wait(run_id))
                assert list(await engine.ownership.release_idle()) == [run_id]
                await engine.answer(str(asked["id"]), status="approved")
                endings.append((await engine.wait(run_id))["ending"])
            compiled = engine.performer._prepared  # pyright: ignore[reportPrivateUsage] -- what would pile up
            return endings, len(compiled)

    assert stage.play(story) == (["ok"] * 5, 1)
