"""Compare two runs node by node: what they were, what became of each node, and where their outputs part."""

from __future__ import annotations

from typing import cast

from openskelo import errors
from openskelo.contract import receipts
from openskelo.engine import difference, unfolding, wiring
from openskelo.frozen import field, frozen, mutable
from openskelo.kernel import budget, codec
from openskelo.kernel.json import Json, JsonObject
from openskelo.kernel.run import Run, status
from openskelo.stores import log


@frozen
class Use:
    """What a run, or one node of it, took."""

    attempts: int = 0
    tokens: int = 0
    cost_nanousd: int = 0
    wall_ms: int = 0

    def document(self) -> JsonObject:
        """The use as JSON."""
        return {
            "attempts": self.attempts,
            "tokens": self.tokens,
            "costUsd": self.cost_nanousd / 1e9,
            "wallMs": self.wall_ms,
        }


@frozen
class Side:
    """One node in one run."""

    status: str
    outcome: str | None
    visits: int
    use: Use

    @property
    def kept(self) -> bool:
        """Whether the run took the node over from the one it was forked from, and never entered it."""
        return self.visits == 0 and self.outcome is not None

    def document(self) -> JsonObject:
        """The side as JSON."""
        return {"status": self.status, "outcome": self.outcome, "visits": self.visits, **self.use.document()}


@frozen
class NodeComparison:
    """A node in both runs; a side is None where the run has no such node. `redefined`: its definition differs.

    `inputs` are those that a fork has set on the node (of a plan: variables), where that makes a difference.
    """

    node: str
    a: Side | None
    b: Side | None
    redefined: bool
    inputs: tuple[difference.Change, ...]
    outputs: tuple[difference.Change, ...]

    @property
    def same(self) -> bool:
        """Whether node and result are the same; time, tokens and money do not count."""
        if self.a is None or self.b is None or self.redefined or self.inputs or self.outputs:
            return False
        if (self.a.status, self.a.outcome) != (self.b.status, self.b.outcome):
            return False
        return self.a.visits == self.b.visits or self.kept

    @property
    def kept(self) -> bool:
        """Whether one of the runs took the node over from another one, and so has no receipt of it."""
        return any(side is not None and side.kept for side in (self.a, self.b))

    def document(self) -> JsonObject:
        """The comparison as JSON."""
        return {
            "node": self.node,
            "same": self.same,
            "redefined": self.redefined,
            "a": None if self.a is None else self.a.document(),
            "b": None if self.b is None else self.b.document(),
            "inputs": [change.document() for change in self.inputs],
            "outputs": [change.document() for change in self.outputs],
        }


@frozen
class RunSide:
    """One of the two runs as a whole."""

    run_id: str
    workflow: str
    workflow_hash: str
    status: str
    ending: str | None
    digest: str
    use: Use

    def document(self) -> JsonObject:
        """The run as JSON; `receiptsDigest` is that of `contract.receipts.digest`."""
        return {
            "runId": self.run_id,
            "workflow": self.workflow,
            "workflowHash": self.workflow_hash,
            "status": self.status,
            "ending": self.ending,
            "receiptsDigest": self.digest,
            **self.use.document(),
        }


@frozen
class Comparison:
    """Two runs. `same_work`: their receipts, without what the clock adds, are equal.

    A node that one of them took over counts by its result: its receipt is in the log of the run that did the work.
    """

    a: RunSide
    b: RunSide
    same_work: bool
    inputs: tuple[difference.Change, ...]
    nodes: tuple[NodeComparison, ...]

    @property
    def same_workflow(self) -> bool:
        """Whether both pinned the same workflow."""
        return self.a.workflow_hash == self.b.workflow_hash

    def document(self) -> JsonObject:
        """The comparison as JSON."""
        redefined: list[Json] = [node.node for node in self.nodes if node.redefined or node.a is None or node.b is None]
        return {
            "a": self.a.document(),
            "b": self.b.document(),
            "sameWork": self.same_work,
            "sameWorkflow": self.same_workflow,
            "redefined": redefined,
            "inputs": [change.document() for change in self.inputs],
            "nodes": [node.document() for node in self.nodes],
        }


@mutable
class _Side:
    """A run folded for comparison, with what each node used."""

    run: Run
    receipts: list[JsonObject] = field(default_factory=list[JsonObject])
    uses: dict[str, Use] = field(default_factory=dict[str, Use])


async def compare(store: log.Log, run_a: str, run_b: str) -> Comparison:
    """Compare two runs of one store, ended or not (NotFound, Corrupt)."""
    a, b = await _load(store, run_a), await _load(store, run_b)
    inputs = difference.find(await wiring.load(store, a.run.inputs), await wiring.load(store, b.run.inputs))
    keys = dict.fromkeys((*a.run.workflow.nodes, *b.run.workflow.nodes))
    nodes = tuple([await _node(store, key, a, b) for key in keys])
    same = _same_work(a, b, nodes)
    return Comparison(a=_run_side(a), b=_run_side(b), same_work=same, inputs=tuple(inputs), nodes=nodes)


def _same_work(a: _Side, b: _Side, nodes: tuple[NodeComparison, ...]) -> bool:
    kept = {node.node for node in nodes if node.kept}
    done = [[receipt for receipt in side.receipts if receipt["step_id"] not in kept] for side in (a, b)]
    return receipts.digest(done[0]) == receipts.digest(done[1]) and all(node.same for node in nodes if node.kept)


async def _load(store: log.Log, run_id: str) -> _Side:
    side: _Side | None = None
    async for run, event in unfolding.unfold(store, run_id):
        side = side or _Side(run)
        receipt = receipts.of(event)
        if receipt is None:
            continue
        if (wrong := receipts.shape(receipt)) is not None:
            raise errors.Corrupt(f"a receipt of run {run_id}: {wrong}", hint=f"`skelo verify {run_id}` says more")
        side.receipts.append(receipt)
        key = cast("str", receipt["step_id"])
        spent = cast("JsonObject", getattr(event, "spent", None) or {})
        side.uses[key] = _add(side.uses.get(key, Use()), receipt, spent)
    assert side is not None  # noqa: S101  unfold raises NotFound for a run without events
    return side


def _add(use: Use, receipt: JsonObject, spent: JsonObject) -> Use:
    metrics = cast("dict[str, int]", receipt["metrics"])
    return Use(
        attempts=use.attempts + 1,
        tokens=use.tokens + metrics["tokens_in"] + metrics["tokens_out"],
        cost_nanousd=use.cost_nanousd + cast("int", spent.get("costNanousd", 0)),
        wall_ms=use.wall_ms + metrics["wall_ms"],
    )


def _run_side(side: _Side) -> RunSide:
    run = side.run
    return RunSide(
        run_id=run.id,
        workflow=run.workflow.name,
        workflow_hash=run.workflow.hash,
        status=status(run),
        ending=run.ending if run.ended else None,
        digest=receipts.digest(side.receipts),
        use=Use(
            attempts=run.receipts,
            tokens=run.spent.tokens,
            cost_nanousd=run.spent.cost_nanousd,
            wall_ms=budget.wall_ms(run, run.updated_at),
        ),
    )


async def _node(store: log.Log, key: str, a: _Side, b: _Side) -> NodeComparison:
    before, after = a.run.workflow.nodes.get(key), b.run.workflow.nodes.get(key)
    redefined = before is not None and after is not None and codec.encode_node(before) != codec.encode_node(after)
    inputs: list[difference.Change] = []
    outputs: list[difference.Change] = []
    if before is not None and after is not None:
        inputs = await _inputs(store, key, a.run, b.run)
        outputs = difference.find(await _outputs(store, a.run, key), await _outputs(store, b.run, key))
    return NodeComparison(
        node=key,
        a=_node_side(key, a),
        b=_node_side(key, b),
        redefined=redefined,
        inputs=tuple(inputs),
        outputs=tuple(outputs),
    )


def _node_side(key: str, side: _Side) -> Side | None:
    node = side.run.nodes.get(key)
    if node is None:
        return None
    return Side(status=node.status, outcome=node.outcome, visits=node.visit, use=side.uses.get(key, Use()))


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
