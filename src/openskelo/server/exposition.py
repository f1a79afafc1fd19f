"""Numbers as Prometheus reads them: text, one family after the other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import accumulate
from typing import Literal, TypeAlias

from openskelo.frozen import frozen
from openskelo.stores import timed

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
Labels: TypeAlias = Mapping[str, str]


@frozen
class Family:
    """Samples that share a name; each has its labels and a value."""

    name: str
    kind: Literal["gauge", "counter"]
    help: str
    samples: tuple[tuple[Labels, float], ...]


def gauge(name: str, help_text: str, value: float) -> Family:
    """A family of one sample without labels."""
    return Family(name=name, kind="gauge", help=help_text, samples=(({}, value),))


def text(families: Iterable[Family | tuple[str, str, timed.Histogram]]) -> str:
    """The whole page; a histogram comes as name, help and counts."""
    lines: list[str] = []
    for family in families:
        lines += _family(family) if isinstance(family, Family) else _histogram(*family)
    return "\n".join(lines) + "\n"


def _family(family: Family) -> Iterator[str]:
    yield f"# HELP {family.name} {_escaped(family.help)}"
    yield f"# TYPE {family.name} {family.kind}"
    for labels, value in family.samples:
        yield f"{family.name}{_labels(labels)} {_number(value)}"


def _histogram(name: str, help_text: str, found: timed.Histogram) -> Iterator[str]:
    yield f"# HELP {name} {_escaped(help_text)}"
    yield f"# TYPE {name} histogram"
    bounds = [*map(_number, found.bounds), "+Inf"]
    counts = list(accumulate(found.counts))
    for bound, count in zip(bounds, counts, strict=True):
        yield f"{name}_bucket{_labels({'le': bound})} {count}"
    yield f"{name}_sum {_number(found.sum)}"
    yield f"{name}_count {counts[-1]}"


def _labels(labels: Labels) -> str:
    if not labels:
        return ""
    listed = ",".join(f'{name}="{_escaped(value, quoted=True)}"' for name, value in labels.items())
    return f"{{{listed}}}"


def _escaped(value: str, *, quoted: bool = False) -> str:
    value = value.replace("\\", "\\\\").replace("\n", "\\n")
    return value.replace('"', '\\"') if quoted else value


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) and abs(value) < 2**53 else repr(float(value))
