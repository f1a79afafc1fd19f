"""The hashable record of one attempt, chained to the one before: a document of strings and integers.

The eight fields of the Workflow DSL (`plan_id, step_id, op, ts, inputs_hash, output_ref, output_hash, metrics`), then
ours: `visit, item, attempt, status, workflow_hash`, and `prev`, the hash of the receipt before. A property test
holds its canonical bytes to those of `values.canonical`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Literal

import msgspec

from openskelo.kernel.json import JsonObject

Status = Literal["succeeded", "failed", "interrupted", "cancelled"]

#: What the first receipt of a run points back to.
GENESIS = "sha256:" + "0" * 64
#: The hash of `null`: what stands for inputs or outputs that the log does not know.
NOTHING = "sha256:" + hashlib.sha256(b"null").hexdigest()


#: What writes the RFC 8785 bytes of a document that holds only text, integers, booleans, null and ASCII keys.
canonical: Callable[[JsonObject], bytes] = msgspec.json.Encoder(order="sorted").encode


def digest(document: JsonObject) -> str:
    """The `sha256:` name of a receipt, which the next one's `prev` holds, or of another document of the same kind."""
    return "sha256:" + hashlib.sha256(canonical(document)).hexdigest()
