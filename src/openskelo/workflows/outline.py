"""The outline of a workflow: one JSON document of its parts, for `skelo explain` and the dashboard.

The outline of a blocks file has its ports, blocks, edges and layers; that of a plan its steps, the jumps between them
and its loops. Nothing is computed that is not in the definition.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import cast

from openskelo.kernel import definition
from openskelo.kernel.json import Json
from openskelo.wire import edges
from openskelo.workflows.plan import control_flow


def document(workflow: definition.Workflow) -> dict[str, Json]:
    """Return the outline of a workflow; that of a plan shows its steps as blocks."""
    node_layers = layers(workflow)
    return {
        "name": workflow.name,
        "description": workflow.description,
        "hash": workflow.hash,
        "inputs": [port_document(port) for port in workflow.inputs],
        "outputs": {name: source(binding) for name, binding in workflow.outputs.items()},
        "layers": node_layers,
        "blocks": [_block(workflow.nodes[key], number) for number, keys in enumerate(node_layers) for key in keys],
        "edges": [
            {"from": binding.node or "inputs", "output": binding.port, "to": key, "input": name}
            for key, node in workflow.nodes.items()
            for name, binding in node.bindings.items()
        ],
    }


def layers(workflow: definition.Workflow) -> list[list[str]]:
    """Return the node keys in layers: each node in the first layer behind all of its sources.

    A step of a plan is in a layer behind every earlier step that may lead to it; jumps back do not count.
    """
    if workflow.plan is not None:
        return _step_layers(workflow)
    shape = definition.build_dependencies(workflow)
    order = {key: index for index, key in enumerate(workflow.nodes)}
    waiting = {key: len(sources) for key, sources in shape.sources.items()}
    current = [key for key, count in waiting.items() if not count]
    node_layers: list[list[str]] = []
    while current:
        node_layers.append(current)
        following: list[str] = []
        for key in current:
            for target in shape.targets[key]:
                waiting[target] -= 1
                if not waiting[target]:
                    following.append(target)
        current = sorted(following, key=order.__getitem__)
    return node_layers


def _step_layers(workflow: definition.Workflow) -> list[list[str]]:
    position = {key: number for number, key in enumerate(workflow.nodes)}
    depths = dict.fromkeys(workflow.nodes, 0)
    for key, node in workflow.nodes.items():
        for target in (jump["to"] for jump in _jumps(node)):
            if position[target] > position[key]:
                depths[target] = max(depths[target], depths[key] + 1)
    node_layers: list[list[str]] = [[] for _ in range(max(depths.values()) + 1)]
    for key, depth in depths.items():
        node_layers[depth].append(key)
    return node_layers


def _jumps(node: definition.Node) -> list[dict[str, str]]:
    """Return the jumps of a plan's step, with their labels; a block has none."""
    targets = {} if node.step is None else edges.step_targets(node.step)
    return [{"to": target, "label": label} for label, target in targets.items()]


def source(binding: definition.Binding) -> str:
    """Return where a value comes from, as an author writes it: `block.port` or `inputs.NAME`."""
    return f"{binding.node or 'inputs'}.{binding.port}"


def all_bounces(node: definition.Node) -> Sequence[definition.Bounce]:
    """Return the bounces of a node: those of its gates, and that of a denied approval."""
    denial = node.approval.bounce if node.approval else None
    return (*node.bounces, denial) if denial else node.bounces


def _block(node: definition.Node, layer: int) -> dict[str, Json]:
    return {
        "id": node.key,
        "name": node.label or node.key,
        "description": node.description,
        "mode": node.mode,
        "badge": node.work.badge,
        "layer": layer,
        **_order_document(node),
        "handler": node.handler,
        "experts": _experts(node),
        "inputs": [port_document(port) for port in node.inputs],
        "outputs": [port_document(port) for port in node.outputs],
        "gates": [
            {"name": gate.name, "type": gate.type, "when": when}
            for when, gates in (("pre", node.pre_gates), ("post", node.post_gates))
            for gate in gates
        ],
        "effect": node.effect,
        "when": node.when,
        "foreach": None if node.foreach is None else _foreach_document(node.foreach),
        "maxAttempts": node.retry.max_attempts,
        "timeoutMs": node.timeout_ms,
        "approvalTimeoutMs": None if node.approval is None else node.approval.timeout_ms,
        "bounces": [
            {"gate": bounce.when_gate, "to": bounce.route_to, "max": bounce.max_bounces} for bounce in all_bounces(node)
        ],
    }


def _order_document(node: definition.Node) -> dict[str, Json]:
    """Return the op of a step, the nodes that a block waits for beside its sources, and the jumps of a step."""
    return {
        "op": node.step.op if node.step else None,
        "after": list(node.after),
        "jumps": list[Json](_jumps(node)),
    }


def _foreach_document(foreach: definition.Foreach) -> dict[str, Json]:
    document: dict[str, Json] = {"items": foreach.items, "as": foreach.name}
    if foreach.on_fail != "stop":
        document["onFail"] = foreach.on_fail
    return document


def port_document(port: definition.Port) -> dict[str, Json]:
    """Return the outline of a port."""
    document: dict[str, Json] = {
        "name": port.name,
        "kind": port.kind,
        "schema": port.schema,
        "required": port.required and not port.has_default,
    }
    if port.has_default:
        document["default"] = port.default
    if port.description:
        document["description"] = port.description
    return document


def _experts(node: definition.Node) -> list[Json]:
    """Return the experts that an ai node asks, in order."""
    pins = node.config.get("pinned")
    experts = pins.get("experts") if isinstance(pins, Mapping) else None
    return [expert for expert in cast("Sequence[Json]", experts or ()) if isinstance(expert, Mapping)]


def plan_document(workflow: definition.Workflow, plan: definition.Plan) -> dict[str, Json]:
    """Return the outline of a plan with its own words: steps, jumps, loops, variables and contexts."""
    flow = control_flow.from_workflow(workflow)
    return {
        "name": workflow.name,
        "description": workflow.description,
        "hash": workflow.hash,
        "kind": "plan",
        "mode": plan.mode,
        "inputs": [port_document(port) for port in workflow.inputs],
        "contexts": list(plan.contexts),
        "variables": plan.variables,
        "outputs": plan.outputs,
        "steps": [_step(node, node.step) for node in workflow.nodes.values() if node.step is not None],
        "edges": list(_step_edges(workflow)),
        "loops": [list(loop) for loop in control_flow.loops(flow)],
    }


def _step(node: definition.Node, step: definition.Step) -> dict[str, Json]:
    return {
        "id": node.key,
        "op": step.op,
        "mode": node.mode,
        "badge": node.work.badge,
        "args": step.args,
        "saveAs": step.save_as,
        "experts": _experts(node),
        "effect": node.effect,
        "ending": step.ending,
        "maxVisits": step.max_visits,
        "maxAttempts": node.retry.max_attempts,
        "timeoutMs": node.timeout_ms,
        "approvalTimeoutMs": None if node.approval is None else node.approval.timeout_ms,
    }


def _step_edges(workflow: definition.Workflow) -> Iterator[dict[str, Json]]:
    """Yield every jump from step to step, and when a run takes it."""
    for key, node in workflow.nodes.items():
        step = node.step
        if step is None:
            continue
        targets = {
            "next": step.next,
            "then": step.then,
            "else": step.otherwise,
            "denied": step.on_denied,
            "tries": step.target,
        }
        for when, target in targets.items():
            if target is not None:
                yield {"from": key, "to": target, "when": when}
