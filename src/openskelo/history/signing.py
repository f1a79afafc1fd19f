"""Sign the head of a run, and store the signature beside its events: `runs/<run id>/head.sig`.

Every event's hash covers the one before it, so a signature of the last hash vouches for the whole log up to there.
"""

from __future__ import annotations

from pathlib import Path
from typing import cast

import orjson

from openskelo import errors, files
from openskelo.kernel.json import JsonObject
from openskelo.record import envelope, signature
from openskelo.stores import api
from openskelo.values import canonical

#: No signature is longer.
_MAX_BYTES = 64 * 1024


async def sign(store: api.Store, run_id: str, data_dir: Path, *, at: int) -> JsonObject:
    """Sign the run's last event with the data dir's key (created if it is missing); store and return the signature."""
    last = b""
    seq = 0
    async for lines in api.read_run(store, run_id):
        seq += len(lines)
        last = lines[-1]
    try:
        head = cast("str", orjson.loads(last)["hash"])
    except (orjson.JSONDecodeError, KeyError, TypeError):
        raise errors.Corrupt(f"event {seq} of run {run_id} cannot be read") from None
    key = signature.open_key(data_dir)
    document = signature.sign(key, run_id=run_id, seq=seq, head=head, at=envelope.timestamp(at))
    _write(path_of(data_dir, run_id), canonical.dumps(document) + b"\n")
    return document


def find(data_dir: Path, run_id: str) -> JsonObject | None:
    """Return the stored signature of a run, or None. Raise InvalidInput SIGNATURE_INVALID if it is malformed."""
    return read(path_of(data_dir, run_id))


def read(path: Path) -> JsonObject | None:
    """Return the signature in a file, None if there is no such file (InvalidInput SIGNATURE_INVALID)."""
    try:
        with files.open_plain(path) as file:
            data = file.read(_MAX_BYTES + 1)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise errors.StoreError(f"{path.name} cannot be read: {error.strerror}") from error
    if len(data) > _MAX_BYTES:
        raise errors.InvalidInput(f"{path.name} is too long for a signature", code="SIGNATURE_INVALID")
    return signature.parse(data)


def path_of(data_dir: Path, run_id: str) -> Path:
    """Return the path of a run's signature."""
    api.check_run_id(run_id)
    return data_dir / "runs" / run_id / "head.sig"


def _write(path: Path, data: bytes) -> None:
    try:
        for folder in (path.parent.parent, path.parent):  # `parents=True` would give the first one another mode
            folder.mkdir(mode=0o700, exist_ok=True)
        with files.atomic_file(path, mode=0o600) as file:
            file.write(data)
    except OSError as error:
        raise errors.StoreError(f"the signature cannot be kept: {error.strerror}") from error
