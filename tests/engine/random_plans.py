"""Plans by chance, from the whole grammar: jumps, loops, retries, budgets, faults, denials and people.

A plan is the dict that `reference_plan` reads; `workflow` makes the same plan into a definition by the words of the
design, and `Scripted` plays experts, tools and checkers by the same `World`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from random import Random
from typing import Any, cast

from openskelo import errors
from openskelo.executors.attempt import performer, running_attempt
from openskelo.kernel import definition, outcome, workflow_codec
from openskelo.kernel.json import JsonObject
from openskelo.values import canonical
from tests.engine import reference_plan

NUMBERS, CHECKS, OTHERS = ("m", "n"), ("v", "w"), ("a", "b")
NAMES = (*NUMBERS, *CHECKS, *OTHERS)
#: How often a step reads or saves a variable of another kind than it should.
SLIP = 0.04
OUTSIDE = ("route_expert", "tool_call", "verify")
_MODES: Mapping[str, definition.Mode] = {"route_expert": "ai", "ask_human": "approval"}
_HAPPENED: Mapping[str, errors.Happened] = {"lost": "unknown", "refused": "yes"}
_ANSWER: JsonObject = {"type": "object", "properties": {"note": {"type": "string", "default": "none"}}}


def plan(chance: Random) -> dict[str, Any]:
    """A plan that may do anything but run for ever: it has a budget of steps, or all its steps a bound on visits."""
    keys = [f"s{index}" for index in range(1, chance.randint(2, 12) + 1)]
    counted = chance.random() < 0.6
    steps = {key: _step(chance, keys, index, bounded=not counted) for index, key in enumerate(keys)}
    targets = [key for key, step in steps.items() if step["op"] in (*OUTSIDE, "transform")]
    for step in steps.values():
        if step["op"] == "retry":
            if targets:
                step.update(target=chance.choice(targets), tries=chance.randint(1, 4))
            else:
                step.update(op="transform", args={"add": ["n", 1]}, save_as="n")
    budgets = {"steps": chance.randint(0, 60)} if counted else {}
    if chance.random() < 0.25:
        budgets["tokens"] = chance.randint(0, 120)
    if chance.random() < 0.15:
        budgets["tool"] = chance.randint(0, 60)
    return {
        "entry": keys[0] if chance.random() < 0.9 else chance.choice(keys),
        "variables": {name: value for name, value in _first(chance).items() if _maybe(chance, 0.95)},
        "outputs": {"result_ref": "var:a", "audit_refs": ["var:n", "var:v.ok", "input:i"], "plain": "kept"},
        "budgets": budgets,
        "steps": steps,
    }


def _first(chance: Random) -> dict[str, Any]:
    numbers = {name: chance.randint(0, 3) for name in NUMBERS}
    return {**numbers, **{name: {"ok": _maybe(chance, 0.5)} for name in CHECKS}, "a": "var:b", "b": [1]}


def _one_of(chance: Random, names: tuple[str, ...]) -> str:
    return chance.choice(NAMES if _maybe(chance, SLIP) else names)


def _maybe(chance: Random, likely: float) -> bool:
    return chance.random() < likely


def _step(chance: Random, keys: list[str], index: int, *, bounded: bool) -> dict[str, Any]:
    ops = ("route_expert", "tool_call", "verify", "transform", "branch", "retry", "ask_human", "emit")
    op = chance.choices(ops, weights=(3, 3, 3, 4, 4, 3, 1, 1.5))[0]
    follows = keys[index + 1] if index + 1 < len(keys) else None
    step: dict[str, Any] = {"op": op, "next": follows if _maybe(chance, 0.9) else chance.choice(keys)}
    if op not in ("branch", "retry", "emit") or _maybe(chance, 0.3):
        step["save_as"] = _one_of(chance, {"transform": NUMBERS, "verify": CHECKS}.get(op, OTHERS))
    if bounded or _maybe(chance, 0.1):
        step["max_visits"] = chance.randint(1, 5)
    match op:
        case "transform":
            step["args"] = {"add": [_one_of(chance, NUMBERS), chance.randint(0, 3)]}
        case "branch":
            later = keys[index:] if _maybe(chance, 0.7) else keys
            step["args"] = {"cond": _condition(chance)}
            step.update(then=chance.choice([*later, None]), otherwise=chance.choice([*keys, None]))
        case "emit":
            status = chance.choice(("ok", "ok", "failed", "denied", "escalated"))
            step["args"] = {"result_ref": _ref(chance), "audit_refs": [_ref(chance), _ref(chance)], "status": status}
        case "retry":
            step["args"] = {}
        case "ask_human":
            step["args"] = {"request": {"kind": "k", "message": "var:none", "seen": _ref(chance)}}
        case _:
            step["args"] = {"in": _ref(chance), "more": [{"$literal": "var:a"}, 7]}
            step["reserve"] = {"tokens": chance.choice((0, 0, 5)), "tool": chance.choice((0, 0, 3))}
            step["repairs"] = chance.choice((0, 0, 1)) if op == "route_expert" else 0
            if op != "verify":
                step["on_denied"] = chance.choice((None, chance.choice(keys)))
            if op == "tool_call":
                step["effect"] = chance.choice(("pure", "idempotent", "once", "once"))
    return step


def _condition(chance: Random) -> dict[str, Any]:
    if _maybe(chance, 0.5):
        return {"less": [_one_of(chance, NUMBERS), chance.randint(0, 6)]}
    if _maybe(chance, SLIP):
        return {"ok": f"var:{chance.choice(NAMES)}"}
    return {"ok": chance.choice((True, False, *(f"var:{_one_of(chance, CHECKS)}.ok" for _ in range(4))))}


def _ref(chance: Random) -> str:
    return chance.choice(
        (f"var:{chance.choice(NAMES)}", f"var:{_one_of(chance, CHECKS)}.ok", "input:i", "ctx:c[1].x", "snap:s", "plain")
    )


def world(chance: Random, of: dict[str, Any]) -> reference_plan.World:
    """What everybody in the plan says."""
    answers = {key: [_answer(chance, step["op"]) for _ in range(4)] for key, step in of["steps"].items()}
    for key, step in of["steps"].items():
        if step.get("effect") == "once":
            happened = {"kind": "happened", "value": chance.choice((1, {"ok": True}))}
            answers[f"{key}?"] = chance.choices(({"kind": "again"}, happened, {"kind": "denied"}), (4, 3, 2), k=4)
    return reference_plan.World(answers)


def _answer(chance: Random, op: str) -> dict[str, Any]:
    if op == "ask_human":
        denied = _maybe(chance, 0.15)
        return {"kind": "denied"} if denied else {"kind": "ok", "value": chance.choice(({}, {"note": "well"}))}
    used = {"tokens": chance.choice((0, 0, 4, 9)), "tool": chance.choice((0, 0, 2, 8))}
    if _maybe(chance, 0.7 if op == "tool_call" else 0.85):
        value = {"ok": _maybe(chance, 0.5)} if op == "verify" else chance.choice((1, 2, {"ok": False}, {"ok": 1}))
        return {"kind": "ok", "value": value, **used}
    kinds = {"route_expert": ("error", "error", "final", "broken", "broken", "denied", "denied"), "verify": ("error",)}
    others = ("error", "error", "lost", "lost", "lost", "lost", "refused", "final", "denied", "denied")
    kind = chance.choice(kinds.get(op, others))
    return {"kind": kind, "code": chance.choice(("E1", "E2")), **used}


# -- the same plan for the engine --------------------------------------------------------------------------------------


def workflow(of: dict[str, Any]) -> definition.Workflow:
    """The plan as a definition."""
    budgets = of["budgets"]
    whole = definition.Workflow(
        name="random",
        hash="",
        nodes={key: _node(key, step) for key, step in of["steps"].items()},
        inputs=(definition.Port(name="i", schema={}),),
        limits=definition.Limits(
            max_steps=budgets.get("steps"), max_tokens=budgets.get("tokens"), max_tool_nanousd=budgets.get("tool")
        ),
        plan=definition.Plan(
            entry=of["entry"], variables=of["variables"], outputs=of["outputs"], contexts=("ctx:c", "snap:s")
        ),
    )
    return workflow_codec.seal(whole, canonical.digest)


def _node(key: str, step: dict[str, Any]) -> definition.Node:
    op = step["op"]
    reserve = step.get("reserve", {})
    made = definition.Step(
        op=op,
        args=_args(op, step["args"]),
        save_as=step.get("save_as"),
        next=step.get("next"),
        then=step.get("then"),
        otherwise=step.get("otherwise"),
        target=step.get("target"),
        on_denied=step.get("on_denied"),
        ending=step["args"]["status"] if op == "emit" else None,
        max_visits=step.get("max_visits"),
    )
    return definition.Node(
        key=key,
        mode=_MODES.get(op, "deterministic"),
        label=key,
        step=made,
        retry=definition.Retry(max_attempts=step.get("tries", 1), stall_after=0),
        repairs=step.get("repairs", 0),
        approval=definition.Approval(prompt="var:none", form=_ANSWER) if op == "ask_human" else None,
        effect=step.get("effect", "pure"),
        reserve=definition.Amount(tokens=reserve.get("tokens", 0), tool_nanousd=reserve.get("tool", 0)),
    )


def _args(op: str, args: dict[str, Any]) -> JsonObject:
    if op == "transform":
        name, number = args["add"]
        return {"expr": f"var.{name} + {number}"}
    if op == "branch" and "less" in args["cond"]:
        name, bound = args["cond"]["less"]
        return {"cond": {"expr": f"var.{name} < {bound}"}}
    return args


class Scripted(performer.Performer):
    """Performs the ops that need no answer from outside; for the others the world of each run answers."""

    worlds: dict[str, reference_plan.World]

    async def perform(self, attempt: running_attempt.RunningAttempt) -> performer.AttemptResult:
        request = attempt.request
        step = cast("definition.Step", request.node.step)
        if step.op not in OUTSIDE:
            return await super().perform(attempt)
        inputs_hash = canonical.digest(request.inputs)
        said = self.worlds[request.run_id].next(request.node.key)
        metrics = outcome.Metrics(tokens_out=said.get("tokens", 0), tool_nanousd=said.get("tool", 0))
        if said["kind"] == "hang":
            await asyncio.Event().wait()
        if said["kind"] != "ok":
            code, kind = said["code"], said["kind"]
            why = outcome.Failure(
                code=code,
                message=f"no {code}",
                retryable=kind not in ("final", "denied"),
                repairable=kind == "broken",
                denied=kind == "denied",
                happened=_HAPPENED.get(kind, "no"),
            )
            return performer.AttemptResult(
                outcome=outcome.Outcome(inputs_hash=inputs_hash, failure=why, metrics=metrics)
            )
        outputs: JsonObject = {step.save_as or "output": said["value"]}
        holds = said["value"]["ok"] if step.op == "verify" else None
        return performer.AttemptResult(
            outcome=outcome.Outcome(
                inputs_hash=inputs_hash,
                outputs={"value": outputs},
                output_hash=canonical.digest(outputs),
                holds=holds,
                metrics=metrics,
            )
        )
