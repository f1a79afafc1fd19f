"""What a comparison of two runs says: the runs, and of each node whether it is the same, and if not, in what."""

from __future__ import annotations

from typing import Literal, TypeAlias

from openskelo.engine import difference
from openskelo.frozen import frozen
from openskelo.kernel.json import Json, JsonObject

#: What became of a node in two runs; `unfinished`: one of them may still come to another result.
Verdict: TypeAlias = Literal["same", "different", "unfinished", "only_a", "only_b"]
#: In what a node of two runs differs; time, tokens and money do not count.
Aspect: TypeAlias = Literal["definition", "inputs", "outcome", "error", "visits", "outputs"]


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
    """One node in one run.

    `kept_from` is the run that this one was forked from, where the result was taken over from there, or `kept_items` of
    a foreach. `error` is the code and the message of a node that has failed. `is_open`: it has no outcome yet, and may
    get one.
    """

    status: str
    outcome: str | None
    visits: int
    use: Use
    kept_from: str | None = None
    error: JsonObject | None = None
    is_open: bool = False
    kept_items: int = 0

    @property
    def kept(self) -> bool:
        """Whether the run has a result of the node without having entered it: taken over from another, or skipped."""
        return self.visits == 0 and self.outcome is not None

    def document(self) -> JsonObject:
        """The side as JSON."""
        return {
            "status": self.status,
            "outcome": self.outcome,
            "visits": self.visits,
            "keptFrom": self.kept_from,
            "keptItems": self.kept_items,
            "error": self.error,
            **self.use.document(),
        }


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
    def differs(self) -> tuple[Aspect, ...]:
        """In what the two differ; nothing where only one run has the node."""
        a, b = self.a, self.b
        if a is None or b is None:
            return ()
        found: dict[Aspect, bool] = {
            "definition": self.redefined,
            "inputs": bool(self.inputs),
            "outcome": (a.status, a.outcome) != (b.status, b.outcome),
            "error": a.error != b.error,
            "visits": a.visits != b.visits and not self.kept,
            "outputs": bool(self.outputs),
        }
        return tuple(aspect for aspect, parted in found.items() if parted)

    @property
    def verdict(self) -> Verdict:
        """What became of the node, in one word."""
        if self.a is None:
            return "only_b"
        if self.b is None:
            return "only_a"
        if self.a.is_open or self.b.is_open:
            return "unfinished"
        return "different" if self.differs else "same"

    @property
    def same(self) -> bool:
        """Whether node and result are known to be the same."""
        return self.verdict == "same"

    @property
    def kept(self) -> bool:
        """Whether one of the runs took the node over from another one, and so has no receipt of it."""
        return any(side is not None and side.kept for side in (self.a, self.b))

    @property
    def partly_kept(self) -> bool:
        """Whether one of the runs took the node over, or some of its items, and so lacks receipts of it."""
        return self.kept or any(side is not None and side.kept_items for side in (self.a, self.b))

    def document(self) -> JsonObject:
        """The comparison as JSON."""
        verdict = self.verdict
        return {
            "node": self.node,
            "same": verdict == "same",
            "verdict": verdict,
            "differs": list[Json](self.differs),
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

    A node that one of them took over, if only in part, counts by its result: receipts of it are in the log of the run
    that did the work.
    `inputs` and `outputs` are where the two part in what the runs themselves were given and gave.
    """

    a: RunSide
    b: RunSide
    same_work: bool
    inputs: tuple[difference.Change, ...]
    outputs: tuple[difference.Change, ...]
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
            "outputs": [change.document() for change in self.outputs],
            "nodes": [node.document() for node in self.nodes],
        }
