"""A mistyped name finds the one that was meant, among few names and among thousands."""

from __future__ import annotations

import pytest

from openskelo.values import suggestions

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
    assert suggestions.name_like(name, known) == meant
