"""Compare two runs of a store: fold both, and look at what became of each node, and where their outputs part."""

from __future__ import annotations

import asyncio
from typing import cast

from openskelo import errors
from openskelo.contract import receipts
from openskelo.engine import comparison, difference, document, garbage, unfolding, wiring
from openskelo.executors import keeping
from openskelo.frozen import field, mutable
from openskelo.kernel import budget, codec
from openskelo.kernel.json import JsonObject
from openskelo.kernel.run import NodeState, Run, status
from openskelo.stores import log

#: After so many events or nodes others have their turn: a server goes on meanwhile.
_TURN = 100


@mutable
class _Side:
    """A run folded for comparison, with what each node used."""

    run: Run
    receipts: list[JsonObject] = field(default_factory=list[JsonObject])
    uses: dict[str, comparison.Use] = field(default_factory=dict[str, comparison.Use])


async def compare(store: log.Log, run_a: str, run_b: str) -> comparison.Comparison:
    """Compare two runs of one store, ended or not (NotFound, Corrupt). Others have their turn all the while."""
    with garbage.seldom():
        a, b = await _load(store, run_a), await _load(store, run_b)
        inputs = difference.find(await keeping.load(store, a.run.inputs), await keeping.load(store, b.run.inputs))
        outputs = difference.find(await document.outputs(store, a.run), await document.outputs(store, b.run))
        nodes = await _nodes(store, a, b)
        # As threads: many receipts take long to digest, and others have their turn meanwhile.
        same = await asyncio.to_thread(_same_work, a, b, nodes)
        return comparison.Comparison(
            a=await asyncio.to_thread(_run_side, a),
            b=await asyncio.to_thread(_run_side, b),
            same_work=same,
            inputs=tuple(inputs),
            outputs=tuple(outputs),
            nodes=nodes,
        )


def _same_work(a: _Side, b: _Side, nodes: tuple[comparison.NodeComparison, ...]) -> bool:
    kept = {node.node for node in nodes if node.partly_kept}
    done = [[receipt for receipt in side.receipts if receipt["step_id"] not in kept] for side in (a, b)]
    return receipts.digest(done[0]) == receipts.digest(done[1]) and all(node.same for node in nodes if node.partly_kept)


async def _load(store: log.Log, run_id: str) -> _Side:
    side: _Side | None = None
    seen = 0
    async for run, event in unfolding.unfold(store, run_id):
        side = side or _Side(run)
        seen += 1
        if seen % _TURN == 0:
            await asyncio.sleep(0)
        receipt = receipts.of(event)
        if receipt is None:
            continue
        if (wrong := receipts.shape(receipt)) is not None:
            raise errors.Corrupt(f"a receipt of run {run_id}: {wrong}", hint=f"`skelo verify {run_id}` says more")
        side.receipts.append(receipt)
        key = cast("str", receipt["step_id"])
        spent = cast("JsonObject", getattr(event, "spent", None) or {})
        side.uses[key] = _add(side.uses.get(key, comparison.Use()), receipt, spent)
    assert side is not None  # noqa: S101  unfold raises NotFound for a run without events
    return side


def _add(use: comparison.Use, receipt: JsonObject, spent: JsonObject) -> comparison.Use:
    metrics = cast("dict[str, int]", receipt["metrics"])
    return comparison.Use(
        attempts=use.attempts + 1,
        tokens=use.tokens + metrics["tokens_in"] + metrics["tokens_out"],
        cost_nanousd=use.cost_nanousd + cast("int", spent.get("costNanousd", 0)),
        wall_ms=use.wall_ms + metrics["wall_ms"],
    )


def _run_side(side: _Side) -> comparison.RunSide:
    run = side.run
    return comparison.RunSide(
        run_id=run.id,
        workflow=run.workflow.name,
        workflow_hash=run.workflow.hash,
        status=status(run),
        ending=run.ending if run.ended else None,
        digest=receipts.digest(side.receipts),
        use=comparison.Use(
            attempts=run.receipts,
            tokens=run.spent.tokens,
            cost_nanousd=run.spent.cost_nanousd,
            wall_ms=budget.wall_ms(run, run.updated_at),
        ),
    )


async def _nodes(store: log.Log, a: _Side, b: _Side) -> tuple[comparison.NodeComparison, ...]:
    found: list[comparison.NodeComparison] = []
    for key in dict.fromkeys((*a.run.workflow.nodes, *b.run.workflow.nodes)):
        found.append(await _node(store, key, a, b))
        if len(found) % _TURN == 0:
            await asyncio.sleep(0)
    return tuple(found)


async def _node(store: log.Log, key: str, a: _Side, b: _Side) -> comparison.NodeComparison:
    both = key in a.run.workflow.nodes and key in b.run.workflow.nodes
    inputs: list[difference.Change] = []
    outputs: list[difference.Change] = []
    if both:
        inputs = await _inputs(store, key, a.run, b.run)
        outputs = difference.find(await _outputs(store, a.run, key), await _outputs(store, b.run, key))
    return comparison.NodeComparison(
        node=key,
        a=_node_side(key, a),
        b=_node_side(key, b),
        redefined=both and _redefined(key, a.run, b.run),
        inputs=tuple(inputs),
        outputs=tuple(outputs),
    )


def _redefined(key: str, a: Run, b: Run) -> bool:
    before, after = a.workflow.nodes[key], b.workflow.nodes[key]
    return before != after and codec.encode_node(before) != codec.encode_node(after)


def _node_side(key: str, side: _Side) -> comparison.Side | None:
    run = side.run
    node = run.nodes.get(key)
    if node is None:
        return None
    kept = node.kept_slots or (node.visit == 0 and node.outcome not in (None, "skipped"))
    return comparison.Side(
        status=node.status,
        outcome=node.outcome,
        visits=node.visit,
        use=side.uses.get(key, comparison.Use()),
        kept_from=cast("str", run.parent["runId"]) if kept and run.parent is not None else None,
        error=_error(node),
        is_open=node.outcome is None and not run.ended,
        kept_items=node.kept_slots,
    )


def _error(node: NodeState) -> JsonObject | None:
    if node.outcome != "failed" or node.error is None:
        return None
    return {"code": node.error["code"], "message": node.error["message"]}


async def _inputs(store: log.Log, key: str, a: Run, b: Run) -> list[difference.Change]:
    """Where the two part in what a fork has set: everything else follows from what other nodes gave."""
    names = {*wiring.forked(a, key), *wiring.forked(b, key)}
    if not names:
        return []
    given = [await _given(store, run, key) for run in (a, b)]
    before, after = ({name: value for name, value in sorted(values.items()) if name in names} for values in given)
    return difference.find(before, after)


async def _given(store: log.Log, run: Run, key: str) -> JsonObject:
    """A block's inputs, or the variables that a plan's step was last entered with."""
    if run.course is None:
        return await wiring.inputs(store, run, run.workflow.nodes[key])
    from openskelo.engine import fork_plan  # noqa: PLC0415  only plans need it

    return {**await fork_plan.variables_before(store, run.id, key), **wiring.forked(run, key)}


async def _outputs(store: log.Log, run: Run, key: str) -> JsonObject:
    return await wiring.outputs(store, run, key) if run.nodes[key].outcome == "succeeded" else {}
