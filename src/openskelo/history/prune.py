"""Retention: ended runs give up their payloads, or are deleted; the record of a pruned run still verifies.

    choose    which ended runs: named ones, or by age, status and how many to keep
    measure   what pruning would free, for `--dry-run`
    prune     shorten the lines of a run: envelope, hashes and receipts stay, inputs and outputs go
    delete    remove a run altogether
    sweep     remove the blobs that no run refers to any more

A run of which the log has lost events (a damaged write-ahead log) is left alone: files in `events/` still hold them,
and are the only evidence. A run is claimed while it is pruned, as if it were driven. If the process is killed, pruning
the run again finishes the work: the first line is shortened last. The event files follow with the sweep, or when a
store is next used.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import cast

import orjson

from openskelo import clock, errors
from openskelo.handlers.builtin import write_file
from openskelo.kernel import ids
from openskelo.kernel.json import JsonObject
from openskelo.record import line_check
from openskelo.stores import api, blobs
from openskelo.structs import frozen

_ROWS_PER_PAGE = 500


@frozen
class Choice:
    """A selection of ended runs: older than an age, with a status, without the newest ones."""

    older_than: timedelta | None = None
    #: The number of the newest runs to leave out.
    keep: int | None = None
    status: str | None = None


@frozen
class Freed:
    """The effect of pruning on one run."""

    run_id: str
    #: The number of events that lost their data.
    events: int = 0
    bytes: int = 0
    #: The run was deleted.
    gone: bool = False


@frozen
class Pruned:
    """The result of pruning: freed runs and blobs, and the reason for each run that was left alone."""

    runs: tuple[Freed, ...] = ()
    swept: api.SweepResult = api.SweepResult()
    failed: Mapping[str, errors.OpenSkeloError]
    dry_run: bool
    deleted: bool

    @property
    def events(self) -> int:
        """Return the number of events that gave up their data."""
        return sum(run.events for run in self.runs)

    @property
    def bytes(self) -> int:
        """Return the number of bytes that were freed in all."""
        return sum(run.bytes for run in self.runs) + self.swept.bytes

    def document(self) -> JsonObject:
        """Return what `skelo prune --json` prints."""
        return {
            "dryRun": self.dry_run,
            "runs": [{"runId": run.run_id, "events": run.events, "bytes": run.bytes} for run in self.runs],
            "deleted": self.deleted,
            "blobs": self.swept.blobs,
            "bytes": self.bytes,
            "failed": [
                {"runId": run_id, "code": error.code, "message": error.message} for run_id, error in self.failed.items()
            ],
        }


def check_choice(run_ids: Sequence[str], choice: Choice) -> None:
    """Raise InvalidInput (USAGE) unless runs are either named or chosen by a rule."""
    has_rule = choice.older_than is not None or choice.keep is not None
    if bool(run_ids) == has_rule or (run_ids and choice.status is not None):
        raise errors.InvalidInput(
            "say which runs: by their ids, or by age and how many to keep",
            code="USAGE",
            hint="skelo prune --older-than 30d",
        )
    if choice.keep is not None and choice.keep < 0:
        raise errors.InvalidInput("the number of runs to keep must not be negative", code="USAGE")


async def choose(store: api.Listings, run_ids: Sequence[str], choice: Choice) -> list[str]:
    """Return the named runs, or the ended runs of a choice, newest first (InvalidInput as `check_choice`)."""
    check_choice(run_ids, choice)
    if run_ids:
        return list(run_ids)
    before: int | None = None
    if choice.older_than is not None:
        before = clock.wall_ms() - choice.older_than // timedelta(milliseconds=1)
    selected_ids: list[str] = []
    left_to_keep = choice.keep or 0
    last: str | None = None
    while rows := await store.list_runs(limit=_ROWS_PER_PAGE, status=choice.status, before=last):
        last = rows[-1].run_id
        for row in rows:
            if row.ending is None:
                continue
            if left_to_keep:
                left_to_keep -= 1
            elif before is None or row.updated_at < before:
                selected_ids.append(row.run_id)
    return selected_ids


async def prune_runs(
    store: api.Store, run_ids: Sequence[str], data_dir: Path, *, delete: bool = False, dry_run: bool = False
) -> Pruned:
    """Prune (or delete) these runs, then sweep blobs; `dry_run` only measures (NotFound).

    A run that cannot be pruned (unfinished, driven elsewhere, damaged) does not keep the others from it.
    """
    freed_runs: list[Freed] = []
    failures: dict[str, errors.OpenSkeloError] = {}
    lost_events = await store.find_lost_events()
    for run_id in dict.fromkeys(run_ids):
        try:
            _check_complete(run_id, lost_events)
            if dry_run:
                freed_runs.append(await measure(store, run_id, delete=delete))
            elif delete:
                freed_runs.append(await _delete_run(store, run_id, data_dir))
            else:
                freed_runs.append(await _prune_run(store, run_id, data_dir))
        except (errors.Corrupt, errors.Refused, errors.Busy) as error:
            failures[run_id] = error
    pruned_ids = [run_id for run_id in run_ids if run_id not in failures]
    if dry_run:
        swept = await measure_blobs(store, pruned_ids, delete=delete)
    else:
        swept = await store.sweep_blobs(forget=frozenset(pruned_ids))
    with_events = tuple(run for run in freed_runs if run.events)
    return Pruned(runs=with_events, swept=swept, failed=failures, dry_run=dry_run, deleted=delete)


async def measure(store: api.Store, run_id: str, *, delete: bool = False) -> Freed:
    """Return what pruning (or deleting) a run would free (NotFound, Refused RUN_UNFINISHED, Corrupt)."""
    await _check_ended(store, run_id)
    events = size = 0
    async for lines in store.read_events(run_id):
        for line in lines:
            shorter = b"" if delete else line_check.prune(line)
            events += shorter != line
            size += len(line) - len(shorter)
    return Freed(run_id=run_id, events=events, bytes=size, gone=delete)


async def measure_blobs(store: api.Store, runs: Collection[str], *, delete: bool = False) -> api.SweepResult:
    """Return what a sweep would remove at most after these runs were pruned (or deleted).

    It may leave some of it for later: files younger than an hour, and blobs that the cache of steps refers to.
    """
    released_digests: set[str] = set()
    used_digests: set[str] = set()
    last: str | None = None
    while rows := await store.list_runs(limit=_ROWS_PER_PAGE, before=last):
        last = rows[-1].run_id
        for row in rows:
            async for lines in store.read_events(row.run_id):
                if row.run_id not in runs:
                    used_digests |= blobs.find_digests(lines)
                    continue
                released_digests |= blobs.find_digests(lines)
                if not delete:
                    used_digests |= blobs.find_digests(map(line_check.prune, lines))
    sizes = [await _blob_size(store, digest) for digest in released_digests - used_digests]
    known_sizes = [size for size in sizes if size is not None]
    return api.SweepResult(blobs=len(known_sizes), bytes=sum(known_sizes))


async def _blob_size(store: api.BlobReader, digest: str) -> int | None:
    """Return the size of a blob, 0 for a damaged one; None for a hash that names no blob."""
    try:
        return len(await store.read_blob(f"sha256:{digest}"))
    except errors.NotFound:
        return None
    except errors.Corrupt:
        return 0


async def prune_run(store: api.Store, run_id: str, data_dir: Path | None = None) -> Freed:
    """Remove the payloads of a run; its chain and receipts stay, and what is left verifies.

    Blobs wait for a sweep. Raises NotFound, Refused (RUN_UNFINISHED, EVENTS_LOST), Busy, and Corrupt, which leaves the
    run as it is.
    """
    _check_complete(run_id, await store.find_lost_events())
    return await _prune_run(store, run_id, data_dir)


async def _prune_run(store: api.Store, run_id: str, data_dir: Path | None) -> Freed:
    await _check_ended(store, run_id)
    async for lines in store.read_events(run_id):
        if line_check.is_pruned(lines[0]):
            return Freed(run_id=run_id)  # all of it: the first line is shortened last
        break
    freed_run = await measure(store, run_id)
    await _claim(store, run_id)
    try:
        if data_dir is not None:
            await _remove_markers(store, run_id, data_dir)
        await store.rewrite_events(run_id, line_check.prune)
    finally:
        await store.release_run(run_id)
    return freed_run


async def delete_run(store: api.Store, run_id: str, data_dir: Path | None = None) -> Freed:
    """Delete a run and its record. Blobs wait for a sweep (NotFound; Refused RUN_UNFINISHED, EVENTS_LOST; Busy)."""
    _check_complete(run_id, await store.find_lost_events())
    return await _delete_run(store, run_id, data_dir)


async def _delete_run(store: api.Store, run_id: str, data_dir: Path | None) -> Freed:
    freed_run = await measure(store, run_id, delete=True)
    await _claim(store, run_id)
    try:
        if data_dir is not None:
            await _remove_markers(store, run_id, data_dir)
        await store.delete_run(run_id)
    finally:
        await store.release_run(run_id)
    return freed_run


def _check_complete(run_id: str, lost: Mapping[str, int]) -> None:
    """Raise Refused (EVENTS_LOST) if the log lacks events of the run which kept files still hold."""
    if run_id in lost:
        raise errors.Refused(
            f"the log has lost {lost[run_id]} events of run {run_id}, and files that were kept still hold them",
            code="EVENTS_LOST",
            hint="`skelo doctor` names the files; move them out of the data dir, then prune the run",
        )


async def _check_ended(store: api.Listings, run_id: str) -> None:
    row = await api.get_run(store, run_id)
    if row.ending is None:
        raise errors.Refused(
            f"run {run_id} has not ended", code="RUN_UNFINISHED", hint=f"`skelo cancel {ids.short(run_id)}` ends it"
        )


async def _claim(store: api.Claims, run_id: str) -> None:
    if not await store.claim_run(run_id):
        raise errors.Busy(f"another process drives run {run_id}")


async def _remove_markers(store: api.EventLog, run_id: str, data_dir: Path) -> None:
    """Remove the marker files by which `builtin:write-file` recognises its own files: an ended run writes no more."""
    async for lines in store.read_events(run_id):
        for line in lines:
            if b'"type":"attempt.started"' not in line:
                continue
            try:
                start_data = cast("JsonObject", orjson.loads(line)["data"])
                slot = cast("int", start_data.get("item") or 0)
                key = ids.idempotency_key(
                    run_id, cast("str", start_data["node"]), cast("int", start_data["visit"]), slot
                )
            except (orjson.JSONDecodeError, KeyError, TypeError):
                continue  # a line that holds such a text in its data
            try:
                write_file.marker_path(data_dir, key).unlink(missing_ok=True)
            except OSError as error:
                raise errors.StoreError(
                    f"a file of {data_dir / 'writes'} cannot be removed: {error.strerror}"
                ) from error
