"""The lines of events: what they say of a node does not depend on when its id was found out."""

from __future__ import annotations

import pytest

from openskelo.contract import envelope
from openskelo.kernel import events
from tests.contract import records


@pytest.mark.parametrize("expected", [(), ("a", "b", "c"), ("c", "x"), tuple(f"n{number}" for number in range(200))])
def test_the_lines_are_the_same_whichever_nodes_were_expected(expected: tuple[str, ...]) -> None:
    facts = [
        events.AttemptStarted(at=number, node=node, visit=1, attempt=1)
        for number, node in enumerate(("a", "n100", "c", "a", "b", "n150"))
    ]
    plain = envelope.Chain(records.RUN_ID)
    chain = envelope.Chain(records.RUN_ID, nodes=expected)
    assert [envelope.seal(chain, (fact,)) for fact in facts] == [envelope.seal(plain, (fact,)) for fact in facts]
