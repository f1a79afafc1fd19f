"""Verify a run in its store, or a file that was copied from somewhere: an export, or the plain lines of one run.

`record.chain.Verifier` checks the lines: their hashes, their order, and that they fold. What only the store knows is
checked here: the blobs that events refer to, the run's listing, its lines in the event files, and its
signature.
"""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from openskelo import errors, files
from openskelo.history import signing
from openskelo.kernel import definition, events
from openskelo.kernel.json import Json, JsonObject
from openskelo.record import bundle, chain, envelope, line_check, signature
from openskelo.stores import api
from openskelo.structs import mutable, replace

#: How long a line of a file may be: the largest value that a run stores (64 MiB), written as base64, with room.
MAX_LINE_BYTES = 128 * 1024 * 1024
#: How long after a run's end its file may still lack the last lines.
PATIENCE_SECONDS = 2.0


@mutable
class _Facts:
    """The events whose facts a listing repeats."""

    created: events.RunCreated | None = None
    ended: events.RunEnded | None = None


def verify_file(path: Path | str, *, public_key: str | None = None) -> chain.Verification:
    """Verify a file by itself, and a `head.sig` beside a plain log (InvalidInput).

    With a `public_key` (`ed25519:…` or PEM) the record must be signed by it, up to its head.
    """
    path = Path(path)
    public_key = None if public_key is None else signature.public_key(public_key)
    try:
        if not path.exists():
            raise errors.InvalidInput(f"there is no file {path}", code="FILE_NOT_FOUND")
        with files.open_plain(path) as file:
            lines = _read_lines(file, path)
            first = next(lines, b"")
            lines = itertools.chain([first] if first else [], lines)
            if bundle.is_bundle(first):
                return bundle.verify(lines, public_key=public_key)
            claim, fault = _signature(path.with_name("head.sig"))
            verifier = chain.Verifier(watch=_signed_seq(claim))
            for line in lines:
                verifier.add(line)
    except OSError as error:
        raise errors.InvalidInput(f"{path} cannot be read: {error.strerror}", code="FILE_UNREADABLE") from error
    return _with_signature(verifier, claim, fault, public_key)


def _read_lines(file: BinaryIO, path: Path) -> Iterator[bytes]:
    """Yield the lines of a file that is not trusted, without ever holding more than one of the longest allowed."""
    for number in itertools.count(1):
        line = file.readline(MAX_LINE_BYTES + 1)
        if len(line) > MAX_LINE_BYTES:
            raise errors.InvalidInput(
                f"{path}: line {number} has more than {MAX_LINE_BYTES} bytes, so it is not the record of a run",
                code="LINE_TOO_LONG",
            )
        if not line:
            return
        yield line


async def verify_run(
    store: api.Store, run_id: str, *, data_dir: Path | None = None, public_key: str | None = None
) -> chain.Verification:
    """Verify a run in its store: its lines, its blobs, and in `data_dir` the event files and its signature.

    With a `public_key` (`ed25519:…` or PEM) the record must be signed by it, up to its head (NotFound, InvalidInput).
    """
    public_key = None if public_key is None else signature.public_key(public_key)
    claim, fault = (None, None) if data_dir is None else _signature(signing.path_of(data_dir, run_id))
    verifier = chain.Verifier(watch=_signed_seq(claim))
    sizes: dict[str, int] = {}
    facts = _Facts()
    row = await store.find_run(run_id)  # before the lines: a run that ends meanwhile has lost nothing
    async for lines in api.read_run(store, run_id):
        if verifier.line == 1:
            verifier.workflow = await _workflow(store, lines[0], verifier)
        for line in lines:
            event = verifier.add(line + b"\n")
            for name in () if event is None else bundle.blob_references(event):
                sizes.setdefault(name, verifier.seq)
            if isinstance(event, events.RunCreated):
                facts.created = event
            elif isinstance(event, events.RunEnded):
                facts.ended = event
        await asyncio.sleep(0)  # a server has others to answer meanwhile
    if verifier.run_id not in (None, run_id):
        verifier.report_whole(
            line_check.Fault("RUN_CHANGED", f"what is kept as run {run_id} is the record of run {verifier.run_id}")
        )
    await _check_blobs(store, verifier, run_id, sizes)
    _check_listing(row, verifier, facts)
    if data_dir is not None:
        await _check_event_files(store, verifier, run_id)
    if lost_count := (await store.find_lost_events()).get(run_id):
        kept = "which files that were kept still hold: see `skelo doctor`"
        message = f"the log has lost {lost_count} events of the run, {kept}"
        verifier.report_whole(line_check.Fault("EVENTS_LOST", message))
    return replace(_with_signature(verifier, claim, fault, public_key), blobs=len(sizes))


async def _workflow(store: api.Store, first: bytes, verifier: chain.Verifier) -> definition.Workflow | None:
    """Return the pinned workflow, None if its line or blob is unusable: the checks of those report why."""
    try:
        event = envelope.open_line(first)[1]
        data = await store.read_blob(event.definition) if isinstance(event, events.RunCreated) else None
    except (errors.OpenSkeloError, ValueError, KeyError, TypeError):
        return None
    try:
        if data is None:
            return None
        return bundle.read_workflow(data)
    except errors.InvalidInput as error:
        verifier.report(line_check.Fault(error.code, error.message))
        return None


async def _check_blobs(store: api.Store, verifier: chain.Verifier, run_id: str, referred: dict[str, int]) -> None:
    for name, seq in referred.items():
        try:
            await store.read_blob(name)
        except errors.NotFound:
            if await _was_pruned(store, run_id, seq):
                continue
            verifier.report_whole(line_check.Fault("BLOB_MISSING", f"blob {name} of event {seq} is not there"), seq)
        except errors.Corrupt:
            verifier.report_whole(line_check.Fault("BLOB_MISMATCH", f"blob {name} of event {seq} was changed"), seq)
        except errors.InvalidInput as error:  # not a name at all
            verifier.report_whole(line_check.Fault(error.code, error.message), seq)


async def _was_pruned(store: api.Store, run_id: str, seq: int) -> bool:
    """True if an event was pruned since it was read, and its blobs with it."""
    async for lines in store.read_events(run_id, after=seq - 1):
        return line_check.is_pruned(lines[0])
    return False


def _check_listing(row: api.RunRow | None, verifier: chain.Verifier, facts: _Facts) -> None:
    """Report a listing that differs from the log. The listing was read first and may lack the end."""
    if row is None:
        return
    if row.ending is not None and not verifier.result().ended:
        verifier.report_whole(
            line_check.Fault("SEQ_GAP", f"the run is listed as ended ({row.ending}), but its end is missing")
        )
    pairs: list[tuple[str, str | None, Json]] = []
    if facts.ended is not None and row.ending is not None:
        pairs.append(("ending", row.ending, facts.ended.ending))
    if facts.created is not None:
        parent = None if facts.created.parent is None else facts.created.parent.get("runId")
        pairs.append(("name", row.name, facts.created.workflow))
        pairs.append(("workflow_hash", row.workflow_hash, facts.created.workflow_hash))
        pairs.append(("parent", row.parent, parent))
    for column, listed_value, logged_value in pairs:
        if listed_value != logged_value:
            fault = line_check.Fault(
                "LISTING_DIFFERS", f"the run is listed with {column} {listed_value}; its log says {logged_value}"
            )
            verifier.report_whole(fault)


async def _check_event_files(store: api.Store, verifier: chain.Verifier, run_id: str) -> None:
    """Report event files that do not hold the run's lines as the log does, byte for byte.

    They may lag while the run is driven or pruned, and for PATIENCE_SECONDS after its end.
    """
    has_ended = verifier.result().ended
    row = await store.find_run(run_id)
    deadline = 0.0 if row is None else row.updated_at / 1000 + PATIENCE_SECONDS
    fault, lagging = await _compare_event_files(store, run_id)
    while lagging:
        if not has_ended or await store.is_driver_alive(run_id):
            return
        fault, lagging = await _compare_event_files(store, run_id, flush=True)
        if not lagging or time.time() >= deadline:
            break
        await asyncio.sleep(0.1)
    if fault is not None:
        verifier.report_whole(fault)


async def _compare_event_files(
    store: api.Store, run_id: str, *, flush: bool = False
) -> tuple[line_check.Fault | None, bool]:
    """Return what is wrong with the run's lines in the event files, and whether the files may just lag."""
    try:
        if flush:
            await store.flush()
        copies = await store.read_event_files(run_id)
    except errors.StoreError as error:
        return line_check.Fault("FILE_UNREADABLE", error.message), False
    seq = 0
    async for lines in store.read_events(run_id):
        for line in lines:
            if seq >= len(copies):
                return _differs(f"the event files lack the run's events from {seq + 1} on"), True
            if copies[seq] != line:
                return _differs(f"the event files do not hold event {seq + 1} as the log does"), any(
                    map(line_check.is_pruned, lines)
                )
            seq += 1
    if len(copies) > seq:
        return _differs(f"the event files hold lines of the run after its last event, {seq}"), False
    return None, False


def _differs(message: str) -> line_check.Fault:
    return line_check.Fault("FILE_DIFFERS", f"{message}: `skelo doctor` keeps such files and writes them anew")


def _signature(path: Path) -> tuple[JsonObject | None, line_check.Fault | None]:
    try:
        return signing.read(path), None
    except errors.InvalidInput:
        return None, line_check.Fault("SIGNATURE_BAD", "head.sig is not a signature of a run's head")


def _signed_seq(signed: JsonObject | None) -> int | None:
    seq = None if signed is None else signed["seq"]
    return seq if isinstance(seq, int) else None


def _with_signature(
    verifier: chain.Verifier, signed: JsonObject | None, fault: line_check.Fault | None, public_key: str | None
) -> chain.Verification:
    if fault is not None:
        verifier.report_whole(fault)
        return replace(verifier.result(), signature="bad")
    return chain.add_signature(verifier.result(), signed, verifier.watched, public_key)
