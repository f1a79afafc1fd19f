"""What webhooks are owed, in a file of its own that may be damaged."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from openskelo import errors
from openskelo.stores import deliveries


def test_a_damaged_file_is_said_to_be_so_and_let_go(tmp_path: Path) -> None:
    damaged = tmp_path / deliveries.FILE
    damaged.write_bytes(b"no database" * 1000)
    with pytest.raises(errors.Corrupt) as raised:  # which keeps alive what was on the way
        deliveries.Deliveries(tmp_path)
    assert (raised.value.code, _is_open(damaged)) == ("CORRUPT", False)
    with damaged.open():
        assert _is_open(damaged)


def test_what_is_owed_is_lent_once_and_known_in_the_next_process(tmp_path: Path) -> None:
    owed = deliveries.Delivery(id="d", hook="h", run_id="r", seq=7, type="run.ended", taken_at=1)
    first = deliveries.Deliveries(tmp_path)
    try:
        assert first.position("feed") is None
        first.take("feed", 3, [owed])
        assert (first.lend("h", now=1, limit=9), first.lend("h", now=1, limit=9)) == ([owed], [])
    finally:
        first.close()
    second = deliveries.Deliveries(tmp_path)
    try:
        second.reclaim()
        assert (second.position("feed"), second.lend("h", now=1, limit=9)) == (3, [owed])
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
