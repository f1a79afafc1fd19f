"""Making receipts: what an attempt was, as the run's chain of receipts remembers it."""

from __future__ import annotations

from typing import Protocol

from openskelo.frozen import field, plain, replace
from openskelo.kernel import definition, receipts
from openskelo.kernel.json import Json, JsonObject
from openskelo.kernel.outcome import Metrics, Outcome
from openskelo.kernel.run import InFlight, Run


class Tried(Protocol):
    """Which attempt: an attempt in flight and a report about one both know."""

    @property
    def node(self) -> str: ...
    @property
    def visit(self) -> int: ...
    @property
    def attempt(self) -> int: ...
    @property
    def item(self) -> int | None: ...


@plain
class Attempt:
    """An attempt that nobody started: a person's answer, a cached result."""

    node: str
    visit: int
    attempt: int
    item: int | None = None


class Meter(Protocol):
    """Somebody who knows what an attempt under way has used so far: it is asked when one has to be stopped."""

    def used(self, flight: InFlight, /) -> Metrics: ...


class _Nobody:
    def used(self, _flight: InFlight, /) -> Metrics:
        return Metrics()


#: What stands in where nobody watches the work.
UNMETERED: Meter = _Nobody()


@plain
class Evidence:
    """What proves how an attempt ended; of one that somebody performed its outcome does."""

    inputs_hash: str = receipts.NOTHING
    output_hash: str = receipts.NOTHING
    metrics: Metrics = field(default_factory=Metrics)


def receipt(run: Run, tried: Tried, status: receipts.Status, evidence: Evidence | Outcome, at: int) -> dict[str, Json]:
    """The receipt of one attempt, chained to the run's last one."""
    previous = run.last_receipt
    node = tried.node
    shape = run.workflow.nodes[node]
    step = shape.step
    metrics = evidence.metrics
    document: dict[str, Json] = {
        "attempt": tried.attempt,
        "inputs_hash": evidence.inputs_hash or receipts.NOTHING,
        "metrics": {
            "tokens_in": metrics.tokens_in,
            "tokens_out": metrics.tokens_out,
            "wall_ms": metrics.wall_ms,
        },
        "op": shape.mode if step is None else step.op,
        "output_hash": evidence.output_hash or receipts.NOTHING,
        "output_ref": output_ref(node, step) if status == "succeeded" else "none",
        "plan_id": run.workflow.name,
        "prev": receipts.GENESIS if previous is None else receipts.digest(previous),
        "status": status,
        "step_id": node,
        "ts": at,
        "visit": tried.visit,
        "workflow_hash": run.workflow.hash,
    }  # in the order in which it is written: sorting it takes longer where there is something to sort
    if tried.item is not None:
        document["item"] = tried.item
    return document


def output_ref(node: str, step: definition.Step | None) -> str:
    """Under which name later work finds the outputs: a block's own, or that of the variable that a step saves."""
    if step is None:
        return f"var:{node}"
    return "none" if step.save_as is None or step.op == "retry" else f"var:{step.save_as}"


def cut(run: Run, flight: InFlight, at: int, status: receipts.Status, used: Metrics) -> dict[str, Json]:
    """The receipt of an attempt that was stopped: its outcome is unknown to the log, but not what it has `used`."""
    took = replace(used, wall_ms=max(0, at - flight.started_at))
    return receipt(run, flight, status, Evidence(metrics=took), at)


def spent(metrics: Metrics) -> JsonObject | None:
    """The money an attempt has used, as its fact holds it; None for none."""
    if not metrics.cost_nanousd and not metrics.tool_nanousd:
        return None
    return {"costNanousd": metrics.cost_nanousd, "toolNanousd": metrics.tool_nanousd}


def head(run: Run) -> str | None:
    """The name of the run's last receipt, which through its `prev` stands for all of them; None without any."""
    return None if run.last_receipt is None else receipts.digest(run.last_receipt)
