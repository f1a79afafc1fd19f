"""The raw baselines: what the disk, the interpreter and the plainest code take for comparable work."""

from __future__ import annotations

import asyncio
import hashlib
import os
import time
from pathlib import Path
from typing import Any

import orjson

LINE = b"x" * 399 + b"\n"


def synced_appends(folder: Path, count: int, line: bytes = LINE) -> float:
    """F: seconds for one append of a 400-byte line (or of another one) and its fdatasync."""
    descriptor = _new_file(folder / "raw")
    try:
        started = time.perf_counter()
        for _ in range(count):
            os.write(descriptor, line)
            _sync(descriptor)
        return (time.perf_counter() - started) / count
    finally:
        os.close(descriptor)


def group_commit(folder: Path, *, writers: int, records: int, size: int) -> float:
    """Seconds until every one of `writers` tasks has made `records` records of `size` bytes durable, one by one.

    Each record waits until it is synced; all that wait together share one write and one fdatasync.
    """
    return asyncio.run(_group_commit(folder, writers, records, b"x" * (size - 1) + b"\n"))


async def _group_commit(folder: Path, writers: int, records: int, record: bytes) -> float:
    descriptor = _new_file(folder / "raw")
    committer = _Committer(descriptor)
    committing = asyncio.create_task(committer.run())
    try:
        started = time.perf_counter()
        await asyncio.gather(*(_write(committer, record, records) for _ in range(writers)))
        return time.perf_counter() - started
    finally:
        committing.cancel()
        await asyncio.gather(committing, return_exceptions=True)
        os.close(descriptor)


async def _write(committer: _Committer, record: bytes, records: int) -> None:
    for _ in range(records):
        await committer.append(record)


class _Committer:
    """Group commit in its plainest form: all that came in since the last sync is written and synced together."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._waiting: list[tuple[bytes, asyncio.Future[None]]] = []
        self._mail = asyncio.Event()

    async def append(self, record: bytes) -> None:
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((record, done))
        self._mail.set()
        await done

    async def run(self) -> None:
        while True:
            await self._mail.wait()
            self._mail.clear()
            batch, self._waiting = self._waiting, []
            os.write(self._descriptor, b"".join(record for record, _ in batch))
            _sync(self._descriptor)
            for _, done in batch:
                done.set_result(None)


def folded(path: Path) -> float:
    """Seconds to read a log of JSON lines, parse each of them and fold them into a dict by node."""
    started = time.perf_counter()
    state: dict[str, Any] = {}
    with path.open("rb") as log:
        for line in log:
            event = orjson.loads(line)
            state[event.get("nodeId", "")] = event["data"]
    taken = time.perf_counter() - started
    if not state:
        raise ValueError(f"{path.name} has no events")
    return taken


def hashed(value: object, count: int) -> float:
    """Seconds for the canonical bytes and SHA-256 of a step's input and output: the least that a receipt needs."""
    started = time.perf_counter()
    for _ in range(count):
        for _side in ("input", "output"):
            hashlib.sha256(orjson.dumps(value, option=orjson.OPT_SORT_KEYS)).hexdigest()
    return (time.perf_counter() - started) / count


def _new_file(path: Path) -> int:
    return os.open(path, os.O_CREAT | os.O_TRUNC | os.O_WRONLY | os.O_APPEND)


def _sync(descriptor: int) -> None:
    """fdatasync where there is one (macOS has only fsync)."""
    getattr(os, "fdatasync", os.fsync)(descriptor)
