"""The hashable record of one attempt, chained to the one before.

`canonical` writes RFC 8785 bytes by hand, because the kernel imports no JSON library and a receipt has a fixed shape
of strings and integers; a property test holds it to `values.canonical`.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from json.encoder import encode_basestring as quote
from typing import Any, Literal

from openskelo.kernel.json import Json, JsonObject
from openskelo.kernel.outcome import Metrics

Status = Literal["succeeded", "failed", "interrupted", "cancelled"]

#: What the first receipt of a run points back to.
GENESIS = "sha256:" + "0" * 64
#: The hash of `null`: what stands for inputs or outputs that the log does not know.
NOTHING = "sha256:" + hashlib.sha256(b"null").hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """The eight fields of the Workflow DSL, then ours: visit, item, attempt, status, workflow hash, predecessor."""

    plan_id: str
    step_id: str
    op: str
    ts: int
    inputs_hash: str
    output_ref: str
    output_hash: str
    metrics: Metrics
    visit: int
    attempt: int
    status: Status
    workflow_hash: str
    prev: str
    item: int | None = None

    def document(self) -> dict[str, Json]:
        """The receipt as JSON, as events hold it."""
        metrics = self.metrics
        document: dict[str, Json] = {
            "plan_id": self.plan_id,
            "step_id": self.step_id,
            "op": self.op,
            "ts": self.ts,
            "inputs_hash": self.inputs_hash,
            "output_ref": self.output_ref,
            "output_hash": self.output_hash,
            "metrics": {
                "tokens_in": metrics.tokens_in,
                "tokens_out": metrics.tokens_out,
                "wall_ms": metrics.wall_ms,
            },
            "visit": self.visit,
            "attempt": self.attempt,
            "status": self.status,
            "workflow_hash": self.workflow_hash,
            "prev": self.prev,
        }
        if self.item is not None:
            document["item"] = self.item
        return document


def canonical(receipt: JsonObject) -> bytes:
    """The RFC 8785 bytes of a receipt document."""
    fields: dict[str, Any] = dict(receipt)
    metrics = fields["metrics"]
    item = f'"item":{fields["item"]},' if "item" in fields else ""
    text = (
        f'{{"attempt":{fields["attempt"]},"inputs_hash":{quote(fields["inputs_hash"])},{item}"metrics":{{"tokens_in":'
        f'{metrics["tokens_in"]},"tokens_out":{metrics["tokens_out"]},"wall_ms":{metrics["wall_ms"]}}},'
        f'"op":{quote(fields["op"])},"output_hash":{quote(fields["output_hash"])},'
        f'"output_ref":{quote(fields["output_ref"])},"plan_id":{quote(fields["plan_id"])},'
        f'"prev":{quote(fields["prev"])},"status":{quote(fields["status"])},"step_id":{quote(fields["step_id"])},'
        f'"ts":{fields["ts"]},"visit":{fields["visit"]},"workflow_hash":{quote(fields["workflow_hash"])}}}'
    )
    return text.encode()


def digest(receipt: JsonObject) -> str:
    """The `sha256:` name of a receipt document: what the next receipt's `prev` holds."""
    return "sha256:" + hashlib.sha256(canonical(receipt)).hexdigest()


def plain_digest(document: JsonObject) -> str:
    """The `sha256:` name of a document that holds only strings, integers, booleans, null and ASCII keys."""
    text = json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()
