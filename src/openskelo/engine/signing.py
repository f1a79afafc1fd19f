"""Sign the head of a run, and keep the signature beside its events: `runs/<runId>/head.sig`."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import orjson

from openskelo import errors, files, whole
from openskelo.contract import envelope, signature
from openskelo.kernel.json import JsonObject
from openskelo.stores import log
from openskelo.values import canonical


async def sign(store: log.Log, run_id: str, data_dir: Path, *, at: int) -> JsonObject:
    """Sign the run as it stands now with the data dir's key (made if there is none), and keep the signature."""
    last = b""
    seq = 0
    async for lines in store.read(run_id):
        seq += len(lines)
        last = lines[-1]
    if not last:
        raise errors.NotFound(f"there is no run {run_id}", code="RUN_NOT_FOUND", hint="`skelo runs` lists them")
    try:
        head = cast("str", orjson.loads(last)["hash"])
    except (orjson.JSONDecodeError, KeyError, TypeError):
        raise errors.Corrupt(f"event {seq} of run {run_id} cannot be read") from None
    key = signature.open_key(data_dir)
    document = signature.sign(key, run_id=run_id, seq=seq, head=head, at=envelope.timestamp(at))
    _keep(path_of(data_dir, run_id), canonical.dumps(document) + b"\n")
    return document


def find(data_dir: Path, run_id: str) -> JsonObject | None:
    """The signature kept for a run, if there is one (InvalidInput SIGNATURE_INVALID)."""
    return read(path_of(data_dir, run_id))


def read(path: Path) -> JsonObject | None:
    """The signature in a file, or None where there is no such file (InvalidInput SIGNATURE_INVALID)."""
    try:
        return signature.parse(files.read_plain(path))
    except FileNotFoundError:
        return None
    except OSError as error:
        raise errors.StoreError(f"{path.name} cannot be read: {error.strerror}") from error


def path_of(data_dir: Path, run_id: str) -> Path:
    """Where a run's signature is kept."""
    log.check_run_id(run_id)
    return data_dir / "runs" / run_id / "head.sig"


def _keep(path: Path, data: bytes) -> None:
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with whole.file(path, mode=0o600) as file:
            file.write(data)
    except OSError as error:
        raise errors.StoreError(f"the signature cannot be kept: {error.strerror}") from error
