"""Execute the pure, deterministic steps of a run again and compare the hashes of their outputs with the receipts.

Nothing outside is touched: no gate, no model, no effect. The inputs of an attempt come from the run as it was when the
attempt started, which walking through the log gives. Outputs of all other steps are checked against their receipts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Protocol, cast

from openskelo import errors
from openskelo.executors.attempt import performer as attempt_performer
from openskelo.executors.attempt import running_attempt
from openskelo.executors.inputs import node_inputs
from openskelo.history import loading
from openskelo.kernel import definition, events
from openskelo.kernel.json import Json, JsonObject
from openskelo.kernel.run import Run
from openskelo.record import receipts
from openskelo.stores import api
from openskelo.structs import field, frozen, replace
from openskelo.values import canonical

#: `same` and `different`: executed again. `checked`: the stored outputs are those of the receipt. `unchecked`: there is
#: nothing to compare, `reason` says why. `altered`: the stored outputs are not those of the receipt, or are gone.
Result = Literal["same", "different", "checked", "unchecked", "altered"]


class Performs(Protocol):
    """The method of `executors.attempt.performer.Performer` that replay calls; it writes blobs to `DiscardedBlobs`."""

    async def perform(self, attempt: running_attempt.RunningAttempt) -> attempt_performer.AttemptResult: ...


class DiscardedBlobs:
    """A writer that names blobs and drops them, so that a replay leaves nothing behind."""

    async def put_blob(self, data: bytes, name: str | None = None) -> str:
        """Return the name that the data would have."""
        return name or canonical.digest_bytes(data)


@frozen
class Step:
    """The result for one attempt."""

    node: str
    visit: int
    attempt: int
    result: Result
    #: The hash of the outputs in the receipt.
    recorded: str
    #: The hash of the outputs that are stored, or were computed again.
    found: str | None = None
    reason: str = ""
    item: int | None = None

    def document(self) -> JsonObject:
        """Return the step as JSON."""
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
    """The results for all attempts, in the order of their receipts."""

    run_id: str
    steps: Sequence[Step] = field(default_factory=tuple[Step, ...])

    @property
    def ok(self) -> bool:
        """True if no step has another result and no stored output was altered."""
        return not any(step.result in ("different", "altered") for step in self.steps)

    def document(self) -> JsonObject:
        """Return the report as JSON, with a count of each result."""
        counts: dict[str, Json] = dict.fromkeys(("same", "different", "checked", "unchecked", "altered"), 0)
        for step in self.steps:
            counts[step.result] = cast("int", counts[step.result]) + 1
        return {
            "runId": self.run_id,
            "ok": self.ok,
            "counts": counts,
            "steps": [step.document() for step in self.steps],
        }


async def replay(store: api.Store, run_id: str, performer: Performs) -> Report:
    """Replay a run, ended or not. Raise NotFound, or Corrupt if its log cannot be read."""
    steps: list[Step] = []
    tasks: dict[tuple[str, int, int], running_attempt.AttemptRequest] = {}
    nodes: dict[int, tuple[definition.Node, definition.Node]] = {}
    visits = node_inputs.Visits()
    async for run, event in loading.walk_events(store, run_id):
        match event:
            case events.AttemptStarted() if _is_repeatable(run.workflow.nodes[event.node]):
                place = (event.node, event.visit, event.item or 0)
                request = await node_inputs.make_request(store, run, run.in_flight[place], visits)
                # The original is stored with its copy, so that its id is not given to another object.
                pair = (request.node, _without_gates(request.node))
                _, without_gates = nodes.setdefault(id(request.node), pair)
                tasks[place] = replace(request, node=without_gates, outputs_to_judge=None)
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


def _is_repeatable(node: definition.Node) -> bool:
    return node.effect == "pure" and node.work.is_replayable


def _without_gates(node: definition.Node) -> definition.Node:
    """Return the node without its gates, which may run commands, call servers and ask models."""
    return replace(node, pre_gates=(), post_gates=())


async def _compare(
    store: api.Store,
    run: Run,
    event: events.AttemptSucceeded,
    again: running_attempt.AttemptRequest | None,
    performer: Performs,
) -> Step:
    stored_digest = await _stored_digest(store, event.outputs)
    recorded_digest = cast("str", event.receipt["output_hash"])
    if stored_digest is None:
        return _step(event, "altered", reason="the outputs are not kept any more")
    if stored_digest != recorded_digest:
        return _step(event, "altered", found=stored_digest, reason="the kept outputs are not those of the receipt")
    if again is None:
        return _step(
            event, "checked", found=stored_digest, reason=_why_not_executed(run.workflow.nodes[event.node], event)
        )
    outcome = (await performer.perform(running_attempt.RunningAttempt(again, again.inputs))).outcome
    if outcome.inputs_hash != event.receipt["inputs_hash"]:
        return _step(event, "altered", reason="the log does not give the inputs that the receipt names")
    if outcome.failure is not None:
        reason = f"{outcome.failure.code} {outcome.failure.message}"
        return _step(event, "different", found=outcome.output_hash, reason=reason)
    return _step(event, "same" if outcome.output_hash == recorded_digest else "different", found=outcome.output_hash)


def _why_not_executed(node: definition.Node, event: events.AttemptSucceeded) -> str:
    if event.cached is not None:
        return "the result came from the cache"
    if node.work.asks_person:
        return "a person answered"
    if node.work.calls_model:
        return "a model answered"
    return f"its effect is {node.effect}"


async def _stored_digest(store: api.Store, stored: JsonObject) -> str | None:
    """Return the hash of the outputs as they are stored now; None if they are gone or damaged."""
    if "blob" not in stored:
        return receipts.stored_digest(stored)
    try:
        return canonical.digest_bytes(await store.read_blob(cast("str", stored["blob"])))
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
