"""The lines of events: their form, and the chain that they make."""

from __future__ import annotations

import orjson

from openskelo.kernel import events, ids
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
