"""A plan taken apart as one JSON document: its steps, the ways between them, its loops."""

from __future__ import annotations

from collections.abc import Iterator

from openskelo.kernel import definition
from openskelo.kernel.json import Json
from openskelo.workflows import outline
from openskelo.workflows.plan import flow


def document(workflow: definition.Workflow, plan: definition.Plan) -> dict[str, Json]:
    """The whole plan."""
    ways = flow.of(workflow)
    return {
        "name": workflow.name,
        "description": workflow.description,
        "hash": workflow.hash,
        "kind": "plan",
        "mode": plan.mode,
        "inputs": [outline.port(port) for port in workflow.inputs],
        "contexts": list(plan.contexts),
        "variables": plan.variables,
        "outputs": plan.outputs,
        "steps": [_step(node, node.step) for node in workflow.nodes.values() if node.step is not None],
        "edges": list(_edges(workflow)),
        "loops": [list(group) for group in flow.components(ways) if flow.is_loop(ways, group)],
    }


def _step(node: definition.Node, step: definition.Step) -> dict[str, Json]:
    return {
        "id": node.key,
        "op": step.op,
        "mode": node.mode,
        "badge": outline.BADGES[node.mode],
        "args": step.args,
        "saveAs": step.save_as,
        "experts": outline.experts(node),
        "effect": node.effect,
        "ending": step.ending,
        "maxVisits": step.max_visits,
        "maxAttempts": node.retry.max_attempts,
        "timeoutMs": node.timeout_ms,
    }


def _edges(workflow: definition.Workflow) -> Iterator[dict[str, Json]]:
    """Every way from step to step, and when it is taken."""
    for key, node in workflow.nodes.items():
        step = node.step
        if step is None:
            continue
        ways = {"next": step.next, "then": step.then, "else": step.otherwise}
        for when, target in {**ways, "denied": step.on_denied, "tries": step.target}.items():
            if target is not None:
                yield {"from": key, "to": target, "when": when}
