"""Random workflows: small, but with everything that a node can have."""

from __future__ import annotations

from random import Random
from typing import Any

from openskelo.kernel import definition
from openskelo.structs import replace
from tests.kernel.stage import flow, work

GATES = ("good", "fresh")


def workflow(chance: Random) -> definition.Workflow:
    """Anything: retries, bounces, people, budgets, items, effects."""
    keys = [f"n{index}" for index in range(chance.randint(1, 8))]
    nodes: dict[str, definition.Node] = {}
    for key in keys:
        nodes[key] = node(chance, key, *edges(chance, list(nodes)))
    for key in keys:
        nodes[key] = _with_bounces(chance, nodes, key)
    return flow(*nodes.values(), limits=_limits(chance), parallel=chance.randint(1, 4))


def edges(chance: Random, before: list[str]) -> tuple[list[str], list[str], list[str]]:
    """Which of the nodes before are needed, welcome, or only waited for."""
    chosen = chance.sample(before, chance.randint(0, min(3, len(before))))
    kinds: tuple[list[str], list[str], list[str]] = ([], [], [])
    for source in chosen:
        chance.choice(kinds).append(source)
    return kinds


def node(chance: Random, key: str, needed: list[str], welcome: list[str], after: list[str]) -> definition.Node:
    """A node with some of what there is."""
    more: dict[str, Any] = {"after": tuple(after)}
    if chance.random() < 0.25:
        more["when"] = "x"
    if chance.random() < 0.3:
        more["approval"] = definition.Approval(
            prompt="?",
            on_deny="end" if chance.random() < 0.5 else "continue",
            on_timeout="deny" if chance.random() < 0.5 else "approve",
        )
    if "approval" in more and chance.random() < 0.5:
        return work(key, *needed, optional=tuple(welcome), mode="approval", **more)
    if chance.random() < 0.25:
        more["foreach"] = definition.Foreach(
            items="x", concurrency=chance.randint(1, 3), on_fail=chance.choice(["stop", "keep"])
        )
    more["retry"] = definition.Retry(
        max_attempts=chance.randint(2, 6),
        delay_ms=chance.choice([0, 0, 20]),
        backoff=chance.choice(["none", "linear", "exponential"]),
        stall_after=chance.choice([0, 2, 3]),
    )
    more["effect"] = chance.choice(["pure", "pure", "idempotent", "once"])
    more["repeatable"] = chance.random() < 0.5
    more["cache"] = chance.random() < 0.1
    more["reserve"] = definition.Amount(tokens=chance.randint(0, 20), cost_nanousd=chance.randint(0, 9))
    return work(key, *needed, optional=tuple(welcome), **more)


def _with_bounces(chance: Random, nodes: dict[str, definition.Node], key: str) -> definition.Node:
    before = _reached(nodes, key, upward=True)
    rules: list[definition.Bounce] = []
    for gate in GATES:
        if chance.random() < 0.4:
            target = chance.choice(sorted(before))
            reset = _reached(nodes, target, upward=False)
            rules.append(
                definition.Bounce(
                    when_gate=gate,
                    route_to=target,
                    max_bounces=chance.randint(0, 3),
                    feedback=chance.random() < 0.8,
                    reset=tuple(name for name in nodes if name in reset),
                )
            )
    shape = nodes[key]
    if shape.approval is not None and rules and chance.random() < 0.7:
        approval = replace(shape.approval, on_deny="bounce", bounce=rules[0])
        shape = replace(shape, approval=approval)
    return shape if shape.mode == "approval" else replace(shape, bounces=tuple(rules))


def _reached(nodes: dict[str, definition.Node], key: str, *, upward: bool) -> set[str]:
    """The node and everything before it, or everything after it."""
    found = {key}
    while True:
        grown = set(found)
        for name, shape in nodes.items():
            sources = {*(binding.node for binding in shape.bindings.values()), *shape.after}
            if upward and name in found:
                grown |= sources
            if not upward and sources & found:
                grown.add(name)
        if grown == found:
            return found
        found = grown


#: So often a step of a random plan may be entered at most.
MOST_VISITS = 4
_OPS: tuple[definition.Op, ...] = (
    "route_expert",
    "tool_call",
    "verify",
    "transform",
    "branch",
    "branch",
    "retry",
    "ask_human",
    "emit",
)


def plan(chance: Random) -> definition.Workflow:
    """A plan with everything that a step can have; every step has a bound on its visits."""
    keys = [f"s{index}" for index in range(chance.randint(2, 8))]
    ops: dict[str, definition.Op] = {key: chance.choice(_OPS) for key in keys}
    targets = [key for key, op in ops.items() if op in ("route_expert", "tool_call", "verify", "transform")]
    if not targets:
        ops[keys[0]], targets = "verify", keys[:1]
    nodes = [_step_node(chance, key, ops[key], keys, targets) for key in keys]
    found = flow(*nodes, limits=_limits(chance), name="plan")
    return replace(found, plan=definition.Plan(entry=keys[0], variables={"a": 1}))


def _step_node(chance: Random, key: str, op: definition.Op, keys: list[str], targets: list[str]) -> definition.Node:
    def anywhere() -> str | None:
        return chance.choice([*keys, *keys, None])

    works = op in ("route_expert", "tool_call")
    step = definition.Step(
        op=op,
        args={},
        save_as=chance.choice([None, "a", "b"]),
        next=anywhere(),
        then=anywhere() if op == "branch" else None,
        otherwise=anywhere() if op == "branch" else None,
        target=chance.choice(targets) if op == "retry" else None,
        on_denied=anywhere() if works else None,
        ending=chance.choice(["ok", "failed", "denied", "escalated"]) if op == "emit" else None,
        max_visits=chance.randint(1, MOST_VISITS),
    )
    return definition.Node(
        key=key,
        mode="approval" if op == "ask_human" else "deterministic",
        step=step,
        approval=definition.Approval(prompt="?") if op == "ask_human" else None,
        retry=definition.Retry(max_attempts=chance.randint(1, 4), delay_ms=chance.choice([0, 20]), stall_after=0),
        effect=chance.choice(["pure", "idempotent", "once"]) if works else "pure",
        reserve=definition.Amount(tokens=chance.randint(0, 20), cost_nanousd=chance.randint(0, 9)),
    )


def _limits(chance: Random) -> definition.Limits:
    def maybe(low: int, high: int) -> int | None:
        return chance.randint(low, high) if chance.random() < 0.06 else None

    return definition.Limits(
        max_steps=maybe(0, 60),
        max_tokens=maybe(0, 400),
        max_wall_ms=maybe(0, 900),
        max_cost_nanousd=maybe(0, 150),
    )
