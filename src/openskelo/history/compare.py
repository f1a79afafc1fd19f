"""Compare two runs of a store: walk through both logs, then compare the runs, their receipts and each node.

Comparing long runs takes a while, so a server must go on meanwhile: the walks yield to other tasks, and the digests of
all receipts are computed in threads.
"""

from __future__ import annotations

import asyncio
from typing import cast

from openskelo import errors
from openskelo.executors import stored_values
from openskelo.executors.inputs import node_inputs
from openskelo.history import comparison_result, loading, run_document
from openskelo.kernel import budget, ids, workflow_codec
from openskelo.kernel.json import JsonObject
from openskelo.kernel.run import NodeState, Run, status
from openskelo.record import receipts
from openskelo.stores import api
from openskelo.structs import field, mutable

#: After this many events or nodes other tasks run.
_STEPS_PER_YIELD = 100


@mutable
class _Side:
    """A run at the end of its log, with its receipts and what each node used."""

    run: Run
    receipts: list[JsonObject] = field(default_factory=list[JsonObject])
    uses: dict[str, comparison_result.Use] = field(default_factory=dict[str, comparison_result.Use])


async def compare(store: api.RunLog, run_a: str, run_b: str) -> comparison_result.Comparison:
    """Compare two runs of one store, ended or not. Raise NotFound, or Corrupt for an unreadable log."""
    a, b = await _load(store, run_a), await _load(store, run_b)
    inputs_a, inputs_b = [await stored_values.load(store, side.run.inputs) for side in (a, b)]
    outputs_a, outputs_b = [await run_document.outputs(store, side.run) for side in (a, b)]
    nodes = await _compare_nodes(store, a, b)
    return comparison_result.Comparison(
        a=await asyncio.to_thread(_run_side, a),
        b=await asyncio.to_thread(_run_side, b),
        same_work=await asyncio.to_thread(_is_same_work, a, b, nodes),
        inputs=tuple(comparison_result.find_changes(inputs_a, inputs_b)),
        outputs=tuple(comparison_result.find_changes(outputs_a, outputs_b)),
        nodes=nodes,
    )


def _is_same_work(a: _Side, b: _Side, nodes: tuple[comparison_result.NodeComparison, ...]) -> bool:
    """True if the receipts are equal; nodes that a fork kept have none, and must have the same result instead."""
    kept_nodes = [node for node in nodes if node.partly_kept]
    kept_keys = {node.node for node in kept_nodes}
    digests = [
        receipts.digest([receipt for receipt in side.receipts if receipt["step_id"] not in kept_keys])
        for side in (a, b)
    ]
    return digests[0] == digests[1] and all(node.same for node in kept_nodes)


async def _load(store: api.RunLog, run_id: str) -> _Side:
    side: _Side | None = None
    count = 0
    async for run, event in loading.walk_events(store, run_id):
        side = side or _Side(run)
        count += 1
        if count % _STEPS_PER_YIELD == 0:
            await asyncio.sleep(0)
        receipt = receipts.of(event)
        if receipt is None:
            continue
        fault = receipts.find_shape_fault(receipt)
        if fault is not None:
            raise errors.Corrupt(
                f"a receipt of run {run_id}: {fault}", hint=f"`skelo verify {ids.short(run_id)}` says more"
            )
        side.receipts.append(receipt)
        key = cast("str", receipt["step_id"])
        usage = cast("JsonObject", getattr(event, "spent", None) or {})
        side.uses[key] = _add_use(side.uses.get(key, comparison_result.Use()), receipt, usage)
    assert side is not None  # noqa: S101  walk_events raises NotFound for a run without events
    return side


def _add_use(use: comparison_result.Use, receipt: JsonObject, spent: JsonObject) -> comparison_result.Use:
    metrics = cast("dict[str, int]", receipt["metrics"])
    return comparison_result.Use(
        attempts=use.attempts + 1,
        tokens=use.tokens + metrics["tokens_in"] + metrics["tokens_out"],
        cost_nanousd=use.cost_nanousd + cast("int", spent.get("costNanousd", 0)),
        wall_ms=use.wall_ms + metrics["wall_ms"],
    )


def _run_side(side: _Side) -> comparison_result.RunSide:
    run = side.run
    return comparison_result.RunSide(
        run_id=run.id,
        workflow=run.workflow.name,
        workflow_hash=run.workflow.hash,
        status=status(run),
        ending=run.ending if run.ended else None,
        digest=receipts.digest(side.receipts),
        use=comparison_result.Use(
            attempts=run.receipts,
            tokens=run.spent.tokens,
            cost_nanousd=run.spent.cost_nanousd,
            wall_ms=budget.wall_ms(run, run.updated_at),
        ),
    )


async def _compare_nodes(store: api.RunLog, a: _Side, b: _Side) -> tuple[comparison_result.NodeComparison, ...]:
    comparisons: list[comparison_result.NodeComparison] = []
    for key in dict.fromkeys((*a.run.workflow.nodes, *b.run.workflow.nodes)):
        comparisons.append(await _compare_node(store, key, a, b))
        if len(comparisons) % _STEPS_PER_YIELD == 0:
            await asyncio.sleep(0)
    return tuple(comparisons)


async def _compare_node(store: api.RunLog, key: str, a: _Side, b: _Side) -> comparison_result.NodeComparison:
    is_in_both = key in a.run.workflow.nodes and key in b.run.workflow.nodes
    inputs: list[comparison_result.Change] = []
    outputs: list[comparison_result.Change] = []
    if is_in_both:
        inputs = await _compare_inputs(store, key, a.run, b.run)
        outputs = comparison_result.find_changes(
            await _node_outputs(store, a.run, key), await _node_outputs(store, b.run, key)
        )
    return comparison_result.NodeComparison(
        node=key,
        a=_node_side(key, a),
        b=_node_side(key, b),
        redefined=is_in_both and _is_redefined(key, a.run, b.run),
        inputs=tuple(inputs),
        outputs=tuple(outputs),
    )


def _is_redefined(key: str, a: Run, b: Run) -> bool:
    before, after = a.workflow.nodes[key], b.workflow.nodes[key]
    return before != after and workflow_codec.encode_node(before) != workflow_codec.encode_node(after)


def _node_side(key: str, side: _Side) -> comparison_result.Side | None:
    run = side.run
    node = run.nodes.get(key)
    if node is None:
        return None
    has_kept_outputs = node.kept_slots or (node.visit == 0 and node.outcome not in (None, "skipped"))
    return comparison_result.Side(
        status=node.status,
        outcome=node.outcome,
        visits=node.visit,
        use=side.uses.get(key, comparison_result.Use()),
        kept_from=cast("str", run.parent["runId"]) if has_kept_outputs and run.parent is not None else None,
        error=_error(node),
        is_open=node.outcome is None and not run.ended,
        kept_items=node.kept_slots,
    )


def _error(node: NodeState) -> JsonObject | None:
    if node.outcome != "failed" or node.error is None:
        return None
    return {"code": node.error["code"], "message": node.error["message"]}


async def _compare_inputs(store: api.RunLog, key: str, a: Run, b: Run) -> list[comparison_result.Change]:
    """Return the differences of inputs that a fork has set; all others follow from the outputs of other nodes."""
    names = {*node_inputs.fork_changes(a, key), *node_inputs.fork_changes(b, key)}
    if not names:
        return []
    inputs_a, inputs_b = [await _node_inputs(store, run, key) for run in (a, b)]
    before = {name: inputs_a[name] for name in sorted(names) if name in inputs_a}
    after = {name: inputs_b[name] for name in sorted(names) if name in inputs_b}
    return comparison_result.find_changes(before, after)


async def _node_inputs(store: api.RunLog, run: Run, key: str) -> JsonObject:
    """Return a block's inputs, or the variables with which a plan's step was last entered."""
    if run.plan_state is None:
        return await node_inputs.inputs(store, run, run.workflow.nodes[key])
    return {**await loading.plan_variables_before(store, run.id, key), **node_inputs.fork_changes(run, key)}


async def _node_outputs(store: api.RunLog, run: Run, key: str) -> JsonObject:
    if run.nodes[key].outcome == "succeeded":
        return await node_inputs.outputs(store, run, key)
    return {}
