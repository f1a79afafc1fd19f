"""The document of `show --json`: a run as programs read it, made from its state alone.

The types say which keys are there. A document may get more keys in later versions.
"""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypedDict, cast

from openskelo.executors import stored_values
from openskelo.executors.inputs import approval_context, node_inputs
from openskelo.history import listing
from openskelo.kernel import calls, events
from openskelo.kernel.json import Json, JsonObject
from openskelo.kernel.run import NodeOutcome, OpenApproval, Run, status
from openskelo.record import envelope
from openskelo.stores import api
from openskelo.wire import run_status


class Amount(TypedDict):
    """The use of one budget."""

    used: float
    #: None: no limit.
    limit: float | None
    #: The use is only partly known.
    unknown: NotRequired[bool]


class Budget(TypedDict):
    """The budgets of a run."""

    steps: Amount
    tokens: Amount
    costUsd: Amount
    wallMs: Amount
    toolSpendUsd: Amount


class RunError(TypedDict):
    """The failure of a run or of a node."""

    code: str
    message: str
    node: NotRequired[str]
    #: The index of the failed item of a foreach.
    item: NotRequired[int]


class NodeDocument(TypedDict):
    """A node of a run."""

    status: run_status.NodeStatus
    outcome: NodeOutcome | None
    mode: str
    visits: int
    attempts: int
    #: None until the node has succeeded.
    outputs: JsonObject | None
    items: NotRequired[JsonObject]
    #: Of an agent, as `skelo show` counts them.
    calls: NotRequired[int]
    error: NotRequired[RunError]
    retryAt: NotRequired[str]


class ApprovalDocument(TypedDict):
    """An open question to a person. Times are ISO 8601 texts."""

    id: str
    runId: str
    node: str
    kind: str
    prompt: str
    #: The JSON Schema of what an answer may change.
    form: JsonObject
    #: What is asked.
    args: JsonObject
    approvers: list[str]
    digest: str
    expiresAt: str | None
    tool: JsonObject
    #: About the work that an answer would allow.
    work: NotRequired[JsonObject]
    #: In a list of open approvals: the name of its run, since when, in which visit, and for which item of a foreach.
    runName: NotRequired[str]
    requestedAt: NotRequired[str]
    visit: NotRequired[int]
    item: NotRequired[int | None]


class RunDocument(TypedDict):
    """A run, as `skelo show --json` prints it."""

    runId: str
    name: str
    workflowHash: str
    status: Literal["queued", "running", "paused", "completed", "failed"]
    #: None until the run has ended.
    ending: events.Ending | None
    phase: run_status.Phase
    mode: Literal["AUTO", "INTERACTIVE"]
    globalMode: Literal["IMPLEMENTATION", "PLANNING"]
    createdAt: str
    updatedAt: str
    inputs: JsonObject
    outputs: JsonObject
    nodes: dict[str, NodeDocument]
    budget: Budget
    approvals: list[ApprovalDocument]
    parent: NotRequired[JsonObject]
    error: NotRequired[RunError]
    #: Why the run is paused until it is resumed: a suspension, what a person wrote, or what is missing.
    pauseReason: NotRequired[str]


async def show(blobs: api.BlobReader, run: Run, at: int) -> RunDocument:
    """Return the run's document. `at` is the time up to which a run that is busy has used wall time."""
    document: RunDocument = {
        "runId": run.id,
        "name": run.workflow.name,
        "workflowHash": run.workflow.hash,
        "status": status(run),
        "ending": run.ending if run.ended else None,
        "phase": run_status.run_phase(run),
        "mode": run.mode,
        "globalMode": run.global_mode,
        "createdAt": envelope.timestamp(run.created_at),
        "updatedAt": envelope.timestamp(run.updated_at),
        "inputs": cast("JsonObject", await stored_values.load(blobs, run.inputs)),
        "outputs": await outputs(blobs, run),
        "nodes": await _nodes(blobs, run),
        "budget": _budget(run, at),
        "approvals": [await approval_document(blobs, run, approval) for approval in run.approvals.values()],
    }
    if run.parent is not None:
        document["parent"] = run.parent
    if run.error is not None:
        document["error"] = cast("RunError", run.error)
    if run.paused is not None and not run.ended:
        document["pauseReason"] = run.paused
    return document


def _budget(run: Run, at: int) -> Budget:
    budget = cast("Budget", run_status.budget_usage(run, at))
    if run_status.is_cost_unknown(run):
        budget["costUsd"]["unknown"] = True
    return budget


async def approval_document(blobs: api.BlobReader, run: Run, approval: OpenApproval) -> ApprovalDocument:
    """Return an open approval, with everything about the work that an answer would allow."""
    work = await approval_context.load(blobs, run, approval)
    document = await question(blobs, listing.approval_document(run, approval))
    if work is not None:
        document["work"] = work
    return document


async def question(blobs: api.BlobReader, listed: JsonObject) -> ApprovalDocument:
    """Return an open approval with what a plan or an agent's call shows, loaded if the listing only names its blob."""
    document = cast("ApprovalDocument", {**listed})
    stored_args = document["tool"].get("stored")
    if document["kind"] in ("ask_human", calls.CALL) and stored_args is not None:
        document["args"] = cast("JsonObject", await stored_values.load(blobs, cast("JsonObject", stored_args)))
    return document


async def outputs(blobs: api.BlobReader, run: Run) -> dict[str, Json]:
    """Return the workflow's outputs, as far as their nodes are done; those of a plan are known at its end."""
    if run.plan_state is not None:
        if not run.ended:
            return {}

        return await node_inputs.plan_outputs(blobs, run)
    values: dict[str, Json] = {}
    for name, binding in run.workflow.outputs.items():
        key = binding.node
        stored_outputs = run.nodes[key].outputs if key else run.inputs
        if stored_outputs is not None and "value" in stored_outputs:
            source: Any = stored_outputs["value"]
        else:
            source = await (node_inputs.outputs(blobs, run, key) if key else stored_values.load(blobs, stored_outputs))
        if binding.port in source:
            values[name] = source[binding.port]
    return values


async def _nodes(blobs: api.BlobReader, run: Run) -> dict[str, NodeDocument]:
    """Return the documents of all nodes."""
    waiting = {approval.node for approval in run.approvals.values()}
    due = run_status.retry_times(run) if run.timers else {}
    shapes = run.workflow.nodes
    nodes: dict[str, NodeDocument] = {}
    for key, node in run.nodes.items():
        node_outputs: JsonObject | None = None
        stored_outputs = node.outputs
        if node.outcome == "succeeded" and stored_outputs is not None and "value" in stored_outputs:
            node_outputs = cast("JsonObject", stored_outputs["value"])
        elif node.outcome == "succeeded":
            node_outputs = await node_inputs.outputs(blobs, run, key)
        document: NodeDocument = {
            "status": run_status.node_status(run, node, has_approval=key in waiting),
            "outcome": node.outcome or run_status.node_outcome(run, node),
            "mode": shapes[key].mode,
            "visits": node.visit,
            "attempts": node.attempts,
            "outputs": node_outputs,
        }
        nodes[key] = document
        if node.items is not None:
            document["items"] = run_status.item_counts(node)
        if node.error is not None:
            document["error"] = cast("RunError", node.error)
        if key in due:
            document["retryAt"] = envelope.timestamp(due[key])
    return nodes
