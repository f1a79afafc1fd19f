"""Receipts: the hashable record of each attempt, chained to the one before.

A receipt is a document of strings and integers. It has the eight fields of the Workflow DSL (`plan_id, step_id, op, ts,
inputs_hash, output_ref, output_hash, metrics`), then ours: `visit, item, attempt, status, workflow_hash`, `agent` for
the attempt of an agent that has opened a session, and `prev`, the hash of the receipt before. So the last receipt of a
run stands for all of them: the run's final event names it.
A property test holds its canonical bytes to those of `values.canonical`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Literal, Protocol

import msgspec

from openskelo.kernel import definition
from openskelo.kernel.json import Json, JsonObject
from openskelo.kernel.outcome import Metrics, Outcome
from openskelo.kernel.run import Attempt, Run
from openskelo.structs import field, frozen, replace

Status = Literal["succeeded", "failed", "interrupted", "cancelled"]

#: The `prev` of the first receipt of a run.
GENESIS = "sha256:" + "0" * 64
#: The hash of `null`: stands for inputs or outputs that the log does not know.
NOTHING = "sha256:" + hashlib.sha256(b"null").hexdigest()

#: Returns the RFC 8785 bytes of a document that holds only text, integers, booleans, null and ASCII keys.
canonical: Callable[[JsonObject], bytes] = msgspec.json.Encoder(order="sorted").encode


class AttemptLike(Protocol):
    """The identity of an attempt; an attempt in flight and a report about one both have it."""

    @property
    def node(self) -> str: ...
    @property
    def visit(self) -> int: ...
    @property
    def attempt(self) -> int: ...
    @property
    def item(self) -> int | None: ...


@frozen
class AttemptRef:
    """Identifies an attempt that was not started: a person's answer, or a cached result."""

    node: str
    visit: int
    attempt: int
    item: int | None = None


@frozen
class Evidence:
    """The hashes and metrics of an attempt that has no outcome from an executor."""

    inputs_hash: str = NOTHING
    output_hash: str = NOTHING
    metrics: Metrics = field(default_factory=Metrics)
    evidence: JsonObject | None = None


class Meter(Protocol):
    """Knows what only the driver of a run knows: what its attempts have used and said so far, and if it may begin."""

    def used(self, attempt: Attempt, /) -> Metrics:
        """Return what the attempt has used so far."""
        ...

    def said(self, attempt: Attempt, /) -> str | None:
        """Return what the model or agent of the attempt has said so far, None if it has said nothing."""
        ...

    def may_begin(self) -> bool:
        """True if there is room for the first attempt of the run; if not, the driver sends a `Tick` when there is."""
        ...


class _NoMeter:
    def used(self, _attempt: Attempt, /) -> Metrics:
        return Metrics()

    def said(self, _attempt: Attempt, /) -> str | None:
        return None

    def may_begin(self) -> bool:
        return True


#: The meter of a caller that does not measure, and has room for every run.
UNMETERED: Meter = _NoMeter()


def digest(document: JsonObject) -> str:
    """Return the `sha256:` hash of a receipt, or of another document of text and integers."""
    return "sha256:" + hashlib.sha256(canonical(document)).hexdigest()


def build(run: Run, attempt: AttemptLike, status: Status, evidence: Evidence | Outcome, at: int) -> dict[str, Json]:
    """Return the receipt of an attempt, chained to the last receipt of the run."""
    spec = run.workflow.nodes[attempt.node]
    metrics = evidence.metrics
    receipt: dict[str, Json] = {
        "attempt": attempt.attempt,
        "inputs_hash": evidence.inputs_hash or NOTHING,
        "metrics": {
            "tokens_in": metrics.tokens_in,
            "tokens_out": metrics.tokens_out,
            "wall_ms": metrics.wall_ms,
        },
        "op": spec.mode if spec.step is None else spec.step.op,
        "output_hash": evidence.output_hash or NOTHING,
        "output_ref": output_ref(attempt.node, spec.step) if status == "succeeded" else "none",
        "plan_id": run.workflow.name,
        "prev": head(run) or GENESIS,
        "status": status,
        "step_id": attempt.node,
        "ts": at,
        "visit": attempt.visit,
        "workflow_hash": run.workflow.hash,
    }
    if attempt.item is not None:
        receipt["item"] = attempt.item
    agent = describe_agent(run.nodes[attempt.node].session, attempt)
    if agent is not None:
        receipt["agent"] = {**agent, **(evidence.evidence or {})}
    return receipt


def describe_agent(session: JsonObject | None, attempt: AttemptLike) -> JsonObject | None:
    """Return what the record has of the agent of an attempt; None if the attempt has opened no session."""
    if session is None or (session.get("visit"), session.get("attempt")) != (attempt.visit, attempt.attempt):
        return None
    return {
        "name": session["agent"],
        "provider": session["provider"],
        "program": session["program"],
        "version": session["version"],
        "session": session["sessionId"],
        "tree_before": session["tree"],
    }


def build_stopped(run: Run, attempt: Attempt, at: int, status: Status, used: Metrics) -> dict[str, Json]:
    """Return the receipt of an attempt that was stopped: it has no outputs, but has `used` something."""
    metrics = replace(used, wall_ms=max(0, at - attempt.started_at))
    return build(run, attempt, status, Evidence(metrics=metrics), at)


def output_ref(node: str, step: definition.Step | None) -> str:
    """Return the name under which later work finds the outputs: the block's, or the variable that a step saves."""
    if step is None:
        return f"var:{node}"
    return "none" if step.save_as is None or step.op == "retry" else f"var:{step.save_as}"


def spent(metrics: Metrics) -> JsonObject | None:
    """Return the money that an attempt has used, as its event holds it; None if it has used none."""
    if not metrics.cost_nanousd and not metrics.tool_nanousd:
        return None
    return {"costNanousd": metrics.cost_nanousd, "toolNanousd": metrics.tool_nanousd}


def head(run: Run) -> str | None:
    """Return the hash of the run's last receipt; None if it has none."""
    return None if run.last_receipt is None else digest(run.last_receipt)
