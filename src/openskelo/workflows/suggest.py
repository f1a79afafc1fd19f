"""Did you mean: the known name nearest to a mistyped one."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from itertools import islice

#: Past this many names a suggestion would cost more than it helps.
_MOST_NAMES = 2_000


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The name of `known` that `name` most likely stands for, or None when none is near."""
    folded = {candidate.casefold().replace("-", "_"): candidate for candidate in islice(known, _MOST_NAMES)}
    wanted = name[:100].casefold().replace("-", "_")
    if wanted in folded:
        return folded[wanted]
    close = [candidate for candidate in folded if abs(len(candidate) - len(wanted)) <= 4]
    found = difflib.get_close_matches(wanted, close, n=1, cutoff=0.6)
    return folded[found[0]] if found else None


def did_you_mean(name: str, known: Iterable[str], *, otherwise: str | None = None) -> str | None:
    """A hint for a Problem: the nearest name, or `otherwise`."""
    found = nearest(name, known)
    return f"did you mean {found!r}?" if found is not None else otherwise
