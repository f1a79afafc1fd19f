"""Finds the name that the author of a mistyped name most likely meant, for "did you mean" hints."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

#: Comparing is slow. Among more names than this, only names with one different stretch of letters are compared.
_MAX_COMPARED = 200


def did_you_mean(name: str, names: Iterable[str], *, otherwise: str | None = None) -> str | None:
    """Return "did you mean …?" with the most similar of `names`, or `otherwise` if none is similar."""
    nearest = name_like(name, names)
    if nearest is None:
        return otherwise
    return f"did you mean {nearest!r}?"


def name_like(name: str, names: Iterable[str]) -> str | None:
    """Return the one of `names` that is most similar to `name`; None when all are too different."""
    by_folded_name = {_fold(candidate): candidate for candidate in names}
    folded_name = _fold(name[:100])
    if folded_name in by_folded_name:
        return by_folded_name[folded_name]
    candidates = [candidate for candidate in by_folded_name if abs(len(candidate) - len(folded_name)) <= 4]
    if len(candidates) > _MAX_COMPARED:
        candidates = [candidate for candidate in candidates if _differs_in_one_stretch(folded_name, candidate)]
    matches = difflib.get_close_matches(folded_name, candidates[:_MAX_COMPARED], n=1, cutoff=0.6)
    return by_folded_name[matches[0]] if matches else None


def _fold(name: str) -> str:
    return name.casefold().replace("-", "_")


def _differs_in_one_stretch(folded: str, candidate: str) -> bool:
    before = _common_prefix(folded, candidate)
    after = _common_prefix(folded[:before:-1], candidate[:before:-1])
    return before + after >= min(len(folded), len(candidate)) - 3


def _common_prefix(first: str, second: str) -> int:
    """Return how many characters two texts have in common at their beginning."""
    pairs = enumerate(zip(first, second, strict=False))
    return next((index for index, (left, right) in pairs if left != right), min(len(first), len(second)))
