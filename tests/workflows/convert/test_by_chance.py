"""Plans by chance, in which every jump leads on: as blocks they come to the same ending, outputs and person."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

import pytest

from openskelo import testing
from openskelo.workflows import load
from tests.workflows.convert import converting

NAMES = ("a", "b-c", "d", "e")
PLANS = 200
PARTS = 4


def _plan(chance: Random) -> dict[str, Any]:
    """Some ten steps over four variables, each `{"ok": true or false, "n": number}`."""
    count = chance.randint(4, 11)
    ids = [f"s{index}" for index in range(count)]
    steps: list[dict[str, Any]] = [_step(chance, ids, index) for index in range(count - 1)]
    steps.append(_emit(chance, ids[-1]) if chance.random() < 0.7 else _asking(ids[-1], "a"))
    variables = {name: {"ok": chance.random() < 0.5, "n": 0} for name in NAMES}
    outputs = {"result_ref": "var:a.n", "all_refs": ["var:e", "var:b-c.ok"]}
    return {"plan_id": "chance", "inputs": {"i": True}, "variables": variables, "steps": steps, "outputs": outputs}


def _asking(key: str, name: str) -> dict[str, Any]:
    request = {"message": "Well?", "details": {"seen": f"var:{name}.ok"}}
    args = {"request": request, "answer": {"ok": "boolean", "n": "integer?"}}
    return {"id": key, "op": "ask_human", "args": args, "save_as": "e"}


def _emit(chance: Random, key: str) -> dict[str, Any]:
    refs = [f"var:{name}{chance.choice(['', '.n', '.no', '[2]'])}" for name in chance.sample(NAMES, 3)]
    status = chance.choice(["ok", "ok", "failed", "denied", "escalated"])
    return {"id": key, "op": "emit", "args": {"result_ref": refs[0], "audit_refs": refs[1:], "status": status}}


def _step(chance: Random, ids: list[str], index: int) -> dict[str, Any]:
    key, later = ids[index], ids[index + 1 :]
    name, other = chance.choice(("a", "d", "e")), chance.choice(("a", "d", "e"))
    saved = {"id": key, "save_as": chance.choice(NAMES)}
    match chance.choice(["transform", "transform", "verify", "ask", "branch", "branch", "branch", "emit"]):
        case "transform":
            text = f"{{'ok': !var.{name}.ok || (input.i && var.{other}.ok), 'n': {index}}}"
            return {**saved, "op": "transform", "args": {"expr": text}}
        case "verify":
            args = {"checker_id": "equals", "input_ref": f"var:{name}", "expected": {"ok": True, "n": 0}}
            if index + 2 < len(ids) or chance.random() < 0.5:
                return {**saved, "op": "verify", "args": args}
            return {**saved, "op": "transform", "args": {"fn": "pick", "from_ref": f"var:{name}", "keys": ["ok"]}}
        case "ask":
            return {**_asking(key, name), **saved}
        case "branch":
            cond = {"ok": f"var:{name}.ok"} if chance.random() < 0.6 else {"expr": f"var.{name}.ok != var.{other}.ok"}
            jumps = {"then": chance.choice(later), "else": chance.choice(later)}
            return {"id": key, "op": "branch", "args": {"cond": cond, **jumps}}
        case _:
            return _emit(chance, key)


@pytest.mark.parametrize("part", range(PARTS))
def test_plans_by_chance_come_to_the_same_as_blocks(part: int, tmp_path: Path) -> None:
    (tmp_path / "skelo.yaml").write_text(converting.PROJECT)
    same = 0
    endings: set[str] = set()
    for seed in range(part, 100_000, PARTS):
        chance = Random(seed)
        document = _plan(chance)
        workflow, _ = load.check_document(document, root=tmp_path)
        if workflow is None:
            continue  # a step that nothing leads to, or a variable that has no such part
        pair = converting.converted(tmp_path, json.dumps(document))
        asked = [step["id"] for step in document["steps"] if step["op"] == "ask_human"]
        answers = {key: [testing.Reply(status="modified", values={"ok": chance.random() < 0.5})] for key in asked}
        plan = pair.ends(converting.Played(people=answers))
        blocks = pair.ends(converting.Played(people={f"{key}_asked": answers[key] for key in asked}), other=True)
        assert blocks["ending"] == plan["ending"], f"seed {seed}"
        if "REF_UNSET" not in str(plan.get("error")):  # a plan whose emit lacks its result has the outputs it declares
            assert blocks["outputs"] == plan["outputs"], f"seed {seed}"
        for key in asked:
            reached = [plan["nodes"][key]["outcome"], blocks["nodes"][f"{key}_asked"]["outcome"]]
            assert reached in (["succeeded", "succeeded"], [None, "skipped"]), f"seed {seed}"
        endings.add(plan["ending"])
        same += 1
        if same == PLANS // PARTS and len(endings) > 1:
            break
    assert same >= PLANS // PARTS
