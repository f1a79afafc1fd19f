"""Write a run as one file that verifies anywhere: a header, its blobs, then the lines exactly as logged.

The log is read twice: once to find the blobs and the head, which the header names, then to write the lines. A run that
goes on meanwhile is written as it was at the first reading.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

import orjson

from openskelo import errors, files
from openskelo.kernel import events, ids
from openskelo.kernel.json import JsonObject
from openskelo.record import bundle, envelope, line_check
from openskelo.stores import api
from openskelo.structs import field, frozen, mutable


@frozen
class Exported:
    """The result of an export."""

    path: Path
    bytes: int
    header: bundle.Header
    #: Blobs that events name and the store no longer has.
    missing: tuple[str, ...]
    #: The event up to which the run was signed, if that signature was left out: the run has gone on since.
    outdated: int | None = None

    def document(self) -> JsonObject:
        """Return what was written as JSON."""
        signature = self.header.signature
        return {
            "runId": self.header.run_id,
            "file": str(self.path),
            "bytes": self.bytes,
            "events": self.header.events,
            "blobs": self.header.blobs,
            "head": self.header.head,
            "publicKey": signature["publicKey"] if signature else None,
            "missing": list(self.missing),
        }


@mutable
class _Survey:
    """The blobs and counts that the file must contain, found in a first pass over the log."""

    events: int = 0
    pruned: int = 0
    head: str = ""
    definition: str = ""
    names: set[str] = field(default_factory=set[str])


async def export(
    store: api.Store,
    run_id: str,
    path: Path,
    *,
    signature: JsonObject | None = None,
    up_to: int | None = None,
    overwrite: bool = False,
) -> Exported:
    """Write the run as it is now to `path`, in one step (NotFound; InvalidInput FILE_EXISTS).

    With `up_to`, only the events up to that seq are written. A signature is written only if it is of the last event
    written: one of an earlier event would look as if it vouched for the later ones.
    """
    if not overwrite:
        _refuse_existing(path)
    survey = await _read_survey(store, run_id, up_to)
    is_current = signature is not None and signature["head"] == survey.head
    present_names, missing = await _split_by_presence(store, sorted(survey.names))
    header = bundle.Header(
        run_id=run_id,
        head=survey.head,
        events=survey.events,
        blobs=len(present_names),
        definition=survey.definition,
        signature=signature if is_current else None,
    )
    with _whole_file(path) as file:
        file.write(header.line() + b"\n")
        for name in present_names:
            file.write(bundle.blob_line(name, await store.read_blob(name)) + b"\n")
        await _write_lines(store, run_id, file, survey)
        size = file.tell()
    outdated_seq = None if signature is None or is_current else cast("int", signature["seq"])
    return Exported(path=path, bytes=size, header=header, missing=tuple(missing), outdated=outdated_seq)


async def _read_survey(store: api.Store, run_id: str, up_to: int | None) -> _Survey:
    survey = _Survey()
    async for lines in api.read_run(store, run_id):
        for line in lines if up_to is None else lines[: up_to - survey.events]:
            survey.events += 1
            try:
                head, event = _read(line)
            except (ValueError, LookupError, TypeError, AttributeError) as error:
                raise errors.Corrupt(
                    f"event {survey.events} of run {run_id} cannot be read: {error}",
                    hint=f"`skelo verify {ids.short(run_id)}` says more",
                ) from error
            survey.head = head
            if isinstance(event, events.RunCreated):
                survey.definition = event.definition
            if event is None:
                survey.pruned += 1
            else:
                survey.names.update(bundle.blob_references(event))
    return survey


def _read(line: bytes) -> tuple[str, events.Event | None]:
    """Return the hash of a line and its event, None if the data of the event was pruned."""
    entry = cast("JsonObject", orjson.loads(line))
    return cast("str", entry["hash"]), None if "dataHash" in entry else envelope.open_line(line)[1]


async def _split_by_presence(store: api.Store, names: list[str]) -> tuple[list[str], list[str]]:
    present_names: list[str] = []
    missing: list[str] = []
    for name in names:
        try:
            await store.read_blob(name)
        except errors.NotFound:
            missing.append(name)
        else:
            present_names.append(name)
    return present_names, missing


async def _write_lines(store: api.Store, run_id: str, file: BinaryIO, survey: _Survey) -> None:
    """Write the lines of the survey; raise Busy if the run was pruned since."""
    count, pruned_count = survey.events, 0
    async for lines in store.read_events(run_id):
        file.writelines(line + b"\n" for line in lines[:count])
        pruned_count += sum(map(line_check.is_pruned, lines[:count]))
        count -= len(lines)
        if count <= 0:
            break
    if pruned_count != survey.pruned:  # the values in the file would be of events that have given them up
        raise errors.Busy(f"run {run_id} was pruned while it was exported", hint="export it again")


def _refuse_existing(path: Path) -> None:
    try:
        there = path.exists()
    except OSError as error:  # a name that the file system does not take
        raise errors.InvalidInput(f"{path} cannot be written: {error.strerror}", code="FILE_UNWRITABLE") from error
    if there:
        hint = "name another file, or write over it (`--force`, from Python `overwrite=True`)"
        raise errors.InvalidInput(f"{path} exists already", code="FILE_EXISTS", hint=hint)


@contextmanager
def _whole_file(path: Path) -> Generator[BinaryIO]:
    try:
        with files.atomic_file(path, mode=0o600) as file:
            yield file
    except OSError as error:
        raise errors.StoreError(f"{path} cannot be written: {error.strerror}", code="EXPORT_FAILED") from error
