"""The sources of a trace map, read again, and the excerpts of their spans."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from openskelo import errors
from openskelo.checks import json_files
from openskelo.checks.trace_map.document import Origin, SourceFile, SourceKind, Span
from openskelo.structs import frozen
from openskelo.values import canonical, path_scope


@frozen
class _Text:
    kind: SourceKind
    lines: list[str]


class SourceReader:
    """The texts of the sources that are as the map says; `faults` says what is wrong with the others."""

    def __init__(self, folder: Path, sources: Sequence[SourceFile]) -> None:
        self._texts = dict[str, _Text]()
        self.faults = dict[str, str]()
        for source in sources:
            if source.file in self._texts or source.file in self.faults:
                self.faults[source.file] = "the source is named twice"
                continue
            try:
                self._texts[source.file] = _Text(kind=source.kind, lines=_read_lines(folder, source))
            except errors.OpenSkeloError as error:
                self.faults[source.file] = error.message

    def check_span(self, span: Span, origin: Origin) -> str | None:
        """Return why a span does not show what it says; None if it does."""
        text = self._texts.get(span.file)
        if text is None or span.file in self.faults:
            return "the span is not in a source that is as the map says"
        if origin not in ("ASSUMPTION", text.kind):
            return f"the source of the span is of the kind {text.kind}"
        excerpt = cut(text.lines, span)
        if excerpt is None:
            return "the source has no such lines and columns"
        if not excerpt.strip():
            return "the span is empty"
        if excerpt_hash(span.file, span, excerpt) != span.excerpt_hash:
            return "the excerpt has another hash"
        return None


def cut(lines: Sequence[str], span: Span) -> str | None:
    """Return the text of a span; None if the lines and columns do not exist, or end before they begin."""
    if not 1 <= span.line <= span.endLine <= len(lines):
        return None
    first, last = lines[span.line - 1], lines[span.endLine - 1]
    if not (1 <= span.column <= len(first) + 1 and 1 <= span.endColumn <= len(last) + 1):
        return None
    if span.line == span.endLine:
        return first[span.column - 1 : span.endColumn - 1]
    between = lines[span.line : span.endLine - 1]
    return "\n".join([first[span.column - 1 :], *between, last[: span.endColumn - 1]])


def excerpt_hash(file: str, span: Span, text: str) -> str:
    """Return the hash of an excerpt: that of the canonical JSON of its file, positions and text."""
    return canonical.digest(
        {
            "file": file,
            "line": span.line,
            "column": span.column,
            "endLine": span.endLine,
            "endColumn": span.endColumn,
            "text": text,
        }
    )


def _read_lines(folder: Path, source: SourceFile) -> list[str]:
    """Return the lines of a source; raise OpenSkeloError if it is not there, not text, or not the one of the map."""
    fault = path_scope.find_fault(source.file)
    path = folder / source.file
    if fault is None and not Path(os.path.realpath(path)).is_relative_to(os.path.realpath(folder)):
        fault = "it leads out of the folder of the sources"
    if fault is not None:
        raise errors.InvalidInput(f"the source cannot be used: {fault}", code="PATH_INVALID")
    data = json_files.read_bytes(path, "PATH_INVALID")
    if canonical.digest_bytes(data) != source.hash:
        raise errors.InvalidInput("the source has another hash", code="PATH_INVALID")
    try:
        return data.decode().split("\n")
    except UnicodeDecodeError as error:
        raise errors.InvalidInput("the source is not text in UTF-8", code="PATH_INVALID") from error
