"""What the benchmarks found: figures against their bars, as a table for people or as one JSON document."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

Verdict = Literal["pass", "FAIL", "info", "not measured"]
#: A miss by less than this part of a bar is met.
TOLERANCE = 0.1
Json = str | int | float | bool | None | Sequence["Json"] | dict[str, "Json"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One result. It passes if it misses `bar` by less than `tolerance`, a part of the bar; with 0, if it is below.

    Without a bar it is there for information. `value` is None when it could not be measured, and `note` says why.
    `rounds` are those that count, of `made` ones. `failed` is true if the measurement broke down.
    """

    name: str
    what: str
    value: float | None
    unit: str
    bar: float | None = None
    tolerance: float = TOLERANCE
    stretch: float | None = None
    rounds: tuple[float, ...] = ()
    made: int = 0
    note: str = ""
    failed: bool = False

    @property
    def verdict(self) -> Verdict:
        """Whether the bar was reached."""
        if self.failed:
            return "FAIL"
        if self.value is None:
            return "not measured"
        if self.bar is None:
            return "info"
        return "pass" if self.value < self.bar * (1 + self.tolerance) else "FAIL"


def unjudged(figure: Figure) -> Figure:
    """The figure without its bar, for measurements that are too short to judge."""
    return replace(figure, bar=None, stretch=None)


def broken(name: str, error: Exception) -> Figure:
    """The figure of a benchmark that could not go on: it fails, and says why."""
    note = (str(error).strip() or repr(error)).splitlines()[-1]
    return Figure(name=name, what=f"{name}: broke down", value=None, unit="", note=note, failed=True)


def missed(figures: Sequence[Figure]) -> bool:
    """Whether any bar was missed; a figure that could not be measured has not missed it, nor reached it."""
    return any(figure.verdict == "FAIL" for figure in figures)


def document(figures: Sequence[Figure], *, quick: bool) -> dict[str, Json]:
    """Everything as one JSON document."""
    return {"quick": quick, "passed": not missed(figures), "figures": [_entry(figure) for figure in figures]}


def _entry(figure: Figure) -> dict[str, Json]:
    return {
        "name": figure.name,
        "what": figure.what,
        "value": _rounded(figure.value),
        "unit": figure.unit,
        "bar": figure.bar,
        "stretch": figure.stretch,
        "verdict": figure.verdict,
        "rounds": [_rounded(one) for one in figure.rounds],
        "made": figure.made or len(figure.rounds),
        "note": figure.note,
    }


def _rounded(value: float | None) -> float | None:
    """Three digits are more than any of these figures is good for."""
    return None if value is None else float(f"{value:.3g}")


def lines(figures: Sequence[Figure]) -> Iterator[str]:
    """A table: one line for each figure."""
    width = max((len(figure.what) for figure in figures), default=0)
    for figure in figures:
        value = "-" if figure.value is None else f"{figure.value:.3g}"
        bar = "" if figure.bar is None else f"<= {figure.bar:g}"
        if figure.stretch is not None:
            bar += f" ({figure.stretch:g})"
        columns = f"{figure.what:<{width}}  {value:>7} {figure.unit:<14} {bar:<12} {figure.verdict:<12}"
        yield f"{columns} {_aside(figure)}".rstrip()


def _aside(figure: Figure) -> str:
    if not figure.rounds:
        return figure.note
    spread = f"{min(figure.rounds):.3g} .. {max(figure.rounds):.3g}"
    if figure.made > len(figure.rounds):
        spread += f" in {len(figure.rounds)} quiet rounds of {figure.made}"
    return f"{spread}; {figure.note}" if figure.note else spread
