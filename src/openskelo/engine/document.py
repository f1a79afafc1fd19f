"""The document of `show --json`: a run as programs read it, made from its state alone."""

from __future__ import annotations

from typing import Any, cast

from openskelo.contract import envelope, standing
from openskelo.engine import listing, stakes, wiring
from openskelo.executors import keeping
from openskelo.kernel.json import Json, JsonObject
from openskelo.kernel.run import OpenApproval, Run, status


async def show(blobs: keeping.Blobs, run: Run, at: int) -> JsonObject:
    """The run's whole document; `at` counts only while the run is busy."""
    document: dict[str, Json] = {
        "runId": run.id,
        "name": run.workflow.name,
        "workflowHash": run.workflow.hash,
        "status": status(run),
        "ending": run.ending if run.ended else None,
        "phase": standing.phase(run),
        "mode": run.mode,
        "globalMode": run.global_mode,
        "createdAt": envelope.timestamp(run.created_at),
        "updatedAt": envelope.timestamp(run.updated_at),
        "inputs": run.inputs["value"] if "value" in run.inputs else await keeping.load(blobs, run.inputs),
        "outputs": await outputs(blobs, run),
        "nodes": await _nodes(blobs, run),
        "budget": standing.spending(run, at),
        "approvals": [await approval(blobs, run, asked) for asked in run.approvals.values()] if run.approvals else [],
    }
    if run.parent is not None:
        document["parent"] = run.parent
    if run.error is not None:
        document["error"] = run.error
    return document


async def approval(blobs: keeping.Blobs, run: Run, asked: OpenApproval) -> JsonObject:
    """An open approval, with all that is known about the work that an answer would let happen."""
    work = await stakes.whole(blobs, run, asked)
    document = await question(blobs, listing.approval_document(run, asked))
    return document if work is None else {**document, "work": work}


async def question(blobs: keeping.Blobs, document: JsonObject) -> JsonObject:
    """An open approval with all that a plan shows the person whom it asks, also where its listing only names it."""
    stored = cast("JsonObject", document["tool"]).get("stored")
    if document["kind"] != "ask_human" or stored is None:
        return document
    return {**document, "args": await keeping.load(blobs, cast("JsonObject", stored))}


async def outputs(blobs: keeping.Blobs, run: Run) -> dict[str, Json]:
    """The workflow's outputs, as far as the nodes they come from are done; those of a plan are known at its end."""
    if run.course is not None:
        if not run.ended:
            return {}
        from openskelo.engine import arguments  # noqa: PLC0415  only plans need it

        return await arguments.outputs(blobs, run)
    found: dict[str, Json] = {}
    for name, binding in run.workflow.outputs.items():
        key = binding.node
        stored = run.nodes[key].outputs if key else run.inputs
        if stored is not None and "value" in stored:
            source: Any = stored["value"]
        else:
            source = await (wiring.outputs(blobs, run, key) if key else keeping.load(blobs, stored))
        if binding.port in source:
            found[name] = source[binding.port]
    return found


async def _nodes(blobs: keeping.Blobs, run: Run) -> JsonObject:
    """Every node, in few steps: who waits for a run is given its document, and most nodes have nothing special."""
    asked = {question.node for question in run.approvals.values()} if run.approvals else ()
    due = standing.retries(run) if run.timers else {}
    shapes, ended = run.workflow.nodes, run.ended
    nodes: dict[str, Json] = {}
    for key, node in run.nodes.items():
        given: Json = None
        stored = node.outputs
        if node.outcome == "succeeded" and stored is not None and "value" in stored:
            given = stored["value"]
        elif node.outcome == "succeeded":
            given = await wiring.outputs(blobs, run, key)
        document: dict[str, Json] = {
            "status": "idle" if ended else standing.node_status(run, node, asked=key in asked),
            "outcome": node.outcome or standing.outcome(run, node),
            "mode": shapes[key].mode,
            "visits": node.visit,
            "attempts": node.attempts,
            "outputs": given,
        }
        nodes[key] = document
        if node.items is not None:
            document["items"] = standing.items(node)
        if node.error is not None:
            document["error"] = node.error
        if key in due:
            document["retryAt"] = envelope.timestamp(due[key])
    return nodes
