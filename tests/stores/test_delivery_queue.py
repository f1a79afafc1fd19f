"""What webhooks are owed, in a file of its own that may be damaged."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from openskelo import errors
from openskelo.stores import delivery_queue


def test_a_damaged_file_is_said_to_be_so_and_let_go(tmp_path: Path) -> None:
    damaged = tmp_path / delivery_queue.FILE
    damaged.write_bytes(b"no database" * 1000)
    with pytest.raises(errors.Corrupt) as raised:  # which keeps alive what was on the way
        delivery_queue.DeliveryQueue(tmp_path)
    assert (raised.value.code, _is_open(damaged)) == ("CORRUPT", False)
    with damaged.open():
        assert _is_open(damaged)


def test_a_due_delivery_is_leased_once_and_kept_for_the_next_process(tmp_path: Path) -> None:
    owed = delivery_queue.Delivery(id="d", hook="h", run_id="r", seq=7, type="run.ended", queued_at=1)
    first = delivery_queue.DeliveryQueue(tmp_path)
    try:
        assert first.position("feed") is None
        first.add("feed", 3, [owed])
        assert (first.lease("h", now=1, limit=9), first.lease("h", now=1, limit=9)) == ([owed], [])
    finally:
        first.close()
    second = delivery_queue.DeliveryQueue(tmp_path)
    try:
        second.end_leases()
        assert (second.position("feed"), second.lease("h", now=1, limit=9)) == (3, [owed])
    finally:
        second.close()


def _is_open(path: Path) -> bool:
    """Whether this process has the file open."""
    for descriptor in [int(one.name) for one in Path("/dev/fd").iterdir()]:
        try:
            if os.path.samestat(os.fstat(descriptor), path.stat()):
                return True
        except OSError:  # that of the listing itself
            continue
    return False


def test_a_file_system_without_shared_memory_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    connect = sqlite3.connect

    def without_shared_memory(path: Path, **options: Any) -> sqlite3.Connection:
        return connect(f"file:{path}?vfs=unix-dotfile", uri=True, **options)

    monkeypatch.setattr(sqlite3, "connect", without_shared_memory)
    with pytest.raises(errors.StoreError) as raised:
        delivery_queue.DeliveryQueue(tmp_path)
    assert (raised.value.code, "webhooks.db" in raised.value.message) == ("STORE_MODE", True)
