"""Webhook deliveries: which facts are sent, as which document, and how the document is signed.

    OpenSkelo-Signature: t=1763252712,v1=<HMAC-SHA256 over "1763252712." and the body, hexadecimal>

The receiver computes the same signature with the shared secret, compares the two in constant time, and refuses a
delivery whose time is too old.
"""

from __future__ import annotations

import hashlib
import hmac
from urllib.parse import urlsplit

import orjson

from openskelo.kernel import ids
from openskelo.kernel.json import Json, JsonObject
from openskelo.structs import frozen

#: The facts that a webhook can be sent for.
EVENTS = ("approval.requested", "run.ended", "run.stalled")
SIGNATURE = "openskelo-signature"


@frozen
class Webhook:
    """A receiver and the events it wants."""

    #: May hold `${env:NAME}` and `${secret:NAME}`; their values are never stored here.
    url: str
    #: As the address.
    secret: str
    events: tuple[str, ...] = EVENTS

    @property
    def id(self) -> str:
        """An id that stays the same as long as `url` is written the same way."""
        return hashlib.sha256(self.url.encode()).hexdigest()[:16]

    @property
    def label(self) -> str:
        """Scheme and host of the address; its path and query are left out because they often hold secrets."""
        parts = urlsplit(self.url)
        if parts.scheme and parts.hostname:
            return f"{parts.scheme}://{parts.hostname}"
        return self.url[:100]


def delivery_id(hook: str, run_id: str, seq: int) -> str:
    """Return the delivery's UUID, which is the same for every try."""
    return ids.derive(run_id, f"webhook/{hook}/{seq}")


def body(delivery: str, fact: JsonObject, workflow: str) -> bytes:
    """Return the JSON document of one delivery, made from the fact's envelope; without `data` if that was pruned."""
    document: dict[str, Json] = {
        "id": delivery,
        "type": fact["type"],
        "ts": fact["ts"],
        "runId": fact["runId"],
        "seq": fact["seq"],
        "workflow": workflow,
    }
    if "nodeId" in fact:
        document["nodeId"] = fact["nodeId"]
    if "data" in fact:
        document["data"] = fact["data"]
    return orjson.dumps(document)


def signature(secret: str, at: int, data: bytes) -> str:
    """Return the value of the signature header; `at` is in seconds."""
    digest = hmac.new(secret.encode(), b"%d." % at + data, hashlib.sha256).hexdigest()
    return f"t={at},v1={digest}"
