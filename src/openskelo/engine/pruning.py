"""Retention: runs that have ended give up what went through them, or go altogether; a pruned record still verifies."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import cast

import orjson

from openskelo import errors
from openskelo.contract import pruned
from openskelo.frozen import frozen
from openskelo.handlers import write_file
from openskelo.kernel import ids
from openskelo.kernel.json import JsonObject
from openskelo.stores import blobs, log

_PAGE = 500


@frozen
class Rule:
    """Which of the runs that have ended: those that ended before a time, in a status, the newest `keep` excepted."""

    before: int | None = None
    keep: int = 0
    status: str | None = None


@frozen
class Freed:
    """How many events of a run gave up their data (with `gone`: all of them went), and the bytes that they had."""

    run_id: str
    events: int = 0
    bytes: int = 0
    gone: bool = False


async def choose(store: log.Log, rule: Rule) -> Sequence[log.RunRow]:
    """The runs that a rule is about, newest first; runs that have not ended are never among them."""
    chosen: list[log.RunRow] = []
    spared = 0
    last: str | None = None
    while rows := await store.rows(limit=_PAGE, status=rule.status, before=last):
        last = rows[-1].run_id
        for row in rows:
            if row.ending is None:
                continue
            if spared < rule.keep:
                spared += 1
            elif rule.before is None or row.updated_at < rule.before:
                chosen.append(row)
    return chosen


async def measure(store: log.Log, run_id: str, *, delete: bool = False) -> Freed:
    """What `prune` (or `delete`) would free of a run (NotFound, Refused RUN_UNFINISHED, Corrupt)."""
    await _ended(store, run_id)
    events = size = 0
    async for lines in store.read(run_id):
        for line in lines:
            shorter = b"" if delete else pruned.shorten(line)
            events += shorter != line
            size += len(line) - len(shorter)
    return Freed(run_id=run_id, events=events, bytes=size, gone=delete)


async def measure_blobs(store: log.Log, runs: Collection[str], *, delete: bool = False) -> log.Swept:
    """What `sweep` would remove at most after these runs were pruned (or deleted): blobs that nothing else refers to.

    It may leave some of them for later: files that are younger than an hour, and what the cache of steps still holds.
    """
    gone: set[str] = set()
    kept: set[str] = set()
    last: str | None = None
    while rows := await store.rows(limit=_PAGE, before=last):
        last = rows[-1].run_id
        for row in rows:
            async for lines in store.read(row.run_id):
                if row.run_id not in runs:
                    kept |= blobs.named_in(lines)
                    continue
                gone |= blobs.named_in(lines)
                kept |= set() if delete else blobs.named_in(map(pruned.shorten, lines))
    sizes = [await _size(store, digest) for digest in gone - kept]
    found = [size for size in sizes if size is not None]
    return log.Swept(blobs=len(found), bytes=sum(found))


async def _size(store: log.Log, digest: str) -> int | None:
    """How large a blob is; None where there is none: other hashes look the same. A changed one counts as empty."""
    try:
        return len(await store.blob(f"sha256:{digest}"))
    except errors.NotFound:
        return None
    except errors.Corrupt:
        return 0


async def prune(store: log.Log, run_id: str, data_dir: Path | None = None) -> Freed:
    """Take the payloads out of a run; its chain and its receipts stay, and what is left verifies.

    Blobs wait for `sweep`. NotFound; Refused RUN_UNFINISHED; Busy; Corrupt, and the run is left as evidence.
    """
    await _ended(store, run_id)
    async for lines in store.read(run_id):
        if pruned.is_pruned(lines[0]):
            return Freed(run_id=run_id)  # the first line goes last
        break
    freed = await measure(store, run_id)
    await _claim(store, run_id)
    try:
        if data_dir is not None:
            await _remove_markers(store, run_id, data_dir)
        await store.rewrite(run_id, pruned.shorten)
    finally:
        await store.release(run_id)
    return freed


async def delete(store: log.Log, run_id: str, data_dir: Path | None = None) -> Freed:
    """Remove a run and its record. Blobs wait for `sweep` (NotFound; Refused RUN_UNFINISHED; Busy)."""
    freed = await measure(store, run_id, delete=True)
    await _claim(store, run_id)
    try:
        if data_dir is not None:
            await _remove_markers(store, run_id, data_dir)
        await store.erase(run_id)
    finally:
        await store.release(run_id)
    return freed


async def sweep(store: log.Log, runs: Collection[str]) -> log.Swept:
    """Remove the blobs that nothing refers to any more, and what these runs left in the cache."""
    return await store.sweep(forget=frozenset(runs))


async def _ended(store: log.Log, run_id: str) -> None:
    row = await store.row(run_id)
    if row is None:
        raise errors.NotFound(f"there is no run {run_id}", code="RUN_NOT_FOUND", hint="`skelo runs` lists them")
    if row.ending is None:
        raise errors.Refused(
            f"run {run_id} has not ended", code="RUN_UNFINISHED", hint=f"`skelo cancel {run_id}` ends it"
        )


async def _claim(store: log.Log, run_id: str) -> None:
    """Whoever prunes is the run's last driver: should it be killed, the next process finishes `events.jsonl`."""
    if not await store.claim(run_id):
        raise errors.Busy(f"another process drives run {run_id}")


async def _remove_markers(store: log.Log, run_id: str, data_dir: Path) -> None:
    """What `builtin:write-file` noted to know its own files again is of no use once a run has ended."""
    async for lines in store.read(run_id):
        for line in lines:
            if b'"type":"attempt.started"' not in line:
                continue
            try:
                started = cast("JsonObject", orjson.loads(line)["data"])
                slot = cast("int", started.get("item") or 0)
                key = ids.idempotency_key(run_id, cast("str", started["node"]), cast("int", started["visit"]), slot)
            except (orjson.JSONDecodeError, KeyError, TypeError):
                continue  # a line in which a text happens to look like it
            try:
                write_file.marker_path(data_dir, key).unlink(missing_ok=True)
            except OSError as error:
                raise errors.StoreError(
                    f"a file of {data_dir / 'writes'} cannot be removed: {error.strerror}"
                ) from error
