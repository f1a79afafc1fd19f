"""How a figure is measured: in rounds, each subject between two baselines, the median of the quiet rounds' ratios.

Disks and processors of shared machines vary many times over from one second to the next. A ratio to a baseline that
ran just before and just after says more than any time does, and only as long as nothing else changed in between: a
round whose two baselines differ, or in which the processor was slower than it can be, is not quiet and is made again.
What the subject took has no part in that.
"""

from __future__ import annotations

import contextlib
import gc
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable, Generator
from dataclasses import dataclass
from pathlib import Path

#: Measures once and gives seconds (or any other amount) for one unit of work.
Sample = Callable[[], float]

#: What is measured again at the ends of a quiet round differs by less than this.
QUIET = 1.25
#: So many rounds are made for each that counts, before those that were not quiet count, too.
TRIES = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """How much to measure, and where. `quick` only shows that everything runs: its figures mean nothing."""

    folder: Path
    rounds: int = 5
    quick: bool = False

    def count(self, full: int) -> int:
        """How many units of work stand for `full` of them."""
        return min(full, max(5, full // 50)) if self.quick else full

    @contextlib.contextmanager
    def fresh(self) -> Generator[Path]:
        """An empty folder on the measured disk, gone afterwards."""
        path = Path(tempfile.mkdtemp(dir=self.folder))
        try:
            yield path
        finally:
            shutil.rmtree(path)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bracketed:
    """What the rounds gave: a subject, its baseline, and one ratio a round; of `made` rounds only quiet ones count."""

    subject: float
    baseline: float
    subjects: tuple[float, ...]
    ratios: tuple[float, ...]
    made: int

    @property
    def ratio(self) -> float:
        """The median of the rounds' ratios."""
        return statistics.median(self.ratios)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Round:
    """One round: the subject, the baselines around it, and the pace of the processor at both ends."""

    subject: float
    baselines: tuple[float, float]
    paces: tuple[float, float]

    @property
    def baseline(self) -> float:
        return sum(self.baselines) / 2

    def is_quiet(self, best: float) -> bool:
        """Whether the baselines agree, and the processor was about as fast as it was at its `best`."""
        return max(self.baselines) < QUIET * min(self.baselines) and max(self.paces) < QUIET * best


def bracketed(plan: Plan, *, baseline: Sample, subject: Sample, pace: Sample | None = None) -> Bracketed:
    """Every round is baseline, subject, baseline; its ratio is to the mean of the two.

    Rounds are made until enough of them were quiet; on a machine that never is, all of them count. `pace` tells how
    fast the processor is.
    """
    made: list[_Round] = []
    counted: list[_Round] = []
    while len(counted) < plan.rounds:
        made.append(_round(baseline, subject, pace or _pace))
        best = min(min(one.paces) for one in made)
        counted = [one for one in made if one.is_quiet(best)]
        if plan.quick or len(made) >= TRIES * plan.rounds:
            counted = counted if len(counted) >= plan.rounds else made
            break
    return Bracketed(
        subject=statistics.median(one.subject for one in counted),
        baseline=statistics.median(one.baseline for one in counted),
        subjects=tuple(one.subject for one in counted),
        ratios=tuple(one.subject / one.baseline for one in counted),
        made=len(made),
    )


def _round(baseline: Sample, subject: Sample, pace: Sample) -> _Round:
    paced = pace()
    before = _once(baseline)
    taken = _once(subject)
    after = _once(baseline)
    return _Round(subject=taken, baselines=(before, after), paces=(paced, pace()))


def _pace() -> float:
    """Seconds for the same few milliseconds of plain Python, the better of three."""
    taken: list[float] = []
    for _ in range(3):
        started = time.perf_counter()
        found: dict[int, str] = {}
        for number in range(10_000):
            found[number % 997] = f"{number}"
        taken.append(time.perf_counter() - started)
    return min(taken)


def _once(sample: Sample) -> float:
    """Collect the garbage of an earlier sample first, so that it counts for no figure."""
    gc.collect()
    return sample()
