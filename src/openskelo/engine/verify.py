"""Verify a run in its data dir, or a file that was copied from somewhere: an export, or a plain `events.jsonl`."""

from __future__ import annotations

import asyncio
import itertools
import time
from pathlib import Path

from openskelo import errors, files
from openskelo.contract import bundle, chain, envelope, pinned, pruned, references, sealed, signature
from openskelo.engine import signing
from openskelo.frozen import mutable, replace
from openskelo.kernel import definition, events
from openskelo.kernel.json import Json, JsonObject
from openskelo.stores import log

#: So long after a run's end its file may be missing the last of it.
PATIENCE_SECONDS = 2.0


@mutable
class _Told:
    """What the log says of the run as a whole, where listings repeat it."""

    created: events.RunCreated | None = None
    ended: events.RunEnded | None = None


def verify_file(path: Path | str, *, public_key: str | None = None) -> chain.Verification:
    """Verify a file with nothing else at hand; a `head.sig` beside a plain log is looked at too (InvalidInput).

    With a `public_key` (`ed25519:…` or PEM) the record must be signed by it, up to its head.
    """
    path = Path(path)
    public_key = None if public_key is None else signature.public_key(public_key)
    try:
        if not path.exists():
            raise errors.InvalidInput(f"there is no file {path}", code="FILE_NOT_FOUND")
        with files.open_plain(path) as file:
            first = file.readline()
            lines = itertools.chain([first] if first else [], file)
            if bundle.is_bundle(first):
                return bundle.verify(lines, public_key=public_key)
            signed, fault = _signature(path.with_name("head.sig"))
            verifier = chain.Verifier(watch=_signed_seq(signed))
            for line in lines:
                verifier.add(line)
    except OSError as error:
        raise errors.InvalidInput(f"{path} cannot be read: {error.strerror}", code="FILE_UNREADABLE") from error
    return _with_signature(verifier, signed, fault, public_key)


async def verify_run(
    store: log.Log, run_id: str, *, data_dir: Path | None = None, public_key: str | None = None
) -> chain.Verification:
    """Verify a run where it was made: its lines, its blobs, and in `data_dir` its `events.jsonl` and signature.

    With a `public_key` (`ed25519:…` or PEM) the record must be signed by it, up to its head (NotFound, InvalidInput).
    """
    public_key = None if public_key is None else signature.public_key(public_key)
    signed, fault = (None, None) if data_dir is None else _signature(signing.path_of(data_dir, run_id))
    verifier = chain.Verifier(watch=_signed_seq(signed))
    referred: dict[str, int] = {}
    told = _Told()
    row = await store.row(run_id)  # before the lines: a run that ends meanwhile has lost nothing
    async for lines in store.read(run_id):
        if verifier.line == 1:
            verifier.workflow = await _workflow(store, lines[0], verifier)
        for line in lines:
            event = verifier.add(line + b"\n")
            for name in () if event is None else references.names(event):
                referred.setdefault(name, verifier.seq)
            if isinstance(event, events.RunCreated):
                told.created = event
            elif isinstance(event, events.RunEnded):
                told.ended = event
        await asyncio.sleep(0)  # a server has others to answer meanwhile
    if verifier.line == 1:
        raise errors.NotFound(f"there is no run {run_id}", code="RUN_NOT_FOUND", hint="`skelo runs` lists them")
    if verifier.run_id not in (None, run_id):
        verifier.report_whole(
            sealed.Fault("RUN_CHANGED", f"what is kept as run {run_id} is the record of run {verifier.run_id}")
        )
    await _check_blobs(store, verifier, run_id, referred)
    _check_listing(row, verifier, told)
    if data_dir is not None:
        await _check_mirror(store, verifier, run_id, data_dir / "runs" / run_id / "events.jsonl")
    return replace(_with_signature(verifier, signed, fault, public_key), blobs=len(referred))


async def _workflow(store: log.Log, first: bytes, verifier: chain.Verifier) -> definition.Workflow | None:
    """The pinned workflow, or None where line or blob are unusable: their own checks say why."""
    try:
        event = envelope.open_line(first)[1]
        data = await store.blob(event.definition) if isinstance(event, events.RunCreated) else None
    except (errors.OpenSkeloError, ValueError, KeyError, TypeError):
        return None
    try:
        return None if data is None else pinned.read(data)
    except errors.InvalidInput as error:
        verifier.report(sealed.Fault(error.code, error.message))
        return None


async def _check_blobs(store: log.Log, verifier: chain.Verifier, run_id: str, referred: dict[str, int]) -> None:
    for name, seq in referred.items():
        try:
            await store.blob(name)
        except errors.NotFound:
            if await _gave_up(store, run_id, seq):
                continue
            verifier.report_whole(sealed.Fault("BLOB_MISSING", f"blob {name} of event {seq} is not there"), seq)
        except errors.Corrupt:
            verifier.report_whole(sealed.Fault("BLOB_MISMATCH", f"blob {name} of event {seq} was changed"), seq)
        except errors.InvalidInput as error:  # not a name at all
            verifier.report_whole(sealed.Fault(error.code, error.message), seq)


async def _gave_up(store: log.Log, run_id: str, seq: int) -> bool:
    """Whether an event was pruned since it was read, and what it referred to went with it."""
    async for lines in store.read(run_id, after=seq - 1):
        return pruned.is_pruned(lines[0])
    return False


def _check_listing(row: log.RunRow | None, verifier: chain.Verifier, told: _Told) -> None:
    """What listings say of the run must be what its log says; one that was read earlier knows no end yet."""
    if row is None:
        return
    if row.ending is not None and not verifier.result().ended:
        verifier.report_whole(
            sealed.Fault("SEQ_GAP", f"the run is listed as ended ({row.ending}), but its end is missing")
        )
    said: list[tuple[str, str | None, Json]] = []
    if told.ended is not None and row.ending is not None:
        said.append(("ending", row.ending, told.ended.ending))
    if told.created is not None:
        parent = None if told.created.parent is None else told.created.parent.get("runId")
        said.append(("name", row.name, told.created.workflow))
        said.append(("workflow_hash", row.workflow_hash, told.created.workflow_hash))
        said.append(("parent", row.parent, parent))
    for what, listed, logged in said:
        if listed != logged:
            fault = sealed.Fault("LISTING_DIFFERS", f"the run is listed with {what} {listed}; its log says {logged}")
            verifier.report_whole(fault)


async def _check_mirror(store: log.Log, verifier: chain.Verifier, run_id: str, path: Path) -> None:
    """The run's file must be the log, byte for byte; its end may lag behind while the run goes on or is driven.

    So may all of it while the run is being pruned. Whoever drove it to its end may be alive, and writes the file a
    moment later: that moment is waited for.
    """
    await store.flush()
    ended = verifier.result().ended
    row = await store.row(run_id)
    patient_until = 0.0 if row is None else row.updated_at / 1000 + PATIENCE_SECONDS
    fault, lagging = await _compare(store, run_id, path)
    while lagging:
        if not ended or await store.driver_alive(run_id):
            return
        # Looked at again after that: whoever drives the run, or prunes it, writes the file before it lets go.
        fault, lagging = await _compare(store, run_id, path)
        if not lagging or time.time() >= patient_until:
            break
        await asyncio.sleep(0.1)
    if fault is not None:
        verifier.report_whole(fault)


async def _compare(store: log.Log, run_id: str, path: Path) -> tuple[sealed.Fault | None, bool]:
    """What is wrong with the run's file, and whether it may only be late: cut short, or not pruned as the log is."""
    offset = 0
    try:
        with files.open_plain(path) as file:
            async for lines in store.read(run_id):
                expected = b"".join(line + b"\n" for line in lines)
                found = file.read(len(expected))
                if not expected.startswith(found):
                    at = offset + sealed.first_difference(expected, found)
                    fault = sealed.Fault("FILE_DIFFERS", f"events.jsonl is not the log from byte {at} on")
                    return fault, any(map(pruned.is_pruned, lines))
                offset += len(found)
                if len(found) < len(expected):
                    return _cut(run_id, offset), True
            if file.read(1):
                return sealed.Fault("FILE_DIFFERS", f"events.jsonl goes on after the log, from byte {offset}"), False
    except FileNotFoundError:
        return _cut(run_id, 0), True
    except OSError as error:
        return sealed.Fault("FILE_UNREADABLE", f"events.jsonl cannot be read: {error.strerror}"), False
    return None, False


def _cut(run_id: str, offset: int) -> sealed.Fault:
    cut = f"events.jsonl ends at byte {offset}, before the log does" if offset else "events.jsonl is missing or empty"
    return sealed.Fault("FILE_DIFFERS", f"{cut}: `skelo resume {run_id}` writes it anew")


def _signature(path: Path) -> tuple[JsonObject | None, sealed.Fault | None]:
    try:
        return signing.read(path), None
    except errors.InvalidInput:
        return None, sealed.Fault("SIGNATURE_BAD", "head.sig is not a signature of a run's head")


def _signed_seq(signed: JsonObject | None) -> int | None:
    seq = None if signed is None else signed["seq"]
    return seq if isinstance(seq, int) else None


def _with_signature(
    verifier: chain.Verifier, signed: JsonObject | None, fault: sealed.Fault | None, public_key: str | None
) -> chain.Verification:
    if fault is not None:
        verifier.report_whole(fault)
        return replace(verifier.result(), signature="bad")
    return chain.signed(verifier.result(), signed, verifier.watched, public_key)
