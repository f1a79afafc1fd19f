"""The order of the tests in a run with parallel workers: each of them begins with slow ones."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import pytest

from tests import conftest


class Item:
    """What the order depends on."""

    def __init__(self, name: str) -> None:
        self.path, *self._marks = map(Path, name.split())

    def get_closest_marker(self, name: str) -> Path | None:
        return Path(name) if Path(name) in self._marks else None


def test_each_worker_begins_with_slow_modules_and_those_with_a_time_limit_of_their_own_come_first() -> None:
    names = ["a", "b", "b slow", "b slow timeout", "c slow", "c", "d", "e slow", "f", "f", "f", "f"]
    items = [Item(name) for name in names]
    ordered = conftest.slow_tests_first(cast("list[pytest.Item]", items), 3)
    places = [items.index(cast("Item", item)) for item in ordered]
    parts = [[names[place] for place in places[start : start + 4]] for start in (0, 4, 8)]
    assert parts == [
        ["b slow timeout", "b slow", "a", "b"],
        ["c slow", "c", "d", "f"],
        ["e slow", "f", "f", "f"],
    ]
    assert sorted(places) == list(range(len(names)))


def test_a_part_of_slow_tests_only_loses_none() -> None:
    items = [Item(name) for name in ["a slow", "a slow", "a slow", "b slow", "c"]]
    ordered = conftest.slow_tests_first(cast("list[pytest.Item]", items), 2)
    assert [items.index(cast("Item", item)) for item in ordered] == [0, 1, 2, 3, 4]
