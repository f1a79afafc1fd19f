"""A workflow taken apart as one JSON document: its ports, blocks, edges and layers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from openskelo.contract import edges
from openskelo.kernel import definition
from openskelo.kernel.flows import dag
from openskelo.kernel.json import Json

#: What people call the modes.
BADGES = {"ai": "AI", "deterministic": "DET", "approval": "HUMAN", "dag": "DAG"}


def document(workflow: definition.Workflow) -> dict[str, Json]:
    """The whole workflow."""
    found = layers(workflow)
    return {
        "name": workflow.name,
        "description": workflow.description,
        "hash": workflow.hash,
        "inputs": [port(one) for one in workflow.inputs],
        "outputs": {name: source(binding) for name, binding in workflow.outputs.items()},
        "layers": found,
        "blocks": [block(workflow.nodes[key], number) for number, keys in enumerate(found) for key in keys],
        "edges": [
            {"from": binding.node or "inputs", "output": binding.port, "to": key, "input": name}
            for key, node in workflow.nodes.items()
            for name, binding in node.bindings.items()
        ],
    }


def layers(workflow: definition.Workflow) -> list[list[str]]:
    """The node keys in layers: every source of a node is in an earlier layer, as early as can be.

    The steps of a plan lead to later ones in later layers; a way back is not counted.
    """
    if workflow.plan is not None:
        return _step_layers(workflow)
    shape = dag.graph(workflow)
    order = {key: index for index, key in enumerate(workflow.nodes)}
    waiting = {key: len(sources) for key, sources in shape.sources.items()}
    current = [key for key, count in waiting.items() if not count]
    found: list[list[str]] = []
    while current:
        found.append(current)
        following: list[str] = []
        for key in current:
            for target in shape.targets[key]:
                waiting[target] -= 1
                if not waiting[target]:
                    following.append(target)
        current = sorted(following, key=order.__getitem__)
    return found


def _step_layers(workflow: definition.Workflow) -> list[list[str]]:
    place = {key: number for number, key in enumerate(workflow.nodes)}
    depths = dict.fromkeys(workflow.nodes, 0)
    for key, node in workflow.nodes.items():
        for to in (jump["to"] for jump in jumps(node)):
            if place[to] > place[key]:
                depths[to] = max(depths[to], depths[key] + 1)
    found: list[list[str]] = [[] for _ in range(max(depths.values()) + 1)]
    for key, depth in depths.items():
        found[depth].append(key)
    return found


def jumps(node: definition.Node) -> list[dict[str, str]]:
    """Where a step of a plan may lead, each with what it is called; of a block nowhere."""
    ways = {} if node.step is None else edges.jumps(node.step)
    return [{"to": to, "label": label} for label, to in ways.items()]


def source(binding: definition.Binding) -> str:
    """Where a value comes from, as an author writes it."""
    return f"{binding.node or 'inputs'}.{binding.port}"


def all_bounces(node: definition.Node) -> Sequence[definition.Bounce]:
    """Every way this node may send work back: by its gates, and by a person's denial."""
    denial = node.approval.bounce if node.approval else None
    return (*node.bounces, denial) if denial else node.bounces


def block(node: definition.Node, layer: int) -> dict[str, Json]:
    """One block."""
    return {
        "id": node.key,
        "name": node.label or node.key,
        "description": node.description,
        "mode": node.mode,
        "badge": BADGES[node.mode],
        "layer": layer,
        "op": node.step.op if node.step else None,
        "after": list(node.after),
        "jumps": list[Json](jumps(node)),
        "handler": node.handler,
        "experts": experts(node),
        "inputs": [port(one) for one in node.inputs],
        "outputs": [port(one) for one in node.outputs],
        "gates": [
            {"name": gate.name, "type": gate.type, "when": when}
            for when, gates in (("pre", node.pre_gates), ("post", node.post_gates))
            for gate in gates
        ],
        "effect": node.effect,
        "when": node.when,
        "foreach": {"items": node.foreach.items, "as": node.foreach.name} if node.foreach else None,
        "maxAttempts": node.retry.max_attempts,
        "timeoutMs": node.timeout_ms,
        "bounces": [
            {"gate": bounce.when_gate, "to": bounce.route_to, "max": bounce.max_bounces} for bounce in all_bounces(node)
        ],
    }


def port(one: definition.Port) -> dict[str, Json]:
    """A port."""
    found: dict[str, Json] = {
        "name": one.name,
        "kind": one.kind,
        "schema": one.schema,
        "required": one.required and not one.has_default,
    }
    if one.has_default:
        found["default"] = one.default
    if one.description:
        found["description"] = one.description
    return found


def experts(node: definition.Node) -> list[Json]:
    """Whom an ai node asks, first to last."""
    pinned = node.config.get("pinned")
    found = pinned.get("experts") if isinstance(pinned, Mapping) else None
    return [one for one in cast("Sequence[Json]", found or ()) if isinstance(one, Mapping)]
