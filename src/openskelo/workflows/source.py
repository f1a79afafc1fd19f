"""A file's bytes to a JSON value that knows where each part stands, or to the one Problem that stops the reading."""

from __future__ import annotations

import json
import re
from pathlib import Path

from openskelo import errors, files
from openskelo.frozen import frozen
from openskelo.kernel.json import Json, JsonObject
from openskelo.values import canonical
from openskelo.workflows import json_text, problems, spots, yaml_text

LARGEST_BYTES = 1024 * 1024
_FORBIDDEN = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]|\ufeff")


@frozen
class Source:
    """What was read: a JSON value and, for a text, the spots of its parts."""

    file: str
    value: Json
    root: spots.Spot | None = None

    def report(self) -> problems.Report:
        """An empty list of Problems for this document."""
        return problems.Report(file=self.file, root=self.root)


def read(path: Path) -> Source:
    """The document in a file; InvalidWorkflow when there is none to be had."""
    file = str(path)
    try:
        data = files.read_given(path, LARGEST_BYTES)
    except FileNotFoundError:
        raise _stop(file, "FILE_NOT_FOUND", "there is no such file") from None
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        reason = (error.strerror or "it cannot be read") if isinstance(error, OSError) else "the name is no file name"
        raise _stop(file, "FILE_UNREADABLE", reason) from None
    return parse(data, file=file)


def parse(data: bytes, *, file: str) -> Source:
    """The document in `data`: JSON when the file's name ends so, else YAML."""
    if len(data) > LARGEST_BYTES:
        raise _stop(file, "FILE_TOO_LARGE", f"larger than {LARGEST_BYTES} bytes")
    text = _decode(data, file)
    bad = _FORBIDDEN.search(text)
    if bad is not None:
        shown = f"the character U+{ord(bad.group()):04X} may not stand in a file"
        raise _stop(file, "TEXT_INVALID", shown, place=_place(text, bad.start()), hint="write it as an escape")
    try:
        built = json_text.read(text) if file.endswith(".json") else yaml_text.read(text)
    except yaml_text.Trouble as trouble:
        raise _stop(file, trouble.code, trouble.message, place=trouble.place, hint=trouble.hint) from None
    return Source(file=file, value=built.value, root=built.spot)


def given(document: JsonObject, *, file: str) -> Source:
    """A document that is already in memory; it has to be JSON all the same."""
    try:
        value = canonical.admit(document)
    except errors.InvalidInput as error:
        raise _stop(file, error.code, error.message, hint=error.hint) from None
    # A copy, and lists for tuples: what the caller does to the document later must not reach the workflow.
    return Source(file=file, value=json.loads(json.dumps(value)))


def _decode(data: bytes, file: str) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        place = _place(data[: error.start].decode("utf-8-sig", "replace"), None)
        raise _stop(file, "NOT_UTF8", "the file is not UTF-8", place=place, hint="save it as UTF-8") from None


def _place(text: str, index: int | None) -> tuple[int, int]:
    before = text if index is None else text[:index]
    return before.count("\n") + 1, len(before) - (before.rfind("\n") + 1) + 1


def _stop(
    file: str, code: str, message: str, *, place: tuple[int, int] = (1, 1), hint: str | None = None
) -> errors.InvalidWorkflow:
    line, column = place
    problem = problems.Problem(file=file, line=line, column=column, code=code, message=message, hint=hint)
    return errors.InvalidWorkflow((problem,))
