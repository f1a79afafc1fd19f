"""The receipts of a record: collect them, check them against their events, and compare the work of two runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias, cast, get_args

import orjson

from openskelo.kernel import definition, events, ids
from openskelo.kernel import receipts as kernel_receipts
from openskelo.kernel.json import Json, JsonObject
from openskelo.record import envelope, line_check
from openskelo.values import canonical

Receipted: TypeAlias = (
    events.AttemptSucceeded | events.AttemptFailed | events.AttemptInterrupted | events.AttemptCancelled
)

_STATUS: Mapping[type[events.Event], kernel_receipts.Status] = {
    events.AttemptSucceeded: "succeeded",
    events.AttemptFailed: "failed",
    events.AttemptInterrupted: "interrupted",
    events.AttemptCancelled: "cancelled",
}
_STATUS_BY_NAME = {events.NAMES[kind]: status for kind, status in _STATUS.items()}
_TEXTS = ("plan_id", "step_id", "op", "output_ref", "status")
_HASHES = ("inputs_hash", "output_hash", "workflow_hash", "prev")
_COUNTS = ("ts", "visit", "attempt")
_MODES: tuple[str, ...] = get_args(definition.Mode)
_METRICS: set[str] = {"tokens_in", "tokens_out", "wall_ms"}
_KEYS: set[str] = {*_TEXTS, *_HASHES, *_COUNTS, "metrics"}
#: What a receipt says of an agent. An attempt that was stopped has only the first ones.
_AGENT_TEXTS: set[str] = {"name", "provider", "program", "version", "session", "tree_before"}
_AGENT_KEYS: set[str] = {*_AGENT_TEXTS, "tree_after", "prompt_hash", "reported"}
_REPORTED: set[str] = {"tokens_in", "tokens_out", "cost_nanousd"}

#: The fields that differ between two runs of the same work: the time, the duration, the attempt (a driver that died
#: adds one), an agent's session, and the hash of the receipt before.
VOLATILE = frozenset({"ts", "attempt", "agent", "prev"})
VOLATILE_METRICS = frozenset({"wall_ms"})


def of(event: events.Event) -> JsonObject | None:
    """Return the receipt of an event, or None."""
    return event.receipt if isinstance(event, Receipted) else None


def collect(lines: Iterable[bytes]) -> list[JsonObject]:
    """Return the receipts of lines of our own log, in their order, pruned lines included."""
    entries: list[JsonObject] = []
    for line in lines:
        if line.startswith(b'{"dataHash"'):
            receipt = cast("JsonObject | None", cast("JsonObject", orjson.loads(line)).get("receipt"))
        else:
            receipt = of(envelope.open_line(line)[1])
        if receipt is not None:
            entries.append(receipt)
    return entries


def digest(receipts: Iterable[JsonObject]) -> str:
    """Return one `sha256:` digest of the work, independent of times, durations and the order of parallel work.

    Attempts that were stopped (interrupted, cancelled) do not count: they are about the driver, not about the work.
    """
    stable = (_without_volatile(receipt) for receipt in receipts if receipt["status"] in ("succeeded", "failed"))
    sorted_receipts = sorted(canonical.dumps(receipt) for receipt in stable)
    return canonical.digest_bytes(b"[" + b",".join(sorted_receipts) + b"]")


def _without_volatile(receipt: JsonObject) -> JsonObject:
    metrics = cast("JsonObject", receipt["metrics"])
    stable: dict[str, Json] = {key: value for key, value in receipt.items() if key not in VOLATILE}
    stable["metrics"] = {key: value for key, value in metrics.items() if key not in VOLATILE_METRICS}
    return stable


def find_fault(event: Receipted, created: events.RunCreated | None, previous: str | None) -> str | None:
    """Return what is wrong with the receipt of an untrusted event; None if it fits the event, the run and the chain.

    `created` (it may be pruned) and `previous`, the digest of the receipt before, are None if they are not known.
    """
    receipt = event.receipt
    if (misshapen := find_shape_fault(receipt)) is not None:
        return misshapen
    status = _STATUS[type(event)]
    expected_fields: dict[str, Json] = {
        "step_id": event.node,
        "ts": event.at,
        "visit": event.visit,
        "attempt": event.attempt,
        "status": status,
        "output_ref": _output_ref(receipt, event.node) if status == "succeeded" else "none",
    }
    if created is not None:
        expected_fields |= {"plan_id": created.workflow, "workflow_hash": created.workflow_hash}
    if event.item is not None:
        expected_fields["item"] = event.item
    if previous is not None:
        expected_fields["prev"] = previous
    if isinstance(event, events.AttemptSucceeded):
        expected_fields["output_hash"] = stored_digest(event.outputs)
    if isinstance(event, events.AttemptFailed) and event.outputs is not None:
        expected_fields["output_hash"] = stored_digest(event.outputs)
    for key, value in expected_fields.items():
        if receipt.get(key) != value:
            return _describe_difference(receipt, event.node, key, value)
    if ("item" in receipt) != (event.item is not None):
        return f"the receipt of {event.node} is about another item"
    return None


def _output_ref(receipt: JsonObject, node: str) -> Json:
    """Return the name of a block's outputs; that of a plan's step as it is, because only the definition knows it."""
    output_ref = cast("str", receipt["output_ref"])
    is_step = receipt["op"] not in _MODES and (output_ref == "none" or output_ref.startswith("var:"))
    return output_ref if is_step else f"var:{node}"


def find_fault_of_pruned(opened: JsonObject, at: int, previous: str | None) -> str | None:
    """Return what is wrong with the receipt of an untrusted pruned line; None if it fits the line.

    The line's own hash does not cover it: the next receipt does, and `run.ended` names the last one.
    """
    receipt = cast("JsonObject", opened["receipt"])
    if (misshapen := find_shape_fault(receipt)) is not None:
        return misshapen
    status = _STATUS_BY_NAME.get(cast("str", opened["type"]))
    if status is None:
        return f"{opened['type']} has no receipt"
    if opened.get("nodeId") != ids.derive(cast("str", opened["runId"]), cast("str", receipt["step_id"])):
        return "the receipt is about another node"
    expected_fields: dict[str, Json] = {"ts": at, "status": status}
    if previous is not None:
        expected_fields["prev"] = previous
    for key, value in expected_fields.items():
        if receipt[key] != value:
            return _describe_difference(receipt, cast("str", receipt["step_id"]), key, value)
    return None


def _describe_difference(receipt: JsonObject, node: str, key: str, value: Json) -> str:
    if key == "prev":  # the hash of a pruned line does not cover its receipt, so either may have been changed
        return f"the receipt of {node} does not follow from the one before: one of the two was changed"
    return f"the receipt of {node} says {key} {receipt.get(key)!r}; it should be {value!r}"


def has_receipt(name: str) -> bool:
    """True if events of this type have a receipt."""
    return name in _STATUS_BY_NAME


def stored_digest(stored: JsonObject) -> str:
    """Return the digest of a value as events hold it; a blob's name is that digest."""
    if "blob" in stored:
        return cast("str", stored["blob"])
    return canonical.digest(stored["value"])


def find_shape_fault(receipt: JsonObject) -> str | None:
    """Return why the document is not a receipt; None if it is one, which the kernel can write canonically."""
    if set(receipt) - {"item", "agent"} != _KEYS:
        return "the receipt does not have the fields of a receipt"
    metrics = receipt["metrics"]
    if not isinstance(metrics, Mapping) or set(metrics) != _METRICS:
        return "the receipt's metrics are not those of a receipt"
    counts: Sequence[Json] = [receipt[key] for key in _COUNTS]
    counts = [*counts, *metrics.values(), receipt.get("item", 0)]
    if not all(type(count) is int for count in counts):
        return "a number of the receipt is not an integer"
    if not all(isinstance(receipt[key], str) for key in _TEXTS):
        return "a text of the receipt is not a text"
    if not all(line_check.is_digest(receipt[key]) for key in _HASHES):
        return "a hash of the receipt is not a sha256 digest"
    if "agent" in receipt and not _is_agent(receipt["agent"]):
        return "what the receipt says of its agent is not what a receipt says"
    return None


def _is_agent(agent: Json) -> bool:
    """True if the document describes an agent's attempt, in texts and integers."""
    if not isinstance(agent, Mapping) or not _AGENT_TEXTS <= set(agent) <= _AGENT_KEYS:
        return False
    reported = agent.get("reported", {})
    if not isinstance(reported, Mapping) or not set(reported) <= _REPORTED:
        return False
    texts = [value for key, value in agent.items() if key != "reported"]
    return all(isinstance(text, str) for text in texts) and all(type(count) is int for count in reported.values())
