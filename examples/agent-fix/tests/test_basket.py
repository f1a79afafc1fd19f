"""The total of a basket."""

from __future__ import annotations

import unittest

from shop import basket


class TotalTest(unittest.TestCase):
    def test_a_discount_is_taken_off_the_whole(self) -> None:
        assert basket.total([999, 1], discount_percent=10) == 900

    def test_an_empty_basket_costs_nothing(self) -> None:
        assert basket.total([]) == 0
