"""Checks that every field of a schema is traced to the lines of a source: `check` reads everything again.

    document    the format of `trace_map.json`
    sources     the texts of the sources, and the excerpts of their spans
    report      what was found

A field is a leaf of the schema: a value that is no object and no list, or an empty one, named by its JSON pointer.
Nothing that the map says about a source is believed: its bytes are hashed, and the text of each span is cut out and
hashed anew, together with its file and positions. So one changed byte of a source, a span, a hash or a field is found.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from openskelo import errors
from openskelo.checks import json_files
from openskelo.checks.trace_map.document import Entry, TraceMap
from openskelo.checks.trace_map.report import Broken, Report
from openskelo.checks.trace_map.sources import SourceReader
from openskelo.kernel.json import Json
from openskelo.values import canonical, json_pointer, path_scope

CODE = "TRACE_MAP_INVALID"
#: Of ten fields so many may be assumed.
_MOST_ASSUMED = 3
_MIN_RATIONALE = 10


def check(file: Path, *, schema: Path | None = None, sources: Path | None = None) -> Report:
    """Return what is traced by the map in `file`, and what of it does not hold.

    `schema` is by default the file that the map names, in the map's folder; `sources` is the folder of the sources, by
    default that of the map. Raise InvalidInput TRACE_MAP_INVALID if the map or the schema cannot be read as what they
    are, NotFound PATH_NOT_FOUND without the map, or without a schema or a folder that the caller named.
    """
    trace_map = json_files.read(file, TraceMap, CODE)
    if sources is not None and not sources.is_dir():
        raise errors.NotFound(f"there is no folder {str(sources)!r}", code="PATH_NOT_FOUND")
    broken = list[Broken]()
    schema_path = schema or _schema_beside(file, trace_map.schema.file)
    fields = _read_fields(schema_path, trace_map.schema.hash, broken)
    reader = SourceReader(sources or file.parent, trace_map.sources)
    broken += [Broken(field="", file=name, line=0, why=why) for name, why in reader.faults.items()]
    broken += [
        Broken(field="", file=source.file, line=0, why="the source is the schema itself")
        for source in trace_map.sources
        if source.hash == trace_map.schema.hash
    ]
    entries = dict[str, Entry]()
    broken_fields = set[str]()
    for entry in trace_map.trace_entries:
        found = list(_check_entry(entry, fields, entries, reader))
        entries.setdefault(entry.field_path, entry)
        if found:
            broken += found
            broken_fields.add(entry.field_path)
    held = {name: entry for name, entry in entries.items() if name in fields and name not in broken_fields}
    assumed_count = sum(entry.source == "ASSUMPTION" for entry in held.values())
    return Report(
        fields=len(fields),
        traced=len(held) - assumed_count,
        assumed=assumed_count,
        untraced=tuple(name for name in fields if name not in held),
        broken=tuple(broken),
        has_too_many_assumptions=assumed_count * 10 > len(fields) * _MOST_ASSUMED,
    )


def _schema_beside(file: Path, name: str) -> Path:
    """Return the path of the schema that the map names (InvalidInput TRACE_MAP_INVALID if it leads elsewhere)."""
    fault = path_scope.find_fault(name)
    if fault is not None:
        raise errors.InvalidInput(f"the schema {name[:80]!r} is not in the map's folder: {fault}", code=CODE)
    return file.parent / name


def _read_fields(path: Path, expected_hash: str, broken: list[Broken]) -> dict[str, None]:
    """Return the pointers of the schema's leaves, in order; add to `broken` if it is not the schema of the map."""
    data = json_files.read_bytes(path, CODE)
    if canonical.digest_bytes(data) != expected_hash:
        broken.append(Broken(field="", file=path.name, line=0, why="the schema has another hash"))
    try:
        document = canonical.loads_untrusted(data)
    except errors.InvalidInput as error:
        raise errors.InvalidInput(f"{path.name}: {error.message}", code=CODE, hint=error.hint) from error
    fields = dict.fromkeys(_leaves(document, ""))
    if not isinstance(document, Mapping) or not document:
        broken.append(Broken(field="", file=path.name, line=0, why="the schema has no fields"))
    return fields


def _leaves(value: Json, pointer: str) -> Iterator[str]:
    if isinstance(value, Mapping) and value:
        for key, part in value.items():
            yield from _leaves(part, f"{pointer}/{json_pointer.token(key)}")
    elif isinstance(value, list) and value:
        for index, part in enumerate(value):
            yield from _leaves(part, f"{pointer}/{index}")
    else:
        yield pointer


def _check_entry(
    entry: Entry, fields: Mapping[str, None], earlier: Mapping[str, Entry], reader: SourceReader
) -> Iterator[Broken]:
    for why in _faults(entry, fields, earlier):
        yield Broken(field=entry.field_path, file="", line=0, why=why)
    for span in entry.spans:
        why = reader.check_span(span, entry.source)
        if why is not None:
            yield Broken(field=entry.field_path, file=span.file, line=span.line, why=why)


def _faults(entry: Entry, fields: Mapping[str, None], earlier: Mapping[str, Entry]) -> Iterator[str]:
    if entry.field_path not in fields:
        yield "the schema has no such field"
    if entry.field_path in earlier:
        yield "it is traced twice"
    if entry.source == "ASSUMPTION":
        if len(_visible(entry.assumption_rationale or "")) < _MIN_RATIONALE:
            yield f"an assumption needs a rationale of {_MIN_RATIONALE} characters"
    elif not entry.spans:
        yield "it names no span"
    if not _visible(entry.evidence):
        yield "it names no evidence"


def _visible(text: str) -> str:
    """Return a text without characters that nobody sees, such as a space of no width."""
    return "".join(filter(str.isprintable, text)).strip()
