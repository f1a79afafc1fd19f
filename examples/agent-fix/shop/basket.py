"""A basket of goods, with prices in cents."""

from __future__ import annotations

from collections.abc import Sequence


def total(prices: Sequence[int], discount_percent: int = 0) -> int:
    """Return the sum of the prices after the discount, rounded to whole cents."""
    whole = sum(prices)
    return round(whole * (100 - discount_percent) / 100)
