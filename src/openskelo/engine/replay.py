"""Do the pure, deterministic steps of a run again and compare hashes; check what else was kept against its receipts.

Nothing outside is touched: no gate, no model, no effect. What an attempt saw is found by folding the log up to it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Protocol, cast

from openskelo import errors
from openskelo.contract import receipts
from openskelo.engine import unfolding, wiring
from openskelo.executors import attempt, job, task
from openskelo.frozen import field, frozen, replace
from openskelo.kernel import definition, events
from openskelo.kernel.json import Json, JsonObject
from openskelo.kernel.run import Run
from openskelo.stores import log
from openskelo.values import canonical

#: `same` and `different`: done again. `checked`: the kept outputs are those of the receipt. `unchecked`: `reason` says
#: why there was nothing to compare. `altered`: the kept outputs are not those of the receipt, or are gone.
Result = Literal["same", "different", "checked", "unchecked", "altered"]


class Performs(Protocol):
    """What replay needs of `executors.attempt.Performer`. Give it `Nowhere` as its blobs."""

    async def perform(self, one: job.Job) -> attempt.Attempted: ...


class Nowhere:
    """Blobs that are named and thrown away, so that a replay leaves nothing behind."""

    async def put_blob(self, data: bytes) -> str:
        """The name that the data would have."""
        return canonical.digest_bytes(data)


@frozen
class Step:
    """What became of one attempt's receipt. `recorded` and `found` are output hashes."""

    node: str
    visit: int
    attempt: int
    result: Result
    recorded: str
    found: str | None = None
    reason: str = ""
    item: int | None = None

    def document(self) -> JsonObject:
        """The step as JSON."""
        document: dict[str, Json] = {
            "node": self.node,
            "visit": self.visit,
            "attempt": self.attempt,
            "result": self.result,
            "recorded": self.recorded,
            "found": self.found,
        }
        if self.item is not None:
            document["item"] = self.item
        if self.reason:
            document["reason"] = self.reason
        return document


@frozen
class Report:
    """All attempts in the order of their receipts."""

    run_id: str
    steps: Sequence[Step] = field(default_factory=tuple[Step, ...])

    @property
    def ok(self) -> bool:
        """Whether nothing came out different and nothing kept was altered."""
        return not any(step.result in ("different", "altered") for step in self.steps)

    def document(self) -> JsonObject:
        """The report as JSON, with a count of each result."""
        counts: dict[str, Json] = dict.fromkeys(("same", "different", "checked", "unchecked", "altered"), 0)
        for step in self.steps:
            counts[step.result] = cast("int", counts[step.result]) + 1
        return {
            "runId": self.run_id,
            "ok": self.ok,
            "counts": counts,
            "steps": [step.document() for step in self.steps],
        }


async def replay(store: log.Log, run_id: str, performer: Performs) -> Report:
    """Replay a run, ended or not (NotFound; Corrupt when its log cannot be read)."""
    steps: list[Step] = []
    tasks: dict[tuple[str, int, int], task.Task] = {}
    bare: dict[int, tuple[definition.Node, definition.Node]] = {}
    visits = wiring.Visits()
    async for run, event in unfolding.unfold(store, run_id):
        match event:
            case events.AttemptStarted() if _repeatable(run.workflow.nodes[event.node]):
                place = (event.node, event.visit, event.item or 0)
                made = await wiring.make_task(store, run, run.in_flight[place], visits)
                pair = bare.setdefault(id(made.node), (made.node, _without_gates(made.node)))
                tasks[place] = replace(made, node=pair[1], done=None)
            case events.AttemptSucceeded():
                again = tasks.pop((event.node, event.visit, event.item or 0), None)
                steps.append(await _compare(store, run, event, again, performer))
            case events.AttemptFailed() | events.AttemptInterrupted() | events.AttemptCancelled():
                tasks.pop((event.node, event.visit, event.item or 0), None)
                status = cast("str", event.receipt["status"])
                steps.append(_step(event, "unchecked", reason=f"the attempt {_ENDINGS[status]}"))
            case _:
                pass
    return Report(run_id=run_id, steps=tuple(steps))


_ENDINGS = {"failed": "failed", "interrupted": "was interrupted", "cancelled": "was cancelled"}


def _repeatable(node: definition.Node) -> bool:
    return node.effect == "pure" and node.mode in ("deterministic", "dag")


def _without_gates(node: definition.Node) -> definition.Node:
    """The work alone: gates may run commands, call servers and ask models."""
    return replace(node, pre_gates=(), post_gates=())


async def _compare(
    store: log.Log, run: Run, event: events.AttemptSucceeded, again: task.Task | None, performer: Performs
) -> Step:
    kept = await _kept_digest(store, event.outputs)
    recorded = cast("str", event.receipt["output_hash"])
    if kept != recorded:
        reason = (
            "the outputs are not kept any more" if kept is None else "the kept outputs are not those of the receipt"
        )
        return _step(event, "altered", found=kept, reason=reason)
    if again is None:
        return _step(event, "checked", found=kept, reason=_why_not(run.workflow.nodes[event.node], event))
    outcome = (await performer.perform(job.Job(again, again.inputs))).outcome
    if outcome.inputs_hash != event.receipt["inputs_hash"]:
        return _step(event, "altered", reason="the log does not give the inputs that the receipt names")
    if outcome.failure is not None:
        reason = f"{outcome.failure.code} {outcome.failure.message}"
        return _step(event, "different", found=outcome.output_hash, reason=reason)
    return _step(event, "same" if outcome.output_hash == recorded else "different", found=outcome.output_hash)


def _why_not(node: definition.Node, event: events.AttemptSucceeded) -> str:
    if event.cached is not None:
        return "the result came from the cache"
    if node.mode == "approval":
        return "a person answered"
    return "a model answered" if node.mode == "ai" else f"its effect is {node.effect}"


async def _kept_digest(store: log.Log, stored: JsonObject) -> str | None:
    """The hash of the outputs as they are kept now; None when they are gone or were changed."""
    if "blob" not in stored:
        return receipts.stored_digest(stored)
    try:
        return canonical.digest_bytes(await store.blob(cast("str", stored["blob"])))
    except (errors.NotFound, errors.Corrupt):
        return None


def _step(event: receipts.Receipted, result: Result, *, found: str | None = None, reason: str = "") -> Step:
    return Step(
        node=event.node,
        visit=event.visit,
        attempt=event.attempt,
        item=event.item,
        result=result,
        recorded=cast("str", event.receipt["output_hash"]),
        found=found,
        reason=reason,
    )
