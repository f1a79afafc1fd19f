"""Did you mean, for paths: what stands beside a path that leads nowhere, under a name like it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from openskelo.values import nearest

#: So many names of a folder are compared.
_MOST = 500


def meant(path: Path, said: str, *, kind: Callable[[Path], bool] = Path.is_file) -> str | None:
    """A hint with the neighbour of `path`, spelled as the author spelled `said`; None when there is none like it.

    A name without its ending counts as near. `kind` says which neighbours do.
    """
    try:
        names = sorted(entry.name for entry in path.parent.iterdir() if kind(entry))[:_MOST]
    except (OSError, ValueError):
        return None
    whole = (name for name in names if path.name and name.startswith(f"{path.name}."))
    found = next(whole, None) or nearest.name_like(path.name, names)
    if found is None:
        return None
    before, slash, _ = said.rstrip("/").rpartition("/")
    return f"did you mean {before + slash + found!r}?"
