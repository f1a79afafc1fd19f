"""The lines of events: their form, and the chain that they make."""

from __future__ import annotations

import orjson
import pytest

from openskelo import structs
from openskelo.kernel import events, ids
from openskelo.kernel.json import Json
from openskelo.record import envelope
from openskelo.values import canonical
from tests.record import records


def test_a_line_is_canonical_and_holds_the_envelope_and_the_data() -> None:
    chain = envelope.Chain(records.RUN_ID)
    (line,) = envelope.seal(chain, [events.AttemptStarted(at=1500, node="a", visit=1, attempt=2)])
    document = orjson.loads(line)
    assert document == {
        "data": {"attempt": 2, "node": "a", "visit": 1},
        "hash": chain.head,
        "id": envelope.event_id(records.RUN_ID, 1),
        "nodeId": ids.derive(records.RUN_ID, "a"),
        "prev": envelope.GENESIS,
        "runId": records.RUN_ID,
        "seq": 1,
        "ts": "1970-01-01T00:00:01.500Z",
        "type": "attempt.started",
    }
    assert canonical.dumps(document) == line


def test_each_line_names_the_hash_of_the_line_before() -> None:
    chain = envelope.Chain(records.RUN_ID)
    facts = [events.AttemptStarted(at=number, node=node, visit=1, attempt=1) for number, node in enumerate("aba")]
    lines = [orjson.loads(line) for line in envelope.seal(chain, facts)]
    assert [line["prev"] for line in lines] == [envelope.GENESIS, *[line["hash"] for line in lines[:-1]]]
    assert (chain.seq, chain.head) == (3, lines[-1]["hash"])


ASKED = events.ApprovalRequested(
    at=1500, approval_id="x", node="a", visit=1, tool={}, digest="d", prompt="?", form={}, approvers=(), expires_at=2750
)


def test_a_line_says_in_iso_8601_when_an_approval_expires() -> None:
    (line,) = envelope.seal(envelope.Chain(records.RUN_ID), [ASKED])
    assert orjson.loads(line)["data"]["expiresAt"] == "1970-01-01T00:00:02.750Z"
    assert envelope.open_line(line)[1] == ASKED
    assert "expiresAt" not in envelope.encode(structs.replace(ASKED, expires_at=None))


def test_a_line_of_an_earlier_program_has_the_time_in_milliseconds() -> None:
    assert envelope.decode("approval.requested", events.encode(ASKED), 1500) == ASKED


@pytest.mark.parametrize("text", ["soon", "1970-01-01T00:00:02.750+00:00", "1970-01-01 00:00:02.750Z", ""])
def test_a_text_that_is_no_time_is_a_value_error(text: str) -> None:
    data: dict[str, Json] = {**events.encode(ASKED), "expiresAt": text}
    with pytest.raises(ValueError, match=r"time|literal|isoformat"):
        envelope.decode("approval.requested", data, 1500)
