"""The hashable record of one attempt, chained to the one before: a document of strings and integers.

The eight fields of the Workflow DSL (`plan_id, step_id, op, ts, inputs_hash, output_ref, output_hash, metrics`), then
ours: `visit, item, attempt, status, workflow_hash`, and `prev`, the hash of the receipt before. `canonical` writes
RFC 8785 bytes by hand, because the kernel imports no JSON library and a receipt has a fixed shape; a property test
holds it to `values.canonical`.
"""

from __future__ import annotations

import hashlib
import json
from json.encoder import encode_basestring as quote
from typing import Any, Literal

from openskelo.kernel.json import JsonObject

Status = Literal["succeeded", "failed", "interrupted", "cancelled"]

#: What the first receipt of a run points back to.
GENESIS = "sha256:" + "0" * 64
#: The hash of `null`: what stands for inputs or outputs that the log does not know.
NOTHING = "sha256:" + hashlib.sha256(b"null").hexdigest()


def canonical(receipt: JsonObject) -> bytes:
    """The RFC 8785 bytes of a receipt document, whose hashes, op and status are plain ASCII."""
    fields: Any = receipt
    metrics = fields["metrics"]
    item = f'"item":{fields["item"]},' if "item" in fields else ""
    return (
        f'{{"attempt":{fields["attempt"]},"inputs_hash":"{fields["inputs_hash"]}",{item}"metrics":{{"tokens_in":'
        f'{metrics["tokens_in"]},"tokens_out":{metrics["tokens_out"]},"wall_ms":{metrics["wall_ms"]}}},'
        f'"op":"{fields["op"]}","output_hash":"{fields["output_hash"]}","output_ref":{quote(fields["output_ref"])},'
        f'"plan_id":{quote(fields["plan_id"])},"prev":"{fields["prev"]}","status":"{fields["status"]}",'
        f'"step_id":{quote(fields["step_id"])},"ts":{fields["ts"]},"visit":{fields["visit"]},'
        f'"workflow_hash":"{fields["workflow_hash"]}"}}'
    ).encode()


def digest(receipt: JsonObject) -> str:
    """The `sha256:` name of a receipt document: what the next receipt's `prev` holds."""
    return "sha256:" + hashlib.sha256(canonical(receipt)).hexdigest()


def plain_digest(document: JsonObject) -> str:
    """The `sha256:` name of a document that holds only strings, integers, booleans, null and ASCII keys."""
    text = json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()
