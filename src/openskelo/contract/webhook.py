"""What is sent to a webhook: which facts, as which document, signed in which way.

    OpenSkelo-Signature: t=1763252712,v1=<HMAC-SHA256 over "1763252712." and the body, hexadecimal>

A receiver computes the same with the secret that both know, compares in constant time, and refuses what is too old.
"""

from __future__ import annotations

import hashlib
import hmac
from typing import cast
from urllib.parse import urlsplit

import orjson

from openskelo.frozen import frozen
from openskelo.kernel import ids
from openskelo.kernel.json import Json, JsonObject

#: The facts that somebody outside may want to hear of.
EVENTS = ("approval.requested", "run.ended", "run.stalled")
SIGNATURE = "openskelo-signature"


@frozen
class Webhook:
    """Whom to tell what. `url` and `secret` may hold `${env:NAME}` and `${secret:NAME}`; values never stand here."""

    url: str
    secret: str
    events: tuple[str, ...] = EVENTS

    @property
    def id(self) -> str:
        """The same for as long as the address is written the same way."""
        return hashlib.sha256(self.url.encode()).hexdigest()[:16]

    @property
    def label(self) -> str:
        """Enough of the address to know it by; paths and queries of such addresses are often secrets."""
        parts = urlsplit(self.url)
        return f"{parts.scheme}://{parts.hostname}" if parts.scheme and parts.hostname else self.url[:100]


def delivery_id(hook: str, run_id: str, seq: int) -> str:
    """The delivery's UUID: the same however often it is tried."""
    return ids.derive(run_id, f"webhook/{hook}/{seq}")


def body(delivery: str, opened: JsonObject, workflow: str) -> bytes:
    """The document of one delivery, from the envelope of the fact; without `data` if that was pruned meanwhile."""
    document: dict[str, Json] = {
        "id": delivery,
        "type": opened["type"],
        "ts": opened["ts"],
        "runId": opened["runId"],
        "seq": opened["seq"],
        "workflow": workflow,
    }
    if "nodeId" in opened:
        document["nodeId"] = opened["nodeId"]
    if "data" in opened:
        document["data"] = cast("JsonObject", opened["data"])
    return orjson.dumps(document)


def signature(secret: str, at: int, data: bytes) -> str:
    """The value of the signature's header; `at` is in seconds."""
    digest = hmac.new(secret.encode(), b"%d." % at + data, hashlib.sha256).hexdigest()
    return f"t={at},v1={digest}"
