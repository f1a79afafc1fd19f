"""A retry right behind its step: the step's failures are its to deal with, and what has succeeded is not done again."""

from __future__ import annotations

import asyncio
import io
import itertools
from pathlib import Path
from random import Random
from typing import Any

import pytest

import openskelo
from openskelo import testing
from openskelo.cli import explanation, output
from openskelo.workflows import load
from tests.workflows import marking

PLANS = 60
PARTS = 2


def check(key: str, **more: Any) -> dict[str, Any]:
    args = {"checker_id": "equals", "input_ref": "input:i", "expected": 1}
    return {"id": key, "op": "verify", "args": args, "save_as": key, **more}


def retry(key: str, of: str, again: int = 1) -> dict[str, Any]:
    return {"id": key, "op": "retry", "args": {"step_id": of, "max_retries": again}}


def branch(key: str, on: str, then: str, otherwise: str) -> dict[str, Any]:
    return {"id": key, "op": "branch", "args": {"cond": {"ok": f"var:{on}.ok"}, "then": then, "else": otherwise}}


def emit(key: str = "end", *audit: str) -> dict[str, Any]:
    return {"id": key, "op": "emit", "args": {"audit_refs": [f"var:{name}" for name in audit]}}


def plan(*steps: dict[str, Any], **more: Any) -> dict[str, Any]:
    first = {step["id"]: {"ok": False} for step in steps if step["op"] == "verify"}
    return {"plan_id": "p", "inputs": {"i": 1}, "variables": first, "steps": list(steps), **more}


def test_whatever_leads_to_such_a_step_leads_to_its_retry() -> None:
    workflow = openskelo.from_document(
        plan(
            check("a"),
            retry("ra", "a"),
            check("b"),
            retry("rb", "b"),
            branch("back", "b", "end", "a"),
            emit(),
            budgets={"max_steps": 30},
        )
    )
    assert workflow.plan is not None
    ways = {
        key: (node.step.next, node.step.then, node.step.otherwise) for key, node in workflow.nodes.items() if node.step
    }
    assert workflow.plan.entry == "ra"
    assert ways == {
        "a": ("rb", None, None),
        "ra": ("rb", None, None),
        "b": ("back", None, None),
        "rb": ("back", None, None),
        "back": (None, "end", "ra"),
        "end": (None, None, None),
    }


def test_a_retry_elsewhere_is_where_it_is() -> None:
    workflow = openskelo.from_document(plan(check("a"), branch("good", "a", "end", "ra"), retry("ra", "a"), emit()))
    assert workflow.plan is not None
    assert workflow.plan.entry == "a"
    step = workflow.nodes["a"].step
    assert step is not None
    assert step.next == "good"


def test_such_a_plan_is_drawn_as_it_is_written() -> None:
    workflow = openskelo.from_document(
        plan(
            check("a"),
            branch("good", "a", "b", "end"),
            check("b"),
            retry("rb", "b"),
            branch("on", "b", "b", "end"),
            emit(),
            budgets={"max_steps": 30},
        )
    )
    lines = explanation.draw_steps(workflow, output.Painter(io.StringIO()), 200)
    assert [" ".join(line.split()) for line in lines] == [
        "● DET a verify equals ← input:i = var:a",
        "│",
        "◆ DET good branch var:a.ok true → b false → end",
        "│",
        "● DET b verify equals ← input:i = var:b",
        "│",
        "↻ DET rb retry b, at most 2 tries (none)",
        "│",
        "◆ DET on branch var:b.ok true ↺ b false → end",
        "│",
        "■ DET end emit ok ← nothing",
    ]


@pytest.mark.parametrize(
    "steps",
    [
        [retry("r", "a"), check("a"), emit()],
        [check("a"), retry("q", "a"), retry("r", "a"), emit()],
    ],
    ids=["before its step", "two of them"],
)
def test_a_step_that_is_done_again_after_its_retry_is_a_doubt(steps: list[dict[str, Any]]) -> None:
    _, found = load.check_document(plan(*steps))
    assert marking.errors(found) == []
    (doubt,) = [one for one in found if one.severity == "warning"]
    assert doubt.code == "RETRY_REPEATS"
    assert doubt.message.endswith("and then the run goes on with 'a': it is done twice")


def test_a_value_that_is_read_too_early_is_read_by_the_step_and_not_by_its_retry() -> None:
    early = check("b", save_as="b") | {"args": {"checker_id": "equals", "input_ref": "var:c", "expected": 1}}
    _, found = load.check_document(plan(check("a"), early, retry("rb", "b"), check("z", save_as="c"), emit()))
    (wrong,) = [one for one in found if one.severity == "error"]
    assert (wrong.code, wrong.path) == ("REF_UNSET", "/steps/1/args/input_ref")
    assert wrong.message == "var:c may not be set when 'b' reads it on the way a → rb → b"


def _by_chance(chance: Random) -> dict[str, Any]:
    """Checks with and without a retry behind them, retries elsewhere, and jumps onwards to any of them."""
    count = chance.randint(3, 9)
    keys = [f"s{index}" for index in range(count)]
    steps: list[dict[str, Any]] = []
    for index, key in enumerate(keys[:-1]):
        checks = [step["id"] for step in steps if step["op"] == "verify"]
        match chance.choice(["check", "check", "behind", "behind", "retry", "branch"]):
            case "behind" if steps and steps[-1]["op"] == "verify":
                steps.append(retry(key, steps[-1]["id"], chance.randint(0, 2)))
            case "retry" if checks:
                steps.append(retry(key, chance.choice(checks), chance.randint(0, 2)))
            case "branch" if checks:
                later = keys[index + 1 :]
                steps.append(branch(key, chance.choice(checks), chance.choice(later), chance.choice(later)))
            case _:
                steps.append(check(key))
    return plan(*steps, emit(keys[-1], *(step["id"] for step in steps if step["op"] == "verify")))


def _read(document: dict[str, Any], said: dict[str, list[Any]]) -> tuple[str, dict[str, int], dict[str, Any]]:
    """The plan in the plainest way, step for step as it is written: how it ends, who was called how often, what is set.

    A failure of a step goes to the retry right behind it, for which it was the first try; without a failure there is
    nothing to try again, and that retry is passed.
    """
    steps, set_to = document["steps"], {name: dict(value) for name, value in document["variables"].items()}
    place = {step["id"]: index for index, step in enumerate(steps)}
    calls = dict.fromkeys(said, 0)

    def tried(key: str, *, strictly: bool) -> bool:
        answer = said[key][calls[key]]
        calls[key] += 1
        if "error" in answer or (strictly and not answer["ok"]):
            return False
        set_to[key] = answer
        return True

    at = 0
    while True:
        step = steps[at]
        below: dict[str, Any] = steps[at + 1] if at + 1 < len(steps) else {"op": "none"}
        guarded = below["op"] == "retry" and below["args"]["step_id"] == step["id"]
        match step["op"]:
            case "emit":
                return "ok", calls, set_to
            case "branch":
                at = place[step["args"]["then" if set_to[step["args"]["cond"]["ok"][4:-3]]["ok"] else "else"]]
            case "retry":
                if not any(
                    tried(step["args"]["step_id"], strictly=True) for _ in range(1 + step["args"]["max_retries"])
                ):
                    return "failed", calls, set_to
                at += 1
            case _ if tried(step["id"], strictly=guarded):
                at += 2 if guarded else 1
            case _:
                left = below["args"]["max_retries"] if guarded else 0
                if not any(tried(step["id"], strictly=True) for _ in range(left)):
                    return "failed", calls, set_to
                at += 2


@pytest.mark.parametrize("part", range(PARTS))
def test_plans_by_chance_are_read_as_they_are_written(part: int, tmp_path: Path) -> None:
    endings: list[str] = []
    for seed in itertools.count(part, PARTS):
        chance = Random(seed)
        document = _by_chance(chance)
        workflow, _ = load.check_document(document)
        if workflow is None:
            continue  # a step that nothing leads to
        checks = [step["id"] for step in document["steps"] if step["op"] == "verify"]
        answers = [{"ok": True}, {"ok": True}, {"ok": False}, {"error": {"code": "LATER", "message": "not yet"}}]
        said = {key: [chance.choice(answers) for _ in range(30)] for key in checks}
        ending, calls, set_to = _read(document, said)
        found: Any = asyncio.run(
            testing.run(
                workflow,
                project=openskelo.Project(root=tmp_path, data_dir=tmp_path / ".skelo"),
                handlers=testing.stand_ins(said),
            )
        )
        assert found["ending"] == ending, f"seed {seed}"
        assert {key: found["nodes"][key]["attempts"] for key in checks} == calls, f"seed {seed}"
        assert found["outputs"].get("audit", []) == ([set_to[key] for key in checks] if ending == "ok" else [])
        endings.append(ending)
        if len(endings) == PLANS // PARTS:
            break
    assert min(endings.count("ok"), endings.count("failed")) > 3
