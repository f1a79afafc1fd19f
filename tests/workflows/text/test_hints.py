"""Looking for what was meant costs little, however many names are mistyped."""

from __future__ import annotations

import time

from openskelo.kernel.json import Json
from openskelo.workflows import load


def test_thousands_of_mistyped_names_cost_little() -> None:
    blocks: list[Json] = [{"id": f"block{n:05d}", "inputs": {"x": {"from": f"blokc{n:05d}.x"}}} for n in range(5_000)]
    started = time.process_time()
    workflow, found = load.check_document({"name": "w", "blocks": blocks})
    assert time.process_time() - started < 30  # looking for each would take minutes
    assert workflow is None
    assert [problem.hint for problem in found[:20]] == [f"did you mean 'block{n:05d}'?" for n in range(20)]
    assert not any("did you mean" in str(problem.hint) for problem in found[20:])
    assert (found[-1].code, len(found)) == ("TOO_MANY_PROBLEMS", 201)
