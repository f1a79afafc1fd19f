"""The document of `show --json`: a run as programs read it, made from its state alone."""

from __future__ import annotations

from typing import cast

from openskelo.contract import envelope
from openskelo.engine import listing, wiring
from openskelo.kernel import budget
from openskelo.kernel.json import Json, JsonObject
from openskelo.kernel.run import NodeState, Run, status

_STATUS = {
    "waiting": "idle",
    "ready": "idle",
    "resolving": "idle",
    "active": "running",
    "asking": "blocked",
    "done": "idle",
}


async def show(blobs: wiring.Blobs, run: Run, at: int) -> JsonObject:
    """The run's whole document; `at` counts only while the run is busy."""
    nodes: dict[str, Json] = {key: await _node(blobs, run, node) for key, node in run.nodes.items()}
    document: dict[str, Json] = {
        "runId": run.id,
        "name": run.workflow.name,
        "workflowHash": run.workflow.hash,
        "status": status(run),
        "ending": run.ending if run.ended else None,
        "phase": phase(run),
        "mode": run.mode,
        "globalMode": run.global_mode,
        "createdAt": envelope.timestamp(run.created_at),
        "updatedAt": envelope.timestamp(run.updated_at),
        "inputs": await wiring.load(blobs, run.inputs),
        "outputs": await outputs(blobs, run),
        "nodes": nodes,
        "budget": _budget(run, at),
        "approvals": [listing.approval_document(run, asked) for asked in run.approvals.values()],
    }
    if run.parent is not None:
        document["parent"] = run.parent
    if run.error is not None:
        document["error"] = run.error
    return document


def phase(run: Run) -> str:
    """The contract's phase, as far as a workflow of blocks has phases."""
    if run.ended:
        return "DONE"
    return "EXECUTE" if any(node.visit and node.status != "waiting" for node in run.nodes.values()) else "BOOT"


async def outputs(blobs: wiring.Blobs, run: Run) -> dict[str, Json]:
    """The workflow's outputs, as far as the nodes they come from are done."""
    found: dict[str, Json] = {}
    for name, binding in run.workflow.outputs.items():
        if binding.node:
            source = await wiring.outputs(blobs, run, binding.node)
        else:
            source = cast("JsonObject", await wiring.load(blobs, run.inputs))
        if binding.port in source:
            found[name] = source[binding.port]
    return found


async def _node(blobs: wiring.Blobs, run: Run, node: NodeState) -> JsonObject:
    blocked = any(asked.node == node.key for asked in run.approvals.values())
    document: dict[str, Json] = {
        "status": "blocked" if blocked else _STATUS[node.status],
        "outcome": node.outcome,
        "mode": run.workflow.nodes[node.key].mode,
        "visits": node.visit,
        "attempts": node.attempts,
        "outputs": await wiring.outputs(blobs, run, node.key) if node.outcome == "succeeded" else None,
    }
    if node.items is not None:
        document["items"] = {"total": len(node.slots), "done": node.done_slots, "running": node.running}
    if node.error is not None:
        document["error"] = node.error
    return document


def _budget(run: Run, at: int) -> JsonObject:
    limits, spent = run.workflow.limits, run.spent
    return {
        "steps": {"used": spent.steps, "limit": limits.max_steps},
        "tokens": {"used": spent.tokens, "limit": limits.max_tokens},
        "costUsd": _money(spent.cost_nanousd, limits.max_cost_nanousd),
        "wallMs": {"used": budget.wall_ms(run, at), "limit": limits.max_wall_ms},
        "toolSpendUsd": _money(spent.tool_nanousd, limits.max_tool_nanousd),
    }


def _money(used: int, limit: int | None) -> JsonObject:
    return {"used": used / 1e9, "limit": None if limit is None else limit / 1e9}
