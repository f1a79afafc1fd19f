"""Did you mean: the known name nearest to a mistyped one, the same search for everybody who suggests one."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

#: Among more names than this only those are compared that differ from the wanted one in a single spot.
_FEW = 200


def name_like(name: str, known: Iterable[str]) -> str | None:
    """The name of `known` that `name` most likely stands for, or None when none is near."""
    folded = {_folded(candidate): candidate for candidate in known}
    wanted = _folded(name[:100])
    if wanted in folded:
        return folded[wanted]
    close = [candidate for candidate in folded if abs(len(candidate) - len(wanted)) <= 4]
    if len(close) > _FEW:
        close = [candidate for candidate in close if _differs_in_one_spot(wanted, candidate)][:_FEW]
    found = difflib.get_close_matches(wanted, close, n=1, cutoff=0.6)
    return folded[found[0]] if found else None


def _folded(name: str) -> str:
    return name.casefold().replace("-", "_")


def _differs_in_one_spot(wanted: str, candidate: str) -> bool:
    before = _shared(wanted, candidate)
    after = _shared(wanted[:before:-1], candidate[:before:-1])
    return before + after >= min(len(wanted), len(candidate)) - 3


def _shared(one: str, other: str) -> int:
    """How many characters two texts have in common at their beginning."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((index for index, (left, right) in pairs if left != right), min(len(one), len(other)))
