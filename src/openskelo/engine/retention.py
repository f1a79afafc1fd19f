"""Retention of many runs at once: those that a person names, or that a rule chooses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from pathlib import Path

from openskelo import errors
from openskelo.engine import clock, pruning
from openskelo.frozen import frozen
from openskelo.kernel.json import JsonObject
from openskelo.stores import log


@frozen
class Choice:
    """Which of the runs that have ended: those that ended longer ago, in a status, the newest `keep` excepted."""

    older_than: timedelta | None = None
    keep: int | None = None
    status: str | None = None


@frozen
class Pruned:
    """What was freed: of each run that had something to give up, of the blobs, and why other runs were left alone."""

    runs: tuple[pruning.Freed, ...] = ()
    swept: log.Swept = log.Swept()
    failed: Mapping[str, errors.OpenSkeloError]
    dry_run: bool
    deleted: bool

    @property
    def events(self) -> int:
        """How many events gave up their data."""
        return sum(one.events for one in self.runs)

    @property
    def bytes(self) -> int:
        """How many bytes were freed in all."""
        return sum(one.bytes for one in self.runs) + self.swept.bytes

    def document(self) -> JsonObject:
        """What `skelo prune --json` prints."""
        return {
            "dryRun": self.dry_run,
            "runs": [{"runId": one.run_id, "events": one.events, "bytes": one.bytes} for one in self.runs],
            "deleted": self.deleted,
            "blobs": self.swept.blobs,
            "bytes": self.bytes,
            "failed": [
                {"runId": run_id, "code": error.code, "message": error.message} for run_id, error in self.failed.items()
            ],
        }


def check(named: Sequence[str], choice: Choice) -> None:
    """InvalidInput USAGE where runs are neither named nor chosen, or both, or by something that is no number."""
    rules = choice.older_than is not None or choice.keep is not None
    if bool(named) == rules or (named and choice.status is not None):
        raise errors.InvalidInput(
            "say which runs: by their ids, or by age and how many to keep",
            code="USAGE",
            hint="skelo prune --older-than 30d",
        )
    if choice.keep is not None and choice.keep < 0:
        raise errors.InvalidInput("the number of runs to keep is not negative", code="USAGE")


async def choose(store: log.Log, named: Sequence[str], choice: Choice) -> list[str]:
    """The runs that are named, or that a choice is about (InvalidInput as `check`)."""
    check(named, choice)
    if named:
        return list(named)
    age = choice.older_than
    before = None if age is None else clock.wall_ms() - age // timedelta(milliseconds=1)
    rule = pruning.Rule(before=before, keep=choice.keep or 0, status=choice.status)
    return [row.run_id for row in await pruning.choose(store, rule)]


async def prune(
    store: log.Log, run_ids: Sequence[str], data_dir: Path, *, delete: bool = False, dry_run: bool = False
) -> Pruned:
    """Prune (or delete) these runs and sweep what nothing refers to any more; `dry_run` only measures (NotFound).

    One that cannot be pruned (unfinished, driven elsewhere, damaged) does not keep the others from it.
    """
    freed: list[pruning.Freed] = []
    failed: dict[str, errors.OpenSkeloError] = {}
    for run_id in dict.fromkeys(run_ids):
        try:
            if dry_run:
                freed.append(await pruning.measure(store, run_id, delete=delete))
            elif delete:
                freed.append(await pruning.delete(store, run_id, data_dir))
            else:
                freed.append(await pruning.prune(store, run_id, data_dir))
        except (errors.Corrupt, errors.Refused, errors.Busy) as error:
            failed[run_id] = error
    done = [run_id for run_id in run_ids if run_id not in failed]
    if dry_run:
        swept = await pruning.measure_blobs(store, done, delete=delete)
    else:
        swept = await pruning.sweep(store, done)
    changed = tuple(one for one in freed if one.events)
    return Pruned(runs=changed, swept=swept, failed=failed, dry_run=dry_run, deleted=delete)
