"""The documents of webhook deliveries."""

from __future__ import annotations

import orjson

from openskelo.kernel.json import JsonObject
from openskelo.record import envelope
from openskelo.wire import webhook
from tests.kernel.stage import RUN, START


def test_a_delivery_says_when_an_approval_expires_as_the_contract_writes_times() -> None:
    fact: JsonObject = {
        "id": "f",
        "runId": RUN,
        "ts": envelope.timestamp(START),
        "type": "approval.requested",
        "seq": 3,
        "data": {"approvalId": "a", "expiresAt": envelope.timestamp(START + 1000)},
    }
    assert orjson.loads(webhook.body("d", fact, "review")) == {
        "id": "d",
        "type": "approval.requested",
        "ts": envelope.timestamp(START),
        "runId": RUN,
        "seq": 3,
        "workflow": "review",
        "data": {"approvalId": "a", "expiresAt": envelope.timestamp(START + 1000)},
    }
