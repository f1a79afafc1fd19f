"""The result of comparing two runs: both runs as a whole, each node, and the differences of their values.

Two runs did the same work if their receipts are equal, apart from times and attempt numbers. Time, tokens and money are
shown beside each other and make no difference.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Literal, TypeAlias

from openskelo.kernel.json import Json, JsonObject
from openskelo.structs import frozen
from openskelo.values import json_pointer

#: The result of comparing a node; `unfinished`: in one of the runs it has no outcome yet.
Verdict: TypeAlias = Literal["same", "different", "unfinished", "only_a", "only_b"]
#: In what a node of two runs can differ.
Aspect: TypeAlias = Literal["definition", "inputs", "outcome", "error", "visits", "outputs"]
#: At most this many differences of two values are listed.
MAX_CHANGES = 100


@frozen
class Change:
    """One difference between two values, at an RFC 6901 JSON pointer."""

    path: str
    kind: Literal["added", "removed", "changed"]
    before: Json = None
    after: Json = None

    def document(self) -> JsonObject:
        """Return the change as JSON, without a value that does not exist."""
        document: dict[str, Json] = {"path": self.path, "kind": self.kind}
        if self.kind != "added":
            document["before"] = self.before
        if self.kind != "removed":
            document["after"] = self.after
        return document


@frozen
class Use:
    """The use of a run, or of one node of it."""

    attempts: int = 0
    tokens: int = 0
    cost_nanousd: int = 0
    wall_ms: int = 0

    def document(self) -> JsonObject:
        """Return the use as JSON."""
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
    #: The parent of a fork, if the node's result, or some items of a foreach, were kept from there.
    kept_from: str | None = None
    #: The code and the message of a failed node.
    error: JsonObject | None = None
    #: It has no outcome yet, and may get one.
    is_open: bool = False
    #: The number of items of a foreach that were kept from the parent.
    kept_items: int = 0

    @property
    def kept(self) -> bool:
        """True if the run has a result of the node without having entered it: kept from its parent, or skipped."""
        return self.visits == 0 and self.outcome is not None

    def document(self) -> JsonObject:
        """Return the side as JSON."""
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
    """A node in both runs; a side is None where the run has no such node."""

    node: str
    a: Side | None
    b: Side | None
    #: Its definition differs.
    redefined: bool
    #: Differences of inputs that a fork has set on the node (in a plan: variables).
    inputs: tuple[Change, ...]
    outputs: tuple[Change, ...]

    @property
    def differs(self) -> tuple[Aspect, ...]:
        """Return the aspects in which the two differ; empty if only one run has the node."""
        a, b = self.a, self.b
        if a is None or b is None:
            return ()
        differences: dict[Aspect, bool] = {
            "definition": self.redefined,
            "inputs": bool(self.inputs),
            "outcome": (a.status, a.outcome) != (b.status, b.outcome),
            "error": a.error != b.error,
            "visits": a.visits != b.visits and not self.kept,
            "outputs": bool(self.outputs),
        }
        return tuple(aspect for aspect, differs in differences.items() if differs)

    @property
    def verdict(self) -> Verdict:
        """Return the result of the comparison, in one word."""
        if self.a is None:
            return "only_b"
        if self.b is None:
            return "only_a"
        if self.a.is_open or self.b.is_open:
            return "unfinished"
        return "different" if self.differs else "same"

    @property
    def same(self) -> bool:
        """True if the node and its result are known to be the same."""
        return self.verdict == "same"

    @property
    def kept(self) -> bool:
        """True if one of the runs kept the node from its parent, and so has no receipt of it."""
        return any(side is not None and side.kept for side in (self.a, self.b))

    @property
    def partly_kept(self) -> bool:
        """True if one of the runs kept the node, or some of its items, and so lacks receipts of it."""
        return self.kept or any(side is not None and side.kept_items for side in (self.a, self.b))

    def document(self) -> JsonObject:
        """Return the comparison as JSON."""
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
        """Return the run as JSON; `receiptsDigest` is that of `record.receipts.digest`."""
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
    """Two runs.

    A node that one of them kept from its parent, if only in part, counts by its result: its receipts are in the log of
    the run that did the work.
    """

    a: RunSide
    b: RunSide
    #: Their receipts are equal, apart from times.
    same_work: bool
    #: The differences of the runs' own inputs.
    inputs: tuple[Change, ...]
    #: The differences of the runs' own outputs.
    outputs: tuple[Change, ...]
    nodes: tuple[NodeComparison, ...]

    @property
    def same_workflow(self) -> bool:
        """True if both runs pinned the same workflow."""
        return self.a.workflow_hash == self.b.workflow_hash

    def document(self) -> JsonObject:
        """Return the comparison as JSON."""
        redefined_nodes: list[Json] = [
            node.node for node in self.nodes if node.redefined or node.a is None or node.b is None
        ]
        return {
            "a": self.a.document(),
            "b": self.b.document(),
            "sameWork": self.same_work,
            "sameWorkflow": self.same_workflow,
            "redefined": redefined_nodes,
            "inputs": [change.document() for change in self.inputs],
            "outputs": [change.document() for change in self.outputs],
            "nodes": [node.document() for node in self.nodes],
        }


def find_changes(before: Json, after: Json) -> list[Change]:
    """Return the differences of two JSON values, in document order, at most MAX_CHANGES."""
    return list(itertools.islice(_walk(before, after, ""), MAX_CHANGES))


def _walk(before: Json, after: Json, path: str) -> Iterator[Change]:
    match before, after:
        case dict(), dict():
            for key in dict.fromkeys((*before, *after)):
                yield from _member(before, after, key, f"{path}/{json_pointer.token(key)}")
        case list(), list():
            common_length = min(len(before), len(after))
            for index in range(common_length):
                yield from _walk(before[index], after[index], f"{path}/{index}")
            for index in range(common_length, len(before)):
                yield Change(path=f"{path}/{index}", kind="removed", before=before[index])
            for index in range(common_length, len(after)):
                yield Change(path=f"{path}/{index}", kind="added", after=after[index])
        case _:
            # True == 1 in Python, but not in JSON.
            if before != after or isinstance(before, bool) != isinstance(after, bool):
                yield Change(path=path, kind="changed", before=before, after=after)


def _member(before: JsonObject, after: JsonObject, key: str, path: str) -> Iterator[Change]:
    if key not in after:
        yield Change(path=path, kind="removed", before=before[key])
    elif key not in before:
        yield Change(path=path, kind="added", after=after[key])
    else:
        yield from _walk(before[key], after[key], path)
