"""A mistyped name finds the one that was meant, among few names and among thousands."""

from __future__ import annotations

import time

import pytest

from openskelo.kernel.json import Json
from openskelo.workflows import load, suggest

MANY = [f"block{n:05d}" for n in range(20_000)]


@pytest.mark.parametrize(
    ("name", "known", "meant"),
    [
        ("promt", ["prompt", "port"], "prompt"),
        ("max-cost-usd", ["max_cost_usd"], "max_cost_usd"),
        ("Mode", ["mode"], "mode"),
        ("blokc00017", MANY, "block00017"),
        ("zebra", MANY, None),
        ("", ["a"], None),
        ("x" * 10_000, ["x"], None),
    ],
)
def test_the_nearest_name_is_found(name: str, known: list[str], meant: str | None) -> None:
    assert suggest.nearest(name, known) == meant


def test_thousands_of_mistyped_names_cost_little() -> None:
    blocks: list[Json] = [{"id": f"block{n:05d}", "inputs": {"x": {"from": f"blokc{n:05d}.x"}}} for n in range(5_000)]
    started = time.process_time()
    workflow, found = load.check_document({"name": "w", "blocks": blocks})
    assert time.process_time() - started < 30  # looking for each would take minutes
    assert workflow is None
    assert found[0].hint == "did you mean 'block00000'?"
    assert (found[-1].code, len(found)) == ("TOO_MANY_PROBLEMS", 201)
