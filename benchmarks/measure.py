"""How a figure is measured: in rounds, each subject between two baselines, the median of the rounds' ratios.

Disks and processors of shared machines vary many times over from one second to the next. A ratio to a baseline that
ran just before and just after says more than any time does.
"""

from __future__ import annotations

import contextlib
import gc
import shutil
import statistics
import tempfile
from collections.abc import Callable, Generator
from dataclasses import dataclass
from pathlib import Path

#: Measures once and gives seconds (or any other amount) for one unit of work.
Sample = Callable[[], float]


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
    """What the rounds gave: a subject, its baseline, and one ratio a round."""

    subject: float
    baseline: float
    ratios: tuple[float, ...]

    @property
    def ratio(self) -> float:
        """The median of the rounds' ratios."""
        return statistics.median(self.ratios)


def bracketed(plan: Plan, *, baseline: Sample, subject: Sample) -> Bracketed:
    """Every round is baseline, subject, baseline; its ratio is to the mean of the two."""
    subjects: list[float] = []
    baselines: list[float] = []
    for _ in range(plan.rounds):
        before = _once(baseline)
        taken = _once(subject)
        after = _once(baseline)
        subjects.append(taken)
        baselines.append((before + after) / 2)
    return Bracketed(
        subject=statistics.median(subjects),
        baseline=statistics.median(baselines),
        ratios=tuple(taken / raw for taken, raw in zip(subjects, baselines, strict=True)),
    )


def _once(sample: Sample) -> float:
    """What an earlier sample left to collect is collected first, at nobody's expense."""
    gc.collect()
    return sample()
