"""Did you mean, as a hint: at once, or looked for only when somebody reads the Problem that it belongs to."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from openskelo.frozen import frozen
from openskelo.values import nearest


@frozen
class Near:
    """A suggestion not looked for yet: looking costs time, and thousands of mistakes are not read to the end."""

    name: str
    known: Collection[str]
    otherwise: str | None = None

    def text(self) -> str | None:
        """The hint."""
        return did_you_mean(self.name, self.known, otherwise=self.otherwise)


def near(name: str, known: Collection[str], *, otherwise: str | None = None) -> Near:
    """A hint for a Problem: the nearest name, or `otherwise`."""
    return Near(name=name, known=known, otherwise=otherwise)


def did_you_mean(name: str, known: Iterable[str], *, otherwise: str | None = None) -> str | None:
    """The hint of `near`, at once."""
    found = nearest.name_like(name, known)
    return f"did you mean {found!r}?" if found is not None else otherwise
